/** Maximum number of pods on nodes of an instance type. */
import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import type { EC2NodeClass } from '#api/objects';
import { sumOf, type Term } from '#engine/model';
import type { AmiFamily } from '../amis/families.ts';
import type { Kubelet } from './block.ts';

/** Pod limit of AMI families without a limit by network interfaces. */
const DEFAULT_PODS = 110;
/** Host-network pods of every node, which need no address: kube-proxy and the CNI plugin. */
const HOST_NETWORK_PODS = 2;

/** Returns the number of interfaces of the default network card. Pods use only this card. */
export function defaultCardInterfaces(info: InstanceTypeInfo): number {
  const network = info.NetworkInfo;
  return network?.NetworkCards?.[network.DefaultNetworkCardIndex ?? 0]?.MaximumNetworkInterfaces ?? 0;
}

/**
 * Returns the pod limit by network interfaces. One address of each interface is reserved for the interface itself. The
 * sum is 0 if no interface remains.
 */
function eniTerms(info: InstanceTypeInfo, nodeClass: EC2NodeClass, reservedEnis: number): readonly Term[] {
  const efaOnly = (nodeClass.spec.networkInterfaces ?? []).filter(
    (each) => each.networkCardIndex === 0 && each.interfaceType === 'efa-only',
  ).length;
  const interfaces = defaultCardInterfaces(info);
  if (interfaces - reservedEnis - efaOnly <= 0)
    return [{ text: 'no network interface has addresses for pods', amount: 0 }];
  const addresses = (info.NetworkInfo?.Ipv4AddressesPerInterface ?? 0) - 1;
  return [
    {
      text: `${interfaces} network interfaces with ${addresses} addresses for pods each`,
      amount: interfaces * addresses,
    },
    ...(reservedEnis === 0
      ? []
      : [{ text: `interfaces that are reserved (RESERVED_ENIS ${reservedEnis})`, amount: -reservedEnis * addresses }]),
    ...(efaOnly === 0
      ? []
      : [{ text: 'interfaces of type efa-only in spec.networkInterfaces', amount: -efaOnly * addresses }]),
    { text: 'pods of the host network', amount: HOST_NETWORK_PODS },
  ];
}

export const eniLimitedPods = (info: InstanceTypeInfo, nodeClass: EC2NodeClass, reservedEnis: number): number =>
  sumOf(eniTerms(info, nodeClass, reservedEnis));

interface PodLimitContext {
  readonly family: AmiFamily;
  readonly reservedEnis: number;
}

/** Returns the limit of the AMI family. This limit applies if the kubelet block sets none. */
export const familyPodTerms = (
  info: InstanceTypeInfo,
  nodeClass: EC2NodeClass,
  { family, reservedEnis }: PodLimitContext,
): readonly Term[] =>
  family.eniLimitedPods
    ? eniTerms(info, nodeClass, reservedEnis)
    : [{ text: `default of ${family.name}`, amount: DEFAULT_PODS }];

/**
 * Returns `maxPods` of the kubelet block, limited by `podsPerCore`. If `maxPods` is missing or an expression, the
 * limit of the AMI family replaces it.
 */
export function podTerms(
  info: InstanceTypeInfo,
  nodeClass: EC2NodeClass,
  kubelet: Kubelet,
  context: PodLimitContext,
): readonly Term[] {
  const { maxPods } = kubelet;
  const terms =
    typeof maxPods === 'number'
      ? [{ text: 'spec.kubelet.maxPods', amount: maxPods }]
      : familyPodTerms(info, nodeClass, context);
  const perCore = context.family.podsPerCore ? (kubelet.podsPerCore ?? 0) : 0;
  const excess = perCore > 0 ? perCore * (info.VCpuInfo?.DefaultVCpus ?? 0) - sumOf(terms) : 0;
  return excess < 0 ? [...terms, { text: `limit by spec.kubelet.podsPerCore ${perCore}`, amount: excess }] : terms;
}

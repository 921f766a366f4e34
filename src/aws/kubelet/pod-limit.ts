/** Maximum number of pods on nodes of an instance type. */
import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import type { EC2NodeClass } from '../../api/ec2-nodeclass.ts';
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
 * result is 0 if no interface remains.
 */
export function eniLimitedPods(info: InstanceTypeInfo, nodeClass: EC2NodeClass, reservedEnis: number): number {
  const efaOnly = (nodeClass.spec.networkInterfaces ?? []).filter(
    (each) => each.networkCardIndex === 0 && each.interfaceType === 'efa-only',
  ).length;
  const interfaces = defaultCardInterfaces(info) - reservedEnis - efaOnly;
  if (interfaces <= 0) return 0;
  return interfaces * ((info.NetworkInfo?.Ipv4AddressesPerInterface ?? 0) - 1) + HOST_NETWORK_PODS;
}

/** Returns the limit of the AMI family. This limit applies if the kubelet block sets none. */
export const familyPods = (
  info: InstanceTypeInfo,
  nodeClass: EC2NodeClass,
  { family, reservedEnis }: { readonly family: AmiFamily; readonly reservedEnis: number },
): number => (family.eniLimitedPods ? eniLimitedPods(info, nodeClass, reservedEnis) : DEFAULT_PODS);

/**
 * Returns `maxPods` of the kubelet block, limited by `podsPerCore`. If `maxPods` is missing or an expression, the
 * limit of the AMI family replaces it.
 */
export function podLimit(
  info: InstanceTypeInfo,
  nodeClass: EC2NodeClass,
  kubelet: Kubelet,
  { family, reservedEnis }: { readonly family: AmiFamily; readonly reservedEnis: number },
): number {
  const { maxPods } = kubelet;
  const limit = typeof maxPods === 'number' ? maxPods : familyPods(info, nodeClass, { family, reservedEnis });
  const perCore = family.podsPerCore ? (kubelet.podsPerCore ?? 0) : 0;
  return perCore > 0 ? Math.min(perCore * (info.VCpuInfo?.DefaultVCpus ?? 0), limit) : limit;
}

/** How many pods a node of an instance type holds. */
import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import type { EC2NodeClass } from '../../api/ec2-nodeclass.ts';
import type { AmiFamily } from '../amis/families.ts';
import type { Kubelet } from './block.ts';

/** Pods of nodes whose family has no limit by network interfaces. */
const DEFAULT_PODS = 110;
/** Pods on the host network that every node runs and that take no address: kube-proxy and the CNI's own. */
const HOST_NETWORK_PODS = 2;

/** Interfaces of the default network card, which is the only one that pods use. */
export function defaultCardInterfaces(info: InstanceTypeInfo): number {
  const network = info.NetworkInfo;
  return network?.NetworkCards?.[network.DefaultNetworkCardIndex ?? 0]?.MaximumNetworkInterfaces ?? 0;
}

/** One address of each interface is its own; 0 when no interface is left. */
export function eniLimitedPods(info: InstanceTypeInfo, nodeClass: EC2NodeClass, reservedEnis: number): number {
  const efaOnly = (nodeClass.spec.networkInterfaces ?? []).filter(
    (each) => each.networkCardIndex === 0 && each.interfaceType === 'efa-only',
  ).length;
  const interfaces = defaultCardInterfaces(info) - reservedEnis - efaOnly;
  if (interfaces <= 0) return 0;
  return interfaces * ((info.NetworkInfo?.Ipv4AddressesPerInterface ?? 0) - 1) + HOST_NETWORK_PODS;
}

/** The family's own limit, where the kubelet block sets none. */
export const familyPods = (
  info: InstanceTypeInfo,
  nodeClass: EC2NodeClass,
  { family, reservedEnis }: { readonly family: AmiFamily; readonly reservedEnis: number },
): number => (family.eniLimitedPods ? eniLimitedPods(info, nodeClass, reservedEnis) : DEFAULT_PODS);

/** `maxPods` of the kubelet, or the family's own limit where that is none or an expression; then `podsPerCore`. */
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

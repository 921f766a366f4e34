/** Checks if nodes of a NodeClass can be launched on an instance type. */
import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import type { EC2NodeClass } from '#api/objects';
import { type AmiFamily, isWindows } from '../amis/families.ts';
import type { PlacementGroup } from '../placementgroups.ts';
import { architectureOf } from './labels.ts';

function fitsNetworkInterfaces(info: InstanceTypeInfo, nodeClass: EC2NodeClass): boolean {
  const interfaces = nodeClass.spec.networkInterfaces;
  if (interfaces === undefined) return true;
  const network = info.NetworkInfo;
  const cards = network?.NetworkCards ?? [];
  if (cards.length === 0 || network?.EnaSupport === 'unsupported') return false;
  const placed = interfaces.every(({ networkCardIndex, deviceIndex }) => {
    const card = cards.find((each) => each.NetworkCardIndex === networkCardIndex);
    return card !== undefined && networkCardIndex < cards.length && deviceIndex < (card.MaximumNetworkInterfaces ?? 0);
  });
  const prefixes = nodeClass.spec.ipPrefixCount ?? 0;
  const addresses = prefixes === 0 || prefixes + 1 <= (network?.Ipv4AddressesPerInterface ?? 0);
  const efaOnly = interfaces.filter((each) => each.interfaceType === 'efa-only').length;
  return placed && addresses && efaOnly <= (network?.EfaInfo?.MaximumEfaInterfaces ?? 0);
}

export function canLaunch(
  info: InstanceTypeInfo,
  nodeClass: EC2NodeClass,
  family: AmiFamily,
  placementGroup: PlacementGroup | undefined,
): boolean {
  // Such a type has no operating system. Pods that exclude an operating system, or that do not select one, would be
  // scheduled to it.
  if (isWindows(family) && architectureOf(info) !== 'amd64') return false;
  if (family.excludedTypes.some((prefix) => info.InstanceType?.startsWith(prefix))) return false;
  if (!fitsNetworkInterfaces(info, nodeClass)) return false;
  const features = info.ProcessorInfo?.SupportedFeatures ?? [];
  const nested = nodeClass.spec.cpuOptions?.nestedVirtualization === 'enabled';
  if (nested && !features.includes('nested-virtualization')) return false;
  const strategies: readonly string[] = info.PlacementGroupInfo?.SupportedStrategies ?? [];
  if (placementGroup !== undefined && !strategies.includes(placementGroup.strategy)) return false;
  return nodeClass.spec.connectionTracking === undefined || info.Hypervisor === 'nitro';
}

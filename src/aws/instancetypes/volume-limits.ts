/**
 * Predicts the number of volumes that the EBS CSI driver reports for a node of an instance type: the limit of EC2 without the
 * volumes of the launch, and without the network interfaces if they share the limit.
 */
import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import type { EC2NodeClass } from '#api/objects';
import { EBS_DRIVER } from '#api/values';
import { sumOf, type Term, type Terms } from '#engine/model';
import type { AmiFamily } from '../amis/families.ts';
import { defaultCardInterfaces } from '../kubelet/pod-limit.ts';

/** Limit of types that do not run on Nitro. Their network interfaces do not count, although EC2 reports a shared limit. */
const XEN_LIMIT = 39;
/** Limit of Nitro types without a limit in the response of EC2. */
const DEFAULT_LIMIT = 27;
/** Bare metal that is named after its size, such as `m7i.metal-24xl`. EC2 reports a shared limit for some of these types. */
const SIZED_METAL = /\.metal-\d+xl$/;
/** Device names of root volumes. A mapping without such a name is an additional volume if its image is unknown. */
const ROOT_DEVICES: ReadonlySet<string | undefined> = new Set(['/dev/xvda', '/dev/sda1']);
/** Interfaces of the VPC CNI beyond the addresses of pods: one in reserve, and one for security groups of pods. */
const SPARE_INTERFACES = 2;

interface LimitContext {
  readonly family: AmiFamily;
  /** Maximum number of pods on the node. */
  readonly pods: number;
  readonly reservedEnis: number;
}

/** Returns at least one volume, as the driver does. */
export function volumeTerms(info: InstanceTypeInfo, nodeClass: EC2NodeClass, context: LimitContext): Terms {
  const { limit, isShared } = attachmentLimit(info);
  const terms: readonly Term[] = [
    {
      text: isShared ? 'attachments of EC2, shared with network interfaces' : 'attachments of EC2, only for volumes',
      amount: limit,
    },
    { text: 'root and data volumes of the launch', amount: -launchVolumes(nodeClass, context.family) },
    ...(isShared ? interfaceTerms(info, nodeClass, context) : []),
  ];
  const missing = 1 - sumOf(terms);
  return { [EBS_DRIVER]: missing > 0 ? [...terms, { text: 'at least one volume', amount: missing }] : terms };
}

export function attachmentLimit({ InstanceType: name, Hypervisor, EbsInfo }: InstanceTypeInfo): {
  readonly limit: number;
  /** True if network interfaces count too. */
  readonly isShared: boolean;
} {
  if (Hypervisor === 'xen') return { limit: XEN_LIMIT, isShared: false };
  const isDedicated = EbsInfo?.AttachmentLimitType === 'dedicated' || SIZED_METAL.test(name ?? '');
  return { limit: EbsInfo?.MaximumEbsAttachments ?? DEFAULT_LIMIT, isShared: !isDedicated };
}

/** Returns the number of volumes that the launch attaches: the root volume, and other volumes of the NodeClass or the family. */
function launchVolumes({ spec }: EC2NodeClass, { ephemeralDevice, blockDevices }: AmiFamily): number {
  const own = (spec.blockDeviceMappings ?? []).filter(({ ebs }) => ebs !== undefined);
  const names = new Set([...own, ...blockDevices].map(({ deviceName }) => deviceName));
  const isRootKnown =
    ephemeralDevice !== undefined ||
    own.some(({ rootVolume, deviceName }) => rootVolume === true || ROOT_DEVICES.has(deviceName));
  return Math.max(1, isRootKnown ? names.size : names.size + 1);
}

/**
 * Returns the interfaces beyond the first while the node runs its maximum number of pods. The VPC CNI attaches interfaces to the
 * default card when pods need addresses, and a volume that is attached later has no slot left.
 */
function interfaceTerms(
  info: InstanceTypeInfo,
  nodeClass: EC2NodeClass,
  { pods, reservedEnis }: LimitContext,
): readonly Term[] {
  const perInterface = Math.max(1, (info.NetworkInfo?.Ipv4AddressesPerInterface ?? 1) - 1);
  const needed = Math.ceil(pods / perInterface) + reservedEnis + SPARE_INTERFACES;
  const ofPods = Math.min(Math.max(1, defaultCardInterfaces(info)), needed) - 1;
  const others = otherInterfaces(info, nodeClass);
  return [
    { text: `interfaces that the VPC CNI attaches for ${pods} pods, beyond the first`, amount: -ofPods },
    ...(others === 0 ? [] : [{ text: 'interfaces without addresses of pods', amount: -others }]),
  ];
}

/** Returns the number of interfaces without addresses of pods: interfaces of other cards, and interfaces only for EFA. */
function otherInterfaces({ NetworkInfo }: InstanceTypeInfo, { spec }: EC2NodeClass): number {
  const own = spec.networkInterfaces;
  if (own === undefined) return Math.max(0, (NetworkInfo?.EfaInfo?.MaximumEfaInterfaces ?? 0) - 1);
  return own.filter(({ networkCardIndex, interfaceType }) => networkCardIndex !== 0 || interfaceType === 'efa-only')
    .length;
}

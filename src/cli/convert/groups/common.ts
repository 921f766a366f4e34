/** Shared conversions of groups: types, labels, taints, tags, images, networks. */

import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import {
  type AmiFamily,
  ARCH_LABEL,
  CAPACITY_TYPE_LABEL,
  INSTANCE_TYPE_LABEL,
  isRestrictedLabel,
  normalizeLabel,
  OS_LABEL,
  resolvedAmiFamily,
  type TaintEffect,
  WELL_KNOWN_LABELS,
  ZONE_LABEL,
} from '#api/objects';
import { defined, type Field, put } from '#lib';
import { apiName, FAMILIES, instanceTypeInfo } from '#local/machines';
import type { Path } from '../notes.ts';
import { mapOf } from './fields.ts';
import { LABELS, type NodeGroup, TAINTS } from './node-group.ts';

export function setInstanceTypes(group: NodeGroup, types: readonly string[]): void {
  group.require(INSTANCE_TYPE_LABEL, types);
  const arches = types.flatMap((type) => instanceSize(type)?.arch ?? []);
  if (!group.requirements.has(ARCH_LABEL)) group.require(ARCH_LABEL, arches);
}

export type Capacity = 'on-demand' | 'spot' | 'reserved';

export const setCapacity = (group: NodeGroup, types: readonly Capacity[]): void =>
  group.require(CAPACITY_TYPE_LABEL, types);

export const setOs = (group: NodeGroup, os: 'linux' | 'windows'): void => group.require(OS_LABEL, [os]);

/** Labels that EKS, eksctl and the kubelet set. */
const OF_OTHERS =
  /^(eks\.amazonaws\.com|alpha\.eksctl\.io|beta\.kubernetes\.io|failure-domain\.beta\.kubernetes\.io)\//;

/** Labels that CSI drivers set from the place of a node. */
const isOfCsiDriver = (key: string): boolean => /^topology\.[^/]*\//.test(key) && /\.csi\./.test(key);

/** Returns why a label is not a label of the NodePool. A group with several zones or types can have one such label. */
function whySet({ zones }: NodeGroup, key: string): string {
  const isZone = normalizeLabel(key) === ZONE_LABEL || isOfCsiDriver(key);
  const where = isZone && zones.length > 1 ? `; nodes are launched in all zones of the group: ${zones.join(', ')}` : '';
  return `is set on each node from its instance${where}`;
}

export function addLabels(group: NodeGroup, labels: Readonly<Record<string, string>>, field: Path): void {
  for (const [key, value] of Object.entries(labels)) {
    const at = [...field, key];
    if (WELL_KNOWN_LABELS.has(normalizeLabel(key)) || isOfCsiDriver(key))
      group.onPool('lost', at, `label ${key}=${value} ${whySet(group, key)}`, LABELS);
    else if (isRestrictedLabel(key) || OF_OTHERS.test(key))
      group.onPool(
        'lost',
        at,
        `label ${key} belongs to another tool; pods that select by it need another label, for example one of the NodePool`,
        LABELS,
      );
    else put(group.labels, key, value);
  }
}

/** Spellings in Kubernetes, in EKS's API and in eksctl. */
const EFFECTS: Readonly<Record<string, TaintEffect>> = {
  NoSchedule: 'NoSchedule',
  NO_SCHEDULE: 'NoSchedule',
  PreferNoSchedule: 'PreferNoSchedule',
  PREFER_NO_SCHEDULE: 'PreferNoSchedule',
  NoExecute: 'NoExecute',
  NO_EXECUTE: 'NoExecute',
};

/** Taint with fields that are not validated. */
export interface GivenTaint {
  readonly key: string | undefined;
  readonly value?: string | undefined;
  readonly effect: string | undefined;
}

export function addTaint(group: NodeGroup, { key, value, effect }: GivenTaint, field: Path): void {
  const known = Object.hasOwn(EFFECTS, effect ?? '') ? EFFECTS[effect ?? ''] : undefined;
  if (key === undefined || known === undefined) {
    group.onPool(
      'lost',
      field,
      `a taint needs a key and an effect, for example NoSchedule; this taint has ${key} and ${effect}`,
      TAINTS,
    );
    return;
  }
  if (key.startsWith('karpenter.sh/')) {
    group.onPool('lost', field, `taint ${key} is reserved for Karpenter`, TAINTS);
    return;
  }
  const taint = { key, effect: known, ...(value ? { value } : {}) };
  if (!group.taints.some((each) => each.key === key && each.effect === known)) group.taints.push(taint);
}

/** Adds the taints of a list of objects. */
export function addTaints(group: NodeGroup, list: Field, path: Path): void {
  for (const [index, one] of list.items().entries()) {
    const { key, value, effect } = mapOf(one);
    addTaint(group, { key, value, effect }, [...path, index]);
  }
}

const RESTRICTED_TAG =
  /^(aws:|eks:|kubernetes\.io\/cluster|karpenter\.sh\/|karpenter\.k8s\.aws\/|k8s\.io\/cluster-autoscaler\/|alpha\.eksctl\.io\/|eksctl\.)/;

/** Copies tags of the instances. Does not copy tags that EKS and other tools use to find their own instances. */
export function addTags(group: NodeGroup, tags: Readonly<Record<string, string>>, field: Path): void {
  for (const [key, value] of Object.entries(tags)) {
    if (key === 'Name')
      group.onClass('lost', [...field, key], 'Karpenter sets the tag Name to the name of the node', ['spec', 'tags']);
    else if (!RESTRICTED_TAG.test(key)) group.tag(key, value);
  }
}

/**
 * Sets an alias for the images.
 *
 * @param why reason for a note about the alias
 */
export function setAlias(group: NodeGroup, alias: string, why?: { readonly field: Path; readonly text: string }): void {
  group.nodeClass.amiSelectorTerms = [{ alias }];
  delete group.nodeClass.amiFamily;
  setOs(group, alias.startsWith('windows') ? 'windows' : 'linux');
  if (why) group.onClass('assumed', why.field, why.text, ['spec', 'amiSelectorTerms']);
}

/** Sets one image and the AMI family that its nodes boot with. */
export function setImage(group: NodeGroup, id: string, family: AmiFamily): void {
  group.nodeClass.amiSelectorTerms = [{ id }];
  group.nodeClass.amiFamily = family;
  setOs(group, family.startsWith('Windows') ? 'windows' : 'linux');
}

const DATA_DEVICES: Readonly<Record<AmiFamily, string>> = {
  AL2: '/dev/xvda',
  AL2023: '/dev/xvda',
  Bottlerocket: '/dev/xvdb',
  Custom: '/dev/xvda',
  Windows2019: '/dev/sda1',
  Windows2022: '/dev/sda1',
  Windows2025: '/dev/sda1',
};

/** Returns the device of the volume for pods, which depends on the AMI family. */
export const dataDevice = ({ nodeClass: { amiFamily, amiSelectorTerms = [] } }: NodeGroup): string =>
  DATA_DEVICES[resolvedAmiFamily({ amiFamily, amiSelectorTerms })];

interface Volume {
  readonly sizeGi?: number | undefined;
  readonly type?: string | undefined;
  readonly iops?: number | undefined;
  readonly throughput?: number | undefined;
  readonly encrypted?: boolean | undefined;
  readonly kmsKeyID?: string | undefined;
  readonly snapshotID?: string | undefined;
  readonly deleteOnTermination?: boolean | undefined;
}

type VolumeType = NonNullable<
  NonNullable<NonNullable<NodeGroup['nodeClass']['blockDeviceMappings']>[number]['ebs']>['volumeType']
>;

export function addVolume(group: NodeGroup, deviceName: string, volume: Volume): void {
  const { sizeGi, type, iops, throughput, encrypted, kmsKeyID, snapshotID, deleteOnTermination = true } = volume;
  const volumeSize = sizeGi === undefined ? undefined : sizeGi > 59_000 ? '58Ti' : `${sizeGi}Gi`;
  const volumeType = type as VolumeType | undefined;
  const settings = { volumeSize, volumeType, iops, throughput, encrypted, kmsKeyID, snapshotID };
  const ebs = { ...defined(settings), deleteOnTermination };
  const others = (group.nodeClass.blockDeviceMappings ?? []).filter((each) => each.deviceName !== deviceName);
  group.nodeClass.blockDeviceMappings = [...others, { deviceName, ebs }];
}

export const CLUSTER_PLACEHOLDER = '$CLUSTER_NAME';

/** Selects the security group that EKS creates for the control plane and all managed nodes. */
export function useClusterSecurityGroup(group: NodeGroup, clusterName: string | undefined, field: Path): void {
  group.nodeClass.securityGroupSelectorTerms = [
    { tags: { 'aws:eks:cluster-name': clusterName ?? CLUSTER_PLACEHOLDER } },
  ];
  group.onClass(
    'assumed',
    field,
    'the security group of the cluster has this tag, which EKS also sets for its groups',
    ['spec', 'securityGroupSelectorTerms'],
  );
}

/**
 * Sets the sizes of a group. A NodePool has only an upper limit. One note covers the lost minimum sizes of all groups
 * of a NodePool.
 */
export function setSize(
  group: NodeGroup,
  { min, max }: { min?: number | undefined; max?: number | undefined },
  field: Path,
) {
  if (max !== undefined) group.size.max = max;
  if (min !== undefined && min > 0) group.size.min = { nodes: min, field };
}

/** Sizes of instance types in the built-in catalogue. */
interface InstanceSize {
  readonly cpus: number;
  readonly memoryMi: number;
  readonly arch: 'amd64' | 'arm64';
}

let known: ReadonlyMap<string, InstanceSize> | undefined;

const sizeOf = (info: InstanceTypeInfo): InstanceSize => ({
  cpus: info.VCpuInfo?.DefaultVCpus ?? 0,
  memoryMi: info.MemoryInfo?.SizeInMiB ?? 0,
  arch: info.ProcessorInfo?.SupportedArchitectures?.includes('arm64') ? 'arm64' : 'amd64',
});

/** Returns undefined if the catalogue does not contain the type. */
export function instanceSize(type: string): InstanceSize | undefined {
  known ??= new Map(
    FAMILIES.flatMap((family) =>
      family.sizes.map((size) => [apiName(family, size), sizeOf(instanceTypeInfo(family, size))] as const),
    ),
  );
  return known.get(type);
}

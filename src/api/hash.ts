/**
 * Drift hashes of NodePools and EC2NodeClasses. A cluster can be taken over from Karpenter without replacing nodes because
 * hashes of NodePools equal Karpenter's. Karpenter 1.14 hashes EC2NodeClasses in another version, see `hash-v5.ts`.
 */

import {
  hashBytes,
  hashFlag,
  hashInt32,
  hashInt64,
  hashList,
  hashMap,
  hashStruct,
  hashText,
  ifNotZero,
  ifSet,
} from '#lib';
import { durationNanos, NEVER } from './duration.ts';
import {
  type BlockDeviceMapping,
  type EC2NodeClass,
  type EC2NodeClassSpec,
  resolvedAmiFamily,
} from './ec2-nodeclass.ts';
import type { Taint } from './kubernetes.ts';
import type { NodePool } from './nodepool.ts';
import { canonicalQuantity } from './quantity.ts';

export const NODEPOOL_HASH_VERSION = 'v3';
export const EC2_NODECLASS_HASH_VERSION = 'v6';

/** Returns the drift hash of a NodePool: its template without requirements, because drift of requirements shows in labels. */
export function nodePoolHash(pool: NodePool): string {
  const { metadata, spec } = pool.spec.template;
  const hasMetadata = metadata?.labels !== undefined || metadata?.annotations !== undefined;
  const sum = hashStruct('NodeClaimTemplate', [
    [
      'ObjectMeta',
      hasMetadata
        ? hashStruct('ObjectMeta', [
            ['Labels', ifSet(metadata.labels, hashMap)],
            ['Annotations', ifSet(metadata.annotations, hashMap)],
          ])
        : undefined,
    ],
    [
      'Spec',
      hashStruct('NodeClaimTemplateSpec', [
        ['Taints', ifSet(spec.taints, hashTaints)],
        ['StartupTaints', ifSet(spec.startupTaints, hashTaints)],
        [
          'NodeClassRef',
          hashStruct('NodeClassReference', [
            ['Kind', ifNotZero(spec.nodeClassRef.kind, hashText)],
            ['Name', ifNotZero(spec.nodeClassRef.name, hashText)],
            ['Group', ifNotZero(spec.nodeClassRef.group, hashText)],
          ]),
        ],
        ['TerminationGracePeriod', ifSet(spec.terminationGracePeriod, hashGracePeriod)],
        ['ExpireAfter', spec.expireAfter === NEVER ? undefined : ifSet(spec.expireAfter, hashExpiry)],
      ]),
    ],
  ]);
  return String(sum);
}

const hashTaints = (taints: readonly Taint[]): bigint =>
  hashList(
    taints.map((taint) =>
      hashStruct('Taint', [
        ['Key', ifNotZero(taint.key, hashText)],
        ['Value', ifNotZero(taint.value, hashText)],
        ['Effect', ifNotZero<string>(taint.effect, hashText)],
        ['TimeAdded', ifSet(taint.timeAdded, hashTime)],
      ]),
    ),
  );

function hashGracePeriod(text: string): bigint {
  const nanos = durationNanos(text);
  return hashStruct('Duration', [['Duration', nanos === 0n ? undefined : hashInt64(nanos)]]);
}

const hashExpiry = (text: string): bigint =>
  hashStruct('NillableDuration', [['Duration', hashInt64(durationNanos(text))]]);

/** Hashes Go's binary form of a time: version, seconds since the year 1, nanoseconds, minutes from UTC. */
function hashTime(text: string): bigint {
  const secondsToEpoch = 62_135_596_800n;
  const bytes = new Uint8Array(15);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, 1);
  view.setBigInt64(1, BigInt(Math.floor(Date.parse(text) / 1000)) + secondsToEpoch);
  return hashStruct('Time', [['Time', hashBytes(bytes)]]);
}

/**
 * Returns the drift hash of an EC2NodeClass: its static settings, the resolved image family and the CA bundle of the cluster.
 * Subnets, security groups, reservations and images are compared with the instance instead.
 */
export function ec2NodeClassHash(nodeClass: EC2NodeClass, caBundle = ''): string {
  const { spec } = nodeClass;
  return String(
    hashList([
      hashSpec(spec),
      hashText(resolvedAmiFamily(spec)),
      hashText(caBundle),
      hashText(canonicalKubelet(spec.kubelet)),
    ]),
  );
}

/** Type of a field of the spec if the field is set. */
type Of<K extends keyof EC2NodeClassSpec> = NonNullable<EC2NodeClassSpec[K]>;

const hashSpec = (spec: EC2NodeClassSpec): bigint => hashStruct('EC2NodeClassSpec', specFields(spec));

/** Fields of the spec by their names in Go, in the order in which they are hashed. */
export const specFields = (spec: EC2NodeClassSpec): readonly (readonly [string, bigint | undefined])[] => [
  ['PlacementGroupSelector', ifSet(spec.placementGroupSelector, hashPlacementGroup)],
  ['AssociatePublicIPAddress', ifSet(spec.associatePublicIPAddress, hashFlag)],
  ['UserData', ifSet(spec.userData, hashText)],
  ['Role', ifNotZero(spec.role, hashText)],
  ['InstanceProfile', ifSet(spec.instanceProfile, hashText)],
  ['Tags', ifSet(spec.tags, hashMap)],
  ['BlockDeviceMappings', ifSet(spec.blockDeviceMappings, (list) => hashList(list.map(hashMapping)))],
  ['InstanceStorePolicy', ifSet<string>(spec.instanceStorePolicy, hashText)],
  ['NetworkInterfaces', ifSet(spec.networkInterfaces, (list) => hashList(list.map(hashNetworkInterface)))],
  ['DetailedMonitoring', ifSet(spec.detailedMonitoring, hashFlag)],
  ['MetadataOptions', ifSet(spec.metadataOptions, hashMetadataOptions)],
  ['ConnectionTracking', ifSet(spec.connectionTracking, hashConnectionTracking)],
  ['Context', ifSet(spec.context, hashText)],
  ['CPUOptions', ifSet(spec.cpuOptions, hashCpuOptions)],
];

const hashPlacementGroup = ({ name, id }: Of<'placementGroupSelector'>): bigint =>
  hashStruct('PlacementGroupSelector', [
    ['Name', ifNotZero(name, hashText)],
    ['ID', ifNotZero(id, hashText)],
  ]);

const hashNetworkInterface = (item: Of<'networkInterfaces'>[number]): bigint =>
  hashStruct('NetworkInterface', [
    ['NetworkCardIndex', ifNotZero(item.networkCardIndex, hashInt32)],
    ['DeviceIndex', ifNotZero(item.deviceIndex, hashInt32)],
    ['InterfaceType', ifNotZero<string>(item.interfaceType, hashText)],
  ]);

const hashMetadataOptions = (options: Of<'metadataOptions'>): bigint =>
  hashStruct('MetadataOptions', [
    ['HTTPEndpoint', ifSet<string>(options.httpEndpoint, hashText)],
    ['HTTPProtocolIPv6', ifSet<string>(options.httpProtocolIPv6, hashText)],
    ['HTTPPutResponseHopLimit', ifSet(options.httpPutResponseHopLimit, hashInt64)],
    ['HTTPTokens', ifSet<string>(options.httpTokens, hashText)],
  ]);

const hashConnectionTracking = (tracking: Of<'connectionTracking'>): bigint =>
  hashStruct('ConnectionTracking', [
    ['TCPEstablishedTimeout', ifSet(tracking.tcpEstablishedTimeout, hashInt32)],
    ['UDPStreamTimeout', ifSet(tracking.udpStreamTimeout, hashInt32)],
    ['UDPTimeout', ifSet(tracking.udpTimeout, hashInt32)],
  ]);

const hashCpuOptions = ({ nestedVirtualization }: Of<'cpuOptions'>): bigint =>
  hashStruct('CPUOptions', [['NestedVirtualization', ifSet<string>(nestedVirtualization, hashText)]]);

const hashMapping = (mapping: BlockDeviceMapping): bigint =>
  hashStruct('BlockDeviceMapping', [
    ['DeviceName', ifSet(mapping.deviceName, hashText)],
    [
      'EBS',
      ifSet(mapping.ebs, (ebs) =>
        hashStruct('BlockDevice', [
          ['DeleteOnTermination', ifSet(ebs.deleteOnTermination, hashFlag)],
          ['Encrypted', ifSet(ebs.encrypted, hashFlag)],
          ['IOPS', ifSet(ebs.iops, hashInt64)],
          ['KMSKeyID', ifSet(ebs.kmsKeyID, hashText)],
          ['SnapshotID', ifSet(ebs.snapshotID, hashText)],
          ['Throughput', ifSet(ebs.throughput, hashInt64)],
          ['VolumeInitializationRate', ifSet(ebs.volumeInitializationRate, hashInt32)],
          ['VolumeSize', ifSet(ebs.volumeSize, (size) => hashText(canonicalQuantity(size)))],
          ['VolumeType', ifSet<string>(ebs.volumeType, hashText)],
        ]),
      ),
    ],
    ['RootVolume', ifNotZero(mapping.rootVolume, hashFlag)],
  ]);

/** Characters that Go's JSON escapes and JavaScript's does not. */
const ESCAPES: Readonly<Record<string, string>> = {
  '<': '\\u003c',
  '>': '\\u003e',
  '&': '\\u0026',
  '\u2028': '\\u2028',
  '\u2029': '\\u2029',
};

/** Returns the text for comparisons of a kubelet block: compact JSON with sorted keys, or `null` if the block is empty. */
export function canonicalKubelet(kubelet: EC2NodeClassSpec['kubelet']): string {
  if (kubelet === undefined || Object.keys(kubelet).length === 0) return 'null';
  const sorted = Object.fromEntries(Object.entries(kubelet).sort(([left], [right]) => (left < right ? -1 : 1)));
  return JSON.stringify(sorted).replace(/[<>&\u2028\u2029]/g, (mark) => ESCAPES[mark] ?? mark);
}

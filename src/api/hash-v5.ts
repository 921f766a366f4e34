/**
 * Version v5 of the drift hash of EC2NodeClasses, which Karpenter 1.14 writes on NodeClaims. The operator never writes it. The
 * comparison shows whether an EC2NodeClass was edited while no controller ran.
 */

import {
  finish,
  hashFlag,
  hashInt32,
  hashInt64,
  hashList,
  hashMap,
  hashStruct,
  hashText,
  ifSet,
  pair,
  tryRun,
} from '#lib';
import { durationNanos } from './duration.ts';
import { type EC2NodeClass, type EC2NodeClassSpec, resolvedAmiFamily } from './ec2-nodeclass.ts';
import { specFields } from './hash.ts';

export const EC2_NODECLASS_HASH_V5 = 'v5';

type Hashes = readonly (readonly [string, bigint | undefined])[];
type Kubelet = NonNullable<EC2NodeClassSpec['kubelet']>;

/** Fields before and after the kubelet block in Karpenter's recorded hashes. */
const BEFORE = 'Role';
const AFTER = 'MetadataOptions';

/**
 * Returns true if the hash is the v5 hash of the current spec. The recordings do not show the exact position of the kubelet
 * block between two fields. Every position matches, because a false mismatch would replace nodes.
 */
export function matchesV5Hash({ spec }: EC2NodeClass, caBundle: string, hash: string): boolean {
  const rest = hashList([hashText(resolvedAmiFamily(spec)), hashText(caBundle)]);
  const fields = specFields(spec);
  // The schema of the block was closed when v5 was written: values of other types are an edit.
  const variants = tryRun(() =>
    spec.kubelet === undefined ? [fields] : withKubelet(fields, hashKubelet(spec.kubelet)),
  );
  return (variants ?? []).some((variant) => String(hashStruct('EC2NodeClassSpec', variant) ^ rest) === hash);
}

function withKubelet(fields: Hashes, kubelet: bigint): readonly Hashes[] {
  const [before, after] = [BEFORE, AFTER].map((wanted) => fields.findIndex(([name]) => name === wanted)) as [
    number,
    number,
  ];
  return fields.flatMap((_, at) => (at > before && at <= after ? [fields.toSpliced(at, 0, ['Kubelet', kubelet])] : []));
}

/** @throws Error if a value is not of the type that v5 has */
const hashKubelet = (kubelet: Kubelet): bigint =>
  hashStruct('KubeletConfiguration', [
    ['ClusterDNS', ifSet(kubelet.clusterDNS as string[] | undefined, (list) => hashList(list.map(hashText)))],
    ['MaxPods', ifSet(kubelet.maxPods, hashNumber)],
    ['PodsPerCore', ifSet(kubelet.podsPerCore, hashNumber)],
    ['SystemReserved', ifSet(kubelet.systemReserved, hashTexts)],
    ['KubeReserved', ifSet(kubelet.kubeReserved, hashTexts)],
    ['EvictionHard', ifSet(kubelet.evictionHard, hashTexts)],
    ['EvictionSoft', ifSet(kubelet.evictionSoft, hashTexts)],
    ['EvictionSoftGracePeriod', ifSet(kubelet.evictionSoftGracePeriod, hashDurations)],
    ['EvictionMaxPodGracePeriod', ifSet(kubelet.evictionMaxPodGracePeriod, hashNumber)],
    ['ImageGCHighThresholdPercent', ifSet(kubelet.imageGCHighThresholdPercent, hashNumber)],
    ['ImageGCLowThresholdPercent', ifSet(kubelet.imageGCLowThresholdPercent, hashNumber)],
    ['CPUCFSQuota', ifSet(kubelet.cpuCFSQuota as boolean | undefined, hashFlag)],
  ]);

function hashNumber(value: unknown): bigint {
  if (typeof value !== 'number') throw new TypeError('not a number');
  return hashInt32(value);
}

const hashTexts = (value: unknown): bigint => hashMap(value as Readonly<Record<string, string>>);

const hashDurations = (value: unknown): bigint =>
  finish(
    hashList(
      Object.entries(value as Readonly<Record<string, string>>).map(([key, text]) => {
        const nanos = durationNanos(text);
        const hash = hashStruct('Duration', [['Duration', nanos === 0n ? undefined : hashInt64(nanos)]]);
        return pair(hashText(key), hash);
      }),
    ),
  );

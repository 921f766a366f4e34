/** Kubelet settings as command-line arguments, for AMI families with a bootstrap script. */

import type { StringMap, Taint } from '#api/objects';
import { formatDuration, parseDuration } from '#api/values';
import type { Kubelet } from '../kubelet/block.ts';

const quote = (text: string): string => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;

const pairs = (map: StringMap, separator: string): string =>
  Object.keys(map)
    .sort()
    .map((key) => `${key}${separator}${map[key]}`)
    .join(',');

const list = (flag: string, map: StringMap | undefined, separator = '='): readonly string[] =>
  map === undefined || Object.keys(map).length === 0 ? [] : [`--${flag}=${quote(pairs(map, separator))}`];

const value = (flag: string, given: number | boolean | string | undefined): readonly string[] =>
  given === undefined ? [] : [`--${flag}=${given}`];

const taintText = ({ key, value: text, effect }: Taint): string =>
  (text ?? '') === '' ? `${key}:${effect}` : `${key}=${text}:${effect}`;

/** Formats durations as `1m0s`. */
export const canonicalDurations = (map: StringMap | undefined): StringMap | undefined =>
  map === undefined
    ? undefined
    : Object.fromEntries(Object.entries(map).map(([key, text]) => [key, formatDuration(parseDuration(text))]));

export const labelArgument = (labels: StringMap): readonly string[] => list('node-labels', labels);

export function kubeletArguments(
  kubelet: Kubelet,
  { labels, taints }: { readonly labels: StringMap; readonly taints: readonly Taint[] },
): string {
  return [
    ...labelArgument(labels),
    ...(taints.length === 0 ? [] : [`--register-with-taints=${quote(taints.map(taintText).join(','))}`]),
    ...value('max-pods', kubelet.maxPods),
    ...value('pods-per-core', kubelet.podsPerCore),
    ...list('system-reserved', kubelet.systemReserved),
    ...list('kube-reserved', kubelet.kubeReserved),
    ...list('eviction-hard', kubelet.evictionHard, '<'),
    ...list('eviction-soft', kubelet.evictionSoft, '<'),
    ...list('eviction-soft-grace-period', kubelet.evictionSoftGracePeriod),
    ...value('eviction-max-pod-grace-period', kubelet.evictionMaxPodGracePeriod),
    ...value('image-gc-high-threshold', kubelet.imageGCHighThresholdPercent),
    ...value('image-gc-low-threshold', kubelet.imageGCLowThresholdPercent),
    ...value('cpu-cfs-quota', kubelet.cpuCFSQuota),
  ].join(' ');
}

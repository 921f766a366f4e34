/**
 * Cost of copying a pod to a thread, in pods of the usual size. An API server accepts pods of up to 1.5 MB, so the work without a
 * pause must be limited by size instead of number. For a usual pod, only lengths are read.
 */
import type { Pod, PodSpec } from '#api/objects';
import { tryRun } from '#lib';

/** Approximate size of a usual pod. */
const USUAL_BYTES = 4_096;
/** Usual maximum number of elements in a part of a pod. */
const FEW = 16;
const BYTES_OF_MEMBER = 8;

/** Returns the weight of a pod. An invalid pod has weight 1, because other code reports it. */
export const weightOfPod = (pod: Pod): number => tryRun(() => weightOf(pod)) ?? 1;

/** Returns the weight of an object of dynamic resource allocation. Most of its size is the list of devices. */
export const weightOfDevices = (object: object): number => 1 + bytesOf(object) / USUAL_BYTES;

const weightOf = ({ metadata, spec }: Pod): number =>
  1 +
  (bytesOf(metadata.annotations) +
    (isMany(metadata.labels) ? bytesOf(metadata.labels) : 0) +
    (metadata.ownerReferences !== undefined && metadata.ownerReferences.length > FEW
      ? bytesOf(metadata.ownerReferences)
      : 0) +
    bytesOfSpec(spec)) /
    USUAL_BYTES;

/** Returns the size of a spec. Counts parts with nested lists completely, and other parts only if they have many elements. */
function bytesOfSpec(spec: PodSpec): number {
  const { affinity, topologySpreadConstraints, tolerations, volumes, nodeSelector, containers, initContainers } = spec;
  let bytes = bytesOf(affinity) + bytesOf(topologySpreadConstraints);
  for (const list of [tolerations, containers, initContainers]) if (isLong(list)) bytes += bytesOf(list);
  if (isMany(nodeSelector)) bytes += bytesOf(nodeSelector);
  for (const each of [containers, initContainers])
    for (const { ports, resources } of each ?? []) {
      if (isLong(ports)) bytes += bytesOf(ports);
      if (isMany(resources?.requests) || isMany(resources?.limits)) bytes += bytesOf(resources);
    }
  if (isLong(volumes) || volumes?.some(({ ephemeral }) => ephemeral !== undefined)) bytes += bytesOf(volumes);
  return bytes;
}

const isLong = (list: readonly unknown[] | undefined): boolean => list !== undefined && list.length > FEW;

function isMany(map: object | undefined): boolean {
  let count = 0;
  for (const _ in map) if (++count > FEW) return true;
  return false;
}

function bytesOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return value === undefined ? 0 : BYTES_OF_MEMBER;
  let bytes = 0;
  if (Array.isArray(value)) for (const item of value) bytes += bytesOf(item);
  else
    for (const key in value) bytes += key.length + BYTES_OF_MEMBER + bytesOf((value as Record<string, unknown>)[key]);
  return bytes;
}

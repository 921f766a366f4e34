/** Reads CapacityBuffers from manifests and creates the virtual pods that reserve their capacity. */
import type { CapacityBuffer } from '../../api/capacity-buffer.ts';
import type { Pod, PodTemplate, Workload } from '../../api/kubernetes.ts';
import {
  type BufferProblem,
  type BufferTarget,
  bufferSource,
  isProblem,
  notFound,
  templateTarget,
  workloadTarget,
} from '../../engine/buffer-target.ts';
import { desiredReplicas, expectRoomBeside, isActive, virtualPods } from '../../engine/capacity-buffers.ts';
import type { Manifest } from './read.ts';
import { validateStored } from './stored.ts';

export interface Buffered {
  readonly pods: readonly Pod[];
  /** Notes on buffers whose capacity cannot be reserved. */
  readonly notes: readonly string[];
}

/** @throws InputError with the buffer and the field */
export function bufferPods(manifests: readonly Manifest[], nowMs: number): Buffered {
  const pods: Pod[] = [];
  const notes: string[] = [];
  for (const manifest of manifests.filter(({ object }) => object.kind === 'CapacityBuffer')) {
    const read = validateStored<CapacityBuffer>(manifest);
    const { name, namespace = 'default', uid = name } = read.metadata;
    const buffer = { ...read, metadata: { ...read.metadata, namespace, uid } };
    if (!isActive(buffer)) continue;
    const target = targetIn(manifests, buffer);
    if (isProblem(target)) {
      notes.push(`${manifest.where}: no capacity is reserved: ${target.message}`);
      continue;
    }
    let replicas: number;
    try {
      replicas = desiredReplicas(buffer.spec, target.template, target.current);
      expectRoomBeside(pods.length, replicas);
    } catch (error) {
      notes.push(`${manifest.where}: no capacity is reserved: ${error instanceof Error ? error.message : error}`);
      continue;
    }
    pods.push(...virtualPods(buffer, target.template, replicas, nowMs));
  }
  return { pods, notes };
}

function targetIn(manifests: readonly Manifest[], buffer: CapacityBuffer): BufferTarget | BufferProblem {
  const source = bufferSource(buffer);
  if (isProblem(source)) return source;
  const { namespace } = buffer.metadata;
  const found = manifests.find(
    ({ object: { kind, metadata } }) =>
      kind === source.kind.kind && metadata.name === source.name && (metadata.namespace ?? 'default') === namespace,
  )?.object;
  if (found === undefined) return notFound(source, namespace);
  return source.of === 'template' ? templateTarget(found as PodTemplate) : workloadTarget(found as Workload);
}

/** Pods for which a capacity buffer reserves room, and their number. */

import type { CapacityBuffer, Kind, KubeObject } from '#api/objects';
import {
  type BufferProblem,
  type BufferTarget,
  bufferSource,
  desiredReplicas,
  expectRoomBeside,
  isProblem,
  notFound,
  templateTarget,
  workloadTarget,
} from '#engine/solve';
import { messageOf } from '#lib';

interface Ref {
  readonly name: string;
  readonly namespace: string | undefined;
}

/** Finds the pod template of a capacity buffer. @throws errors of `find` */
export async function findTarget(
  buffer: CapacityBuffer,
  find: <T extends KubeObject>(kind: Kind<T>, ref: Ref) => Promise<T | undefined>,
): Promise<BufferTarget | BufferProblem> {
  const source = bufferSource(buffer);
  if (isProblem(source)) return source;
  const { namespace } = buffer.metadata;
  const ref = { name: source.name, namespace };
  if (source.of === 'template') {
    const found = await find(source.kind, ref);
    return found === undefined ? notFound(source, namespace) : templateTarget(found);
  }
  const found = await find(source.kind, ref);
  return found === undefined ? notFound(source, namespace) : workloadTarget(found);
}

/**
 * Returns the number of pods to reserve capacity for, or the reason why it is unknown.
 * @param reserved number of pods of other buffers
 */
export function bufferReplicas(
  { spec }: CapacityBuffer,
  { template, current }: BufferTarget,
  reserved: number,
): number | BufferProblem {
  try {
    const replicas = desiredReplicas(spec, template, current);
    expectRoomBeside(reserved, replicas);
    return replicas;
  } catch (error) {
    return { reason: 'ResolutionFailed', message: messageOf(error) };
  }
}

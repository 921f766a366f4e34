/** Pods for which a capacity buffer reserves room, and their number. */

import { type CapacityBuffer, getCondition, type Kind, type KubeObject, type Pod } from '#api/objects';
import {
  type BufferProblem,
  type BufferRules,
  type BufferTarget,
  bufferRules,
  bufferSource,
  clusterShare,
  consumersOf,
  countTaken,
  desiredReplicas,
  expectRoomBeside,
  isProblem,
  READY_FOR_PROVISIONING,
  sourceNotFound,
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
    return found === undefined ? sourceNotFound(source, namespace) : templateTarget(found);
  }
  const found = await find(source.kind, ref);
  return found === undefined ? sourceNotFound(source, namespace) : workloadTarget(found);
}

interface BufferFacts {
  readonly nowMs: number;
  /** Number of pods of other buffers. */
  readonly reserved: number;
  /** Returns all pods of the cluster. */
  readonly pods: () => readonly Pod[];
}

/** Number of pods to reserve capacity for. */
interface BufferSize {
  readonly replicas: number;
  /** True if pods have taken all room of a buffer that is not filled again. */
  readonly isFulfilled: boolean;
}

/** Returns the number of pods to reserve capacity for now, or the reason why it is unknown. */
export function bufferSize(
  buffer: CapacityBuffer,
  { template, current }: BufferTarget,
  { nowMs, reserved, pods }: BufferFacts,
): BufferSize | BufferProblem {
  const rules = tryRules(buffer);
  if (isProblem(rules)) return rules;
  const { clusterPercentage, isOpenAt, isOneShot } = rules;
  try {
    const ofCluster = clusterPercentage === undefined ? undefined : clusterShare(clusterPercentage, template, pods());
    const desired = desiredReplicas(buffer.spec, template, current, ofCluster);
    const left = isOneShot ? remainderOf(buffer, template, { desired, pods: pods() }) : desired;
    const replicas = isOpenAt(nowMs) ? left : 0;
    expectRoomBeside(reserved, replicas);
    return { replicas, isFulfilled: isOneShot && left === 0 && desired > 0 };
  } catch (error) {
    return { reason: 'ResolutionFailed', message: messageOf(error) };
  }
}

function tryRules(buffer: CapacityBuffer): BufferRules | BufferProblem {
  try {
    return bufferRules(buffer);
  } catch (error) {
    return { reason: 'InvalidAnnotation', message: messageOf(error) };
  }
}

/** Room that pods have taken stays taken after they end. Until the spec changes, the status has the smallest rest so far. */
function remainderOf(
  buffer: CapacityBuffer,
  template: BufferTarget['template'],
  { desired, pods }: { readonly desired: number; readonly pods: readonly Pod[] },
): number {
  const left = Math.max(0, desired - countTaken(consumersOf(buffer, template, pods), template));
  const resolved = getCondition(buffer, READY_FOR_PROVISIONING);
  const isSame = resolved?.status === 'True' && resolved.observedGeneration === (buffer.metadata.generation ?? 0);
  return isSame ? Math.min(left, buffer.status?.replicas ?? left) : left;
}

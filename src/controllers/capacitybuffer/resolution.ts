/** Keeps the virtual pods of each capacity buffer up to date, and says in its status what room it asks for. */
import type { CapacityBuffer } from '../../api/capacity-buffer.ts';
import type { ConditionUpdate } from '../../api/conditions.ts';
import { CAPACITY_BUFFER, POD_TEMPLATE } from '../../api/kinds.ts';
import type { PodTemplate } from '../../api/kubernetes.ts';
import { type BufferProblem, type BufferTarget, isProblem } from '../../engine/buffer-target.ts';
import {
  ACTIVE_CAPACITY,
  bufferKey,
  desiredReplicas,
  expectRoomBeside,
  isActive,
  READY_FOR_PROVISIONING,
  virtualPods,
} from '../../engine/capacity-buffers.ts';
import { writeChanges } from '../../kube/patch.ts';
import { after, type Reconciler, settled, type Trigger } from '../../kube/reconciler.ts';
import { keyOf } from '../../kube/store.ts';
import type { Deps } from '../deps.ts';
import type { Batcher } from '../provisioning/batcher.ts';
import { withCondition } from './conditions.ts';
import { findTarget } from './target.ts';

const REVIEW_MS = 30_000;

export function bufferResolution(deps: Deps, batcher: Batcher): Reconciler<CapacityBuffer> {
  const { client, clock, cluster, informers } = deps;
  const store = informers.store(CAPACITY_BUFFER);
  /** What the virtual pods of a buffer were made from. */
  const made = new Map<string, string>();
  const seen = new Set<string>();
  let isKnown = false;
  cluster.virtualPods.isKnown = () => {
    isKnown ||= store.synced && store.list().every((buffer) => !isActive(buffer) || seen.has(bufferKey(buffer)));
    return isKnown;
  };

  /** Pods that are the same as before stay the same objects. */
  function provide(buffer: CapacityBuffer, template: PodTemplate['template'], replicas: number): void {
    const key = bufferKey(buffer);
    const basis = JSON.stringify([buffer.metadata.uid, template, replicas]);
    if (made.get(key) === basis) return;
    made.set(key, basis);
    cluster.virtualPods.replace(key, virtualPods(buffer, template, replicas, clock.now()));
  }

  function withdraw(key: string): void {
    made.delete(key);
    cluster.virtualPods.replace(key, []);
  }

  async function write(
    buffer: CapacityBuffer,
    status: CapacityBuffer['status'],
    ready: ConditionUpdate,
  ): Promise<void> {
    const changed = withCondition({ ...buffer, status: { ...buffer.status, ...status } }, ready, clock.now());
    await writeChanges(client, CAPACITY_BUFFER, { before: buffer, after: changed }, { part: 'status', lock: true });
  }

  async function fail(buffer: CapacityBuffer, problem: Pick<ConditionUpdate, 'reason' | 'message'>): Promise<void> {
    withdraw(bufferKey(buffer));
    await write(buffer, {}, { type: READY_FOR_PROVISIONING, status: 'False', ...problem });
  }

  async function resolve(buffer: CapacityBuffer): Promise<BufferTarget | BufferProblem> {
    try {
      return await findTarget(client, buffer);
    } catch (error) {
      await fail(buffer, {
        reason: 'ResolutionFailed',
        message: error instanceof Error ? error.message : String(error),
      });
      throw error;
    } finally {
      seen.add(bufferKey(buffer));
    }
  }

  return {
    name: 'capacitybuffer',
    watches: CAPACITY_BUFFER,
    concurrency: 10,
    filter: (buffer, event, before) =>
      isActive(buffer) && (event !== 'updated' || buffer.metadata.generation !== before?.metadata.generation),
    triggers: [ofTemplates(() => store.list())],
    removed: (ref) => {
      withdraw(keyOf(ref));
      seen.delete(keyOf(ref));
      batcher.trigger(keyOf(ref));
    },

    async reconcile(buffer) {
      if (!isActive(buffer) || buffer.metadata.deletionTimestamp) {
        withdraw(bufferKey(buffer));
        return settled;
      }
      const target = await resolve(buffer);
      if (isProblem(target)) {
        await fail(buffer, target);
      } else {
        const { template, podTemplate } = target;
        const replicas = replicasOf(buffer, target, cluster.virtualPods.countBeside(bufferKey(buffer)));
        if (typeof replicas !== 'number') {
          await fail(buffer, replicas);
          return after(REVIEW_MS);
        }
        provide(buffer, template, replicas);
        await write(
          buffer,
          {
            replicas,
            provisioningStrategy: ACTIVE_CAPACITY,
            ...(podTemplate && {
              podTemplateRef: { name: podTemplate.name },
              podTemplateGeneration: podTemplate.generation,
            }),
          },
          {
            type: READY_FOR_PROVISIONING,
            status: 'True',
            reason: 'Resolved',
            message: 'Pod template resolved successfully',
          },
        );
      }
      batcher.trigger(buffer.metadata.uid ?? bufferKey(buffer));
      return after(REVIEW_MS);
    },
  };
}

/** How many pods room is kept for, or why that cannot be told. */
function replicasOf(
  { spec }: CapacityBuffer,
  { template, current }: BufferTarget,
  others: number,
): number | BufferProblem {
  try {
    const replicas = desiredReplicas(spec, template, current);
    expectRoomBeside(others, replicas);
    return replicas;
  } catch (error) {
    return { reason: 'ResolutionFailed', message: error instanceof Error ? error.message : String(error) };
  }
}

/** A changed PodTemplate wakes the buffers that name it. */
const ofTemplates = (buffers: () => readonly CapacityBuffer[]): Trigger => ({
  kind: POD_TEMPLATE,
  keysFor: ({ metadata }) =>
    buffers()
      .filter(
        (buffer) =>
          buffer.metadata.namespace === metadata.namespace && buffer.spec.podTemplateRef?.name === metadata.name,
      )
      .map((buffer) => ({ name: buffer.metadata.name, ...(metadata.namespace && { namespace: metadata.namespace }) })),
});

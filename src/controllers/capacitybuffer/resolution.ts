/** Updates the virtual pods of each capacity buffer, and writes the requested capacity to its status. */

import {
  BUFFER_REFILL_ANNOTATION,
  CAPACITY_BUFFER,
  type CapacityBuffer,
  type ConditionUpdate,
  getCondition,
  type KubeObject,
  POD,
  POD_TEMPLATE,
  type Pod,
  type PodTemplate,
  uidOf,
  withCondition,
} from '#api/objects';
import { isScheduled, type Plan } from '#engine/model';
import {
  ACTIVE_CAPACITY,
  type BufferOutcome,
  type BufferProblem,
  type BufferTarget,
  bufferKey,
  bufferOutcomes,
  consumersOf,
  INFEASIBLE,
  isActiveBuffer,
  isProblem,
  provisioningCondition,
  READY_FOR_PROVISIONING,
  virtualPods,
} from '#engine/solve';
import { keyOf, type Store, unlessGone, writeChanges } from '#kube/client';
import { after, type Key, type Outcome, type Reconciler, settled, type Trigger } from '#kube/reconcilers';
import { messageOf, own, sameJson, withBoundedConcurrency } from '#lib';
import { BUFFER_INFEASIBLE, eventOf, INVALID_ANNOTATION } from '#observe/events';
import type { Logger } from '#observe/logger';
import { bufferSize, findTarget } from '#planner';
import { openBuffers } from '#state';
import type { Deps } from '../deps.ts';
import { retryWrites } from '../retry.ts';

const REVIEW_MS = 30_000;
/** Maximum number of pods that are remembered for a buffer, which is also the limit of its virtual pods. */
const MOST_CONSUMERS = 20_000;
const FULFILLED = 'Pods have taken all room, and it is not made again';
const UNSUPPORTED_STRATEGY = 'UnsupportedStrategy';

/** Opens a provisioning run. The same id counts once per run. */
interface Provisioning {
  trigger(id: string): void;
}

export class BufferResolution implements Reconciler<CapacityBuffer> {
  readonly name = 'capacitybuffer';
  readonly watches = CAPACITY_BUFFER;
  readonly optional = true;
  readonly concurrency = 10;
  readonly triggers: readonly Trigger[];
  readonly #deps: Deps;
  readonly #provisioning: Provisioning;
  readonly #store: Store<CapacityBuffer>;
  /** Inputs of the virtual pods of each buffer. */
  readonly #made = new Map<string, string>();
  readonly #seen = new Set<string>();
  /** Pods that this process has seen with the room of each buffer that is not filled again, by UID. They may be deleted. */
  readonly #consumers = new Map<string, Map<string, Pod>>();
  #isKnown = false;

  constructor(deps: Deps, provisioning: Provisioning) {
    this.#deps = deps;
    this.#provisioning = provisioning;
    this.#store = openBuffers(deps.informers);
    this.triggers = [ofTemplates(() => this.#store.list()), ofConsumers(() => this.#store.list())];
    deps.cluster.virtualPods.addSource(() => this.#areAllSeen());
  }

  filter(buffer: CapacityBuffer, event: 'added' | 'updated' | 'deleted', before?: CapacityBuffer): boolean {
    return (
      event !== 'updated' ||
      buffer.metadata.generation !== before?.metadata.generation ||
      !sameJson(buffer.metadata.annotations, before?.metadata.annotations)
    );
  }

  removed(ref: Key): void {
    this.#withdraw(keyOf(ref));
    this.#seen.delete(keyOf(ref));
    for (const key of this.#consumers.keys()) if (key.startsWith(`${keyOf(ref)} `)) this.#consumers.delete(key);
    this.#provisioning.trigger(keyOf(ref));
  }

  async reconcile(buffer: CapacityBuffer): Promise<Outcome> {
    if (!isActiveBuffer(buffer) || buffer.metadata.deletionTimestamp) {
      this.#withdraw(bufferKey(buffer));
      if (!buffer.metadata.deletionTimestamp) await this.#reject(buffer);
      return settled;
    }
    const target = await this.#resolve(buffer);
    if (isProblem(target)) {
      await this.#fail(buffer, target);
    } else {
      const others = this.#deps.cluster.virtualPods.countBeside(bufferKey(buffer));
      const { clock } = this.#deps;
      const pods = (): readonly Pod[] => this.#withFormerConsumers(buffer, target.template);
      const size = bufferSize(buffer, target, { nowMs: clock.now(), reserved: others, pods });
      if (isProblem(size)) {
        await this.#fail(buffer, size);
        return after(REVIEW_MS);
      }
      this.#provide(buffer, target.template, size.replicas);
      await this.#writeResolved(buffer, target, size);
    }
    this.#provisioning.trigger(buffer.metadata.uid ?? bufferKey(buffer));
    return after(REVIEW_MS);
  }

  /**
   * Returns true if the virtual pods of all active buffers are known. Without the kind, no pods are missing. The result never
   * becomes false again.
   */
  #areAllSeen(): boolean {
    const isSeen = (buffer: CapacityBuffer): boolean => !isActiveBuffer(buffer) || this.#seen.has(bufferKey(buffer));
    if (!this.#store.synced) return true;
    this.#isKnown ||= this.#store.list().every(isSeen);
    return this.#isKnown;
  }

  async #resolve(buffer: CapacityBuffer): Promise<BufferTarget | BufferProblem> {
    try {
      return await findTarget(buffer, (kind, ref) => this.#deps.client.find(kind, ref));
    } catch (error) {
      await this.#fail(buffer, {
        reason: 'ResolutionFailed',
        message: messageOf(error),
      });
      throw error;
    } finally {
      this.#seen.add(bufferKey(buffer));
    }
  }

  /** Updates the virtual pods of a buffer. Keeps the same objects if the input is unchanged. */
  #provide(buffer: CapacityBuffer, template: PodTemplate['template'], replicas: number): void {
    const { clock, cluster } = this.#deps;
    const key = bufferKey(buffer);
    const basis = JSON.stringify([buffer.metadata.uid, template, replicas]);
    if (this.#made.get(key) === basis) return;
    this.#made.set(key, basis);
    cluster.virtualPods.replace(key, virtualPods(buffer, template, replicas, clock.now()));
  }

  /**
   * Returns the pods of the cluster, and for a buffer that is not filled again also deleted pods that have taken its room. The
   * pods of an earlier generation of the buffer are forgotten, as in the status.
   */
  #withFormerConsumers(buffer: CapacityBuffer, template: PodTemplate['template']): readonly Pod[] {
    const pods = this.#deps.cluster.stores.pods.list();
    if (own(buffer.metadata.annotations ?? {}, BUFFER_REFILL_ANNOTATION) === undefined) return pods;
    const key = `${bufferKey(buffer)} ${buffer.metadata.generation ?? 0}`;
    const known = this.#consumers.get(key) ?? new Map<string, Pod>();
    for (const pod of consumersOf(buffer, template, pods)) if (known.size < MOST_CONSUMERS) known.set(uidOf(pod), pod);
    for (const other of this.#consumers.keys())
      if (other.startsWith(`${bufferKey(buffer)} `)) this.#consumers.delete(other);
    this.#consumers.set(key, known);
    const present = new Set(pods.map(uidOf));
    return [...pods, ...[...known.values()].filter((pod) => !present.has(uidOf(pod)))];
  }

  #withdraw(key: string): void {
    this.#made.delete(key);
    this.#deps.cluster.virtualPods.replace(key, []);
  }

  async #fail(buffer: CapacityBuffer, problem: Pick<ConditionUpdate, 'reason' | 'message'>): Promise<void> {
    this.#withdraw(bufferKey(buffer));
    if (problem.reason === 'InvalidAnnotation') {
      const message = INVALID_ANNOTATION.message(problem.message ?? '');
      this.#deps.events.publish(eventOf(INVALID_ANNOTATION, buffer, { message, dedupe: [uidOf(buffer), message] }));
    }
    await this.#write(buffer, {}, { type: READY_FOR_PROVISIONING, status: 'False', ...problem });
  }

  /** Reports an unknown strategy, unless another product handles the buffer. */
  async #reject(buffer: CapacityBuffer): Promise<void> {
    const { reason } = getCondition(buffer, READY_FOR_PROVISIONING) ?? {};
    if (reason !== undefined && reason !== UNSUPPORTED_STRATEGY) return;
    const message = `spec.provisioningStrategy "${buffer.spec.provisioningStrategy}" is not supported; use ${ACTIVE_CAPACITY}`;
    const update = { status: 'False', reason: UNSUPPORTED_STRATEGY, message } as const;
    await this.#write(buffer, {}, { type: READY_FOR_PROVISIONING, ...update });
  }

  async #writeResolved(
    buffer: CapacityBuffer,
    { podTemplate }: BufferTarget,
    { replicas, isFulfilled }: { readonly replicas: number; readonly isFulfilled: boolean },
  ): Promise<void> {
    const status: CapacityBuffer['status'] = {
      replicas,
      provisioningStrategy: ACTIVE_CAPACITY,
      ...(podTemplate && {
        podTemplateRef: { name: podTemplate.name },
        podTemplateGeneration: podTemplate.generation,
      }),
    };
    const ready = { type: READY_FOR_PROVISIONING, status: 'True', reason: 'Resolved' } as const;
    const fulfilled: ConditionUpdate = isFulfilled
      ? { type: 'Fulfilled', status: 'True', reason: 'BufferFilled', message: FULFILLED }
      : { type: 'Fulfilled', status: 'False', reason: 'RoomLeft', message: 'Pods have not taken all room' };
    const isReported = isFulfilled || getCondition(buffer, fulfilled.type) !== undefined;
    const filled = isReported ? withCondition(buffer, fulfilled, this.#deps.clock.now()).status : {};
    await this.#write(buffer, { ...filled, ...status }, { ...ready, message: 'Pod template resolved successfully' });
  }

  async #write(buffer: CapacityBuffer, status: CapacityBuffer['status'], ready: ConditionUpdate): Promise<void> {
    const { client, clock, cluster } = this.#deps;
    if (cluster.observation.ofAll) return;
    const changed = withCondition({ ...buffer, status: { ...buffer.status, ...status } }, ready, clock.now());
    await writeChanges(client, CAPACITY_BUFFER, { before: buffer, after: changed }, { part: 'status', lock: true });
  }
}

/** Triggers the buffers that refer to a changed PodTemplate. */
const ofTemplates = (buffers: () => readonly CapacityBuffer[]): Trigger => ({
  kind: POD_TEMPLATE,
  optional: true,
  deferred: true,
  keysFor: ({ metadata }) =>
    buffers()
      .filter(
        (buffer) =>
          buffer.metadata.namespace === metadata.namespace && buffer.spec.podTemplateRef?.name === metadata.name,
      )
      .map((buffer) => ({ name: buffer.metadata.name, ...(metadata.namespace && { namespace: metadata.namespace }) })),
});

const isBound = (object: KubeObject): boolean => isScheduled(object as Pod);

/** Triggers the buffers that are not filled again when a pod of their namespace is bound. */
const ofConsumers = (buffers: () => readonly CapacityBuffer[]): Trigger => ({
  kind: POD,
  deferred: true,
  keysFor: (pod, _event, before) =>
    !isBound(pod) || (before !== undefined && isBound(before))
      ? []
      : buffers()
          .filter(
            (buffer) =>
              buffer.metadata.namespace === pod.metadata.namespace &&
              own(buffer.metadata.annotations ?? {}, BUFFER_REFILL_ANNOTATION) !== undefined,
          )
          .map((buffer) => ({
            name: buffer.metadata.name,
            ...(pod.metadata.namespace && { namespace: pod.metadata.namespace }),
          })),
});

const AT_ONCE = 10;

/** Results of a plan for the virtual pods of each buffer and ProvisioningRequest. */
export type VirtualOutcomes = ReturnType<typeof bufferOutcomes>['byBuffer'];

/**
 * Sets the number of virtual pods on each node, which keeps consolidation from removing the nodes as empty. Returns the results
 * of the plan.
 */
export function recordVirtualPods(
  { cluster }: Pick<Deps, 'cluster'>,
  plan: Plan | undefined,
  virtual: readonly Pod[],
): VirtualOutcomes {
  const isInitialized = (providerId: string): boolean => cluster.nodeByProviderId(providerId)?.initialized === true;
  const { byBuffer, byNode } = bufferOutcomes(plan, virtual, isInitialized);
  // without a plan, the virtual pods are assumed to stay on the same nodes
  if (plan !== undefined || virtual.length === 0) cluster.setBufferPods(byNode);
  return byBuffer;
}

/** Sets the conditions of buffers, unless the operator observes. Logs failures, because the next run writes again. */
export async function recordBuffers(
  deps: Pick<Deps, 'client' | 'clock' | 'cluster' | 'events' | 'informers' | 'random'>,
  byBuffer: VirtualOutcomes,
  log: Logger,
): Promise<void> {
  const { client, clock, cluster, informers } = deps;
  if (cluster.observation.ofAll) return;

  const withOutcome = (buffer: CapacityBuffer, outcome: BufferOutcome | undefined): CapacityBuffer => {
    const update = provisioningCondition(buffer, outcome);
    return update === undefined ? buffer : withCondition(buffer, update, clock.now());
  };
  const writeOutcome = async (cached: CapacityBuffer): Promise<void> => {
    const outcome = byBuffer.get(bufferKey(cached));
    const update = provisioningCondition(cached, outcome);
    if (update?.reason === INFEASIBLE) {
      const message = BUFFER_INFEASIBLE.message(update.message ?? '');
      deps.events.publish(eventOf(BUFFER_INFEASIBLE, cached, { message, dedupe: [uidOf(cached)] }));
    }
    if (isSame(cached, withOutcome(cached, outcome))) return;
    const write = async (): Promise<void> => {
      const before = await client.get(CAPACITY_BUFFER, cached.metadata);
      await writeChanges(
        client,
        CAPACITY_BUFFER,
        { before, after: withOutcome(before, outcome) },
        { part: 'status', lock: true },
      );
    };
    await unlessGone(retryWrites(deps, write));
  };

  try {
    await withBoundedConcurrency(openBuffers(informers).list().filter(isActiveBuffer), AT_ONCE, writeOutcome);
  } catch (error) {
    log.error('failed updating capacity buffers', { error });
  }
}

const isSame = (a: CapacityBuffer, b: CapacityBuffer): boolean => JSON.stringify(a.status) === JSON.stringify(b.status);

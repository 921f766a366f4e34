/**
 * Triggers of provisioning runs: pending pods, nodes with pods that need another place, and NodePools that can launch nodes
 * again. A batcher collects triggers that arrive close together into one run.
 */

import { DISRUPTED_TAINT, NODE, NODE_POOL, type Node, type NodePool, POD, type Pod } from '#api/objects';
import { isUnschedulable, podKey, sameTaint } from '#engine/model';
import { after, type Reconciler, settled } from '#kube/reconcilers';
import { timeOf } from '#lib';
import { type Clock, monotonicMs } from '#lib/clock';
import { nominateNode, someAwaitReadiness } from '#planner';
import { isUntried, replicatorOf, UnschedulableReplicators } from '#state';
import type { Deps } from '../deps.ts';
import { nodeClassesOf } from '../node-classes.ts';
import { mayTakeMore } from '../ready-pools.ts';

interface BatchWindow {
  /** Time without a trigger after which a window closes, in milliseconds. */
  readonly idleMs: number;
  /** Maximum duration of a window, in milliseconds. */
  readonly maxMs: number;
  /** Time for which `wait` waits for a first trigger, in milliseconds. Default: one second. */
  readonly lookoutMs?: number | undefined;
  /** Returns a factor for `idleMs` and `maxMs`, which is read at the start of each window. Default: 1. */
  readonly stretch?: () => number;
}

/** Start and end of a closed window, by the clock's time. */
interface BatchSpan {
  readonly fromMs: number;
  readonly toMs: number;
}

const LOOKOUT_MS = 1000;

export class PodBatcher {
  readonly #clock: Clock;
  readonly #window: BatchWindow;
  readonly #seen = new Set<string>();
  /** Time of the last trigger that further triggers may follow, by `monotonicMs`. */
  #noiseMs = Number.NEGATIVE_INFINITY;
  /** Time of the last unsettled trigger, by `monotonicMs`. A call of {@link settled} resets it. */
  #unsettledMs = Number.NEGATIVE_INFINITY;
  #armed = false;
  /** Time of the first trigger in the open window, by the clock's time. */
  #openedMs: number | undefined;
  #last: BatchSpan | undefined;
  #wake: (() => void) | undefined;

  constructor(clock: Clock, window: BatchWindow) {
    this.#clock = clock;
    this.#window = window;
  }

  /** Opens a window, or extends the open window. The same id counts once per window. */
  trigger(id: string): void {
    if (this.#isNew(id)) this.#noiseMs = this.#arm();
  }

  /** Like `trigger`, for a trigger that similar triggers may soon follow. {@link settled} ends the wait for such triggers. */
  triggerUnsettled(id: string): void {
    if (this.#isNew(id)) this.#unsettledMs = this.#arm();
  }

  /** Opens a window that no longer waits for unsettled triggers, because the input of the run is complete. */
  settled(): void {
    this.#unsettledMs = Number.NEGATIVE_INFINITY;
    this.#arm();
  }

  /** Returns true once a window has closed. Returns false if no trigger arrived in time or if the process stops. */
  async wait(signal: AbortSignal): Promise<boolean> {
    const opened = await this.#signalled(this.#window.lookoutMs ?? LOOKOUT_MS, signal);
    const stretch = this.#window.stretch?.() ?? 1;
    const closesMs = monotonicMs(this.#clock) + stretch * this.#window.maxMs;
    while (opened && !signal.aborted) {
      const quietMs = Math.max(this.#noiseMs, this.#unsettledMs) + stretch * this.#window.idleMs;
      const restMs = Math.min(quietMs, closesMs) - monotonicMs(this.#clock);
      if (restMs <= 0) break;
      await this.#signalled(restMs, signal);
    }
    this.#seen.clear();
    if (opened) this.#close();
    return opened && !signal.aborted;
  }

  /** Returns true if the open window has a trigger besides these pods. */
  hasOther(pods: ReadonlyMap<string, unknown>): boolean {
    return [...this.#seen].some((id) => !pods.has(id));
  }

  /** The window that closed last. */
  get last(): BatchSpan | undefined {
    return this.#last;
  }

  #close(): void {
    const toMs = this.#clock.now();
    this.#last = { fromMs: this.#openedMs ?? toMs, toMs };
    this.#openedMs = undefined;
  }

  #isNew(id: string): boolean {
    const isNew = !this.#seen.has(id);
    this.#seen.add(id);
    return isNew;
  }

  #arm(): number {
    this.#armed = true;
    this.#openedMs ??= this.#clock.now();
    this.#wake?.();
    return monotonicMs(this.#clock);
  }

  /** Waits for a trigger. A trigger before the call counts too. */
  async #signalled(ms: number, signal: AbortSignal): Promise<boolean> {
    if (!this.#armed) await this.#sleep(ms, signal);
    const signalled = this.#armed;
    this.#armed = false;
    return signalled && !signal.aborted;
  }

  /**
   * Waits until the time is up, a trigger arrives, or the process stops. An AbortController would create an error at each
   * trigger.
   */
  #sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const end = (): void => {
        cancel();
        signal.removeEventListener('abort', end);
        this.#wake = undefined;
        resolve();
      };
      const cancel = this.#clock.after(ms, end);
      signal.addEventListener('abort', end, { once: true });
      this.#wake = end;
    });
  }
}

/**
 * Interval of further triggers for a pod that a run did not help, because the cluster state was not synced or a launch failed.
 */
const AGAIN_MS = 10_000;

/** Kubernetes truncates its timestamps to whole seconds. */
const SECOND_MS = 1_000;

/** Returns the time at which kube-scheduler tried the pod, or negative infinity if the pod does not show it. */
function triedMs({ status }: Pod): number {
  const { lastTransitionTime } = status?.conditions?.find(({ type }) => type === 'PodScheduled') ?? {};
  const ms = timeOf(lastTransitionTime);
  return Number.isNaN(ms) ? Number.NEGATIVE_INFINITY : ms;
}

/**
 * Opens a window for a pending pod, or extends the open window. Replicas count when they arrive, but not again after
 * kube-scheduler has tried them. Otherwise a window would stay open while kube-scheduler tries hundreds of replicas.
 */
export function podTrigger(deps: Deps, batcher: PodBatcher): Reconciler<Pod> {
  const { clock, cluster } = deps;
  const unschedulable = new UnschedulableReplicators(cluster.stores.pods);
  const isLikeUnschedulable = (pod: Pod): boolean => {
    const replicator = replicatorOf(pod);
    return replicator !== undefined && unschedulable.has(replicator) && isUntried(pod);
  };
  /** Returns the remaining time for which a placement from before kube-scheduler's attempt stays valid. */
  const trustedMs = (pod: Pod): number => {
    const { schedulableMs, decidedMs = 0 } = cluster.podTimings.get(podKey(pod));
    const isEarly = decidedMs < triedMs(pod) + SECOND_MS;
    return schedulableMs === undefined || !isEarly ? 0 : decidedMs + AGAIN_MS - clock.now();
  };
  return {
    name: 'provisioner.trigger.pod',
    watches: POD,
    concurrency: 1000,
    rateLimit: { qps: 1000, burst: 10_000 },
    filter: (pod, event) => event !== 'deleted' && (isUnschedulable(pod) || isLikeUnschedulable(pod)),

    async reconcile(pod) {
      const isTried = isUnschedulable(pod);
      if (!isTried && !isLikeUnschedulable(pod)) return settled;
      if (cluster.preemptionFor(pod) !== undefined) {
        const node = cluster.nodeByName(pod.status?.nominatedNodeName ?? '');
        // without the preempted pods, the node can look empty
        if (node !== undefined) nominateNode(deps, node);
        return after(AGAIN_MS);
      }
      cluster.podTimings.acknowledge(podKey(pod), clock.now());
      const restMs = trustedMs(pod);
      if (restMs > 0) return after(restMs);
      batcher.trigger((isTried ? replicatorOf(pod) : undefined) ?? pod.metadata.uid ?? podKey(pod));
      return after(AGAIN_MS);
    },
  };
}

const isDisrupted = (node: Node): boolean =>
  (node.spec?.taints ?? []).some((taint) => sameTaint(taint, DISRUPTED_TAINT));

export function nodeTrigger(batcher: PodBatcher): Reconciler<Node> {
  return {
    name: 'provisioner.trigger.node',
    watches: NODE,
    concurrency: 10,
    filter: (node, event) => event !== 'deleted' && isDisrupted(node),

    async reconcile(node) {
      if (!isDisrupted(node)) return settled;
      batcher.trigger(node.metadata.uid ?? node.metadata.name);
      return after(AGAIN_MS);
    },
  };
}

/**
 * Runs immediately if no other NodePool is about to become ready, because earlier pods have waited long enough. Otherwise a run
 * could launch nodes from the first ready NodePool although the pods prefer another NodePool.
 */
export function poolTrigger(deps: Deps, batcher: PodBatcher): Reconciler<NodePool> {
  return {
    name: 'provisioner.trigger.nodepool',
    watches: NODE_POOL,
    filter: (pool, event, before) => event !== 'deleted' && mayTakeMore(pool, before),

    async reconcile(pool) {
      if (someAwaitReadiness(deps.cluster, nodeClassesOf(deps)))
        batcher.triggerUnsettled(pool.metadata.uid ?? pool.metadata.name);
      else batcher.settled();
      return settled;
    },
  };
}

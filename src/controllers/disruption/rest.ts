/**
 * When disruption may rest: a pass over a cluster in which nothing is as it could not have been seen by the last pass finds
 * nothing either. What counts is compared by identity: lists of the caches are the same until something in them changes.
 */
import { isTrue } from '../../api/conditions.ts';
import { DO_NOT_DISRUPT_ANNOTATION } from '../../api/labels.ts';
import type { StateNode } from '../../engine/model.ts';
import { isReschedulable } from '../../engine/pods.ts';
import { monotonicMs } from '../../kube/clock.ts';
import type { Deps } from '../deps.ts';
import { managedPools } from './prepare-method.ts';
import type { DisruptionQueue } from './queue.ts';

/** What a pass has not foreseen is looked at again after this at the latest, as Karpenter does it with consolidation. */
const LONGEST_REST_MS = 5 * 60_000;
const MINUTE_MS = 60_000;

/** How long no search is made after one that found nothing; for who plays long times, and pays for each search. */
export type SearchPace = (nodes: number) => number;

/** What of a pass is to be done now. */
export type Due = 'everything' | 'no searches' | 'nothing';

export class Rest {
  readonly #deps: Deps;
  readonly #queue: Pick<DisruptionQueue, 'providerIds'>;
  readonly #pace: SearchPace | undefined;
  /** What the last pass looked at, which found nothing; undefined when the next one may find something in the same. */
  #seen: readonly unknown[] | undefined;
  #seenMs = 0;
  /** By `monotonicMs`. */
  #searchFromMs = 0;
  /** Whether a node may be given back without a search, by its state. */
  readonly #easy = new WeakMap<StateNode, boolean>();

  constructor(deps: Deps, queue: Pick<DisruptionQueue, 'providerIds'>, pace?: SearchPace) {
    this.#deps = deps;
    this.#queue = queue;
    this.#pace = pace;
  }

  async due(): Promise<Due> {
    if (await this.#isAsSeen()) return 'nothing';
    if (this.#pace === undefined || monotonicMs(this.#deps.clock) >= this.#searchFromMs) return 'everything';
    return this.#deps.cluster.nodes().some((node) => this.#isEasy(node)) ? 'no searches' : 'nothing';
  }

  /**
   * A pass is over.
   * @param hasMore whether the next one may find something in the same cluster
   * @param before what it looked at, as `look` had it at its beginning
   */
  passed(due: Due, hasMore: boolean, before: readonly unknown[] | undefined): void {
    const { clock, cluster } = this.#deps;
    const nowMs = monotonicMs(clock);
    if (due === 'everything') this.#searchFromMs = hasMore ? 0 : nowMs + (this.#pace?.(cluster.nodes().length) ?? 0);
    this.#seen = hasMore || due !== 'everything' ? undefined : before;
    this.#seenMs = nowMs;
  }

  async #isAsSeen(): Promise<boolean> {
    if (this.#seen === undefined || monotonicMs(this.#deps.clock) - this.#seenMs >= LONGEST_REST_MS) return false;
    const now = await this.look();
    return now !== undefined && isSame(now, this.#seen);
  }

  /** All that a pass depends on; undefined when its outcome may change by nothing but time. */
  async look(): Promise<readonly unknown[] | undefined> {
    const { cluster, clock, cloud } = this.#deps;
    const nodes = cluster.nodes();
    const nowMs = clock.now();
    if (this.#queue.providerIds.size > 0 || nodes.some((node) => changesWithTime(node, nowMs))) return undefined;
    const pools = managedPools(this.#deps);
    const hasSchedules = pools.some(({ spec }) =>
      (spec.disruption?.budgets ?? []).some(({ schedule }) => schedule !== undefined),
    );
    const types = await Promise.all(pools.map((pool) => cloud.instanceTypes(pool).catch(() => undefined)));
    const stores = Object.values(cluster.stores).map((store) => store.list());
    return [
      ...stores,
      ...types,
      nodes,
      cluster.consolidationState(),
      cluster.virtualPods.list(),
      cloud.commitments?.(),
      hasSchedules ? Math.floor(nowMs / MINUTE_MS) : undefined,
    ];
  }

  /** Whether it may be given back without a search: it is empty, or to be replaced whatever it costs. */
  #isEasy(node: StateNode): boolean {
    const known = this.#easy.get(node);
    if (known !== undefined) return known;
    const { nodeClaim, pods } = node;
    const isEmpty = !pods.some(isReschedulable);
    const easy =
      nodeClaim !== undefined && (isTrue(nodeClaim, 'Drifted') || (isEmpty && isTrue(nodeClaim, 'Consolidatable')));
    this.#easy.set(node, easy);
    return easy;
  }
}

/** Pods are expected on it, or one of them is protected for some time. */
const changesWithTime = (node: StateNode, nowMs: number): boolean =>
  node.nominatedUntilMs > nowMs || hasTimedPods(node);

const withTimedPods = new WeakMap<StateNode['pods'], boolean>();

function hasTimedPods({ pods }: StateNode): boolean {
  const known = withTimedPods.get(pods);
  if (known !== undefined) return known;
  const found = pods.some(({ metadata }) => isTimed(metadata.annotations?.[DO_NOT_DISRUPT_ANNOTATION]));
  withTimedPods.set(pods, found);
  return found;
}

const isTimed = (value: string | undefined): boolean => value !== undefined && value !== 'true';

const isSame = (one: readonly unknown[], other: readonly unknown[]): boolean =>
  one.length === other.length && one.every((value, at) => value === other[at]);

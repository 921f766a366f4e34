/**
 * When disruption may rest: a pass over a cluster in which nothing is as it could not have been seen by the last pass finds
 * nothing either. What counts is compared by identity: lists of the caches are the same until something in them changes.
 */

import { isTrue } from '../../api/conditions.ts';
import { BASE_COST, rescheduleCost } from '../../engine/disruption/candidates/disruption-cost.ts';
import { changesWithTime } from '../../engine/disruption/candidates/timed.ts';
import type { Method } from '../../engine/disruption/method.ts';
import type { StateNode } from '../../engine/model.ts';
import { isReschedulable } from '../../engine/pods.ts';
import { monotonicMs } from '../../lib/clock.ts';
import { sameItems } from '../../lib/same-items.ts';
import type { Deps } from '../deps.ts';
import { managedPools } from './prepare-method.ts';
import type { DisruptionQueue } from './queue.ts';
import type { RunOutcome } from './run.ts';

/** What a pass has not foreseen is looked at again after this at the latest, as Karpenter does it with consolidation. */
const LONGEST_REST_MS = 5 * 60_000;
const MINUTE_MS = 60_000;

/**
 * Milliseconds for which a method makes no search after one that found nothing; for who plays long times, and pays for each
 * search.
 */
export type SearchPace = (method: Pick<Method, 'consolidationType'>, nodes: number) => number;

export interface RestOptions {
  readonly queue: Pick<DisruptionQueue, 'providerIds'>;
  /** In the order in which they are asked. */
  readonly methods: readonly Method[];
  readonly pace?: SearchPace | undefined;
}

export class Rest {
  readonly #deps: Deps;
  readonly #queue: Pick<DisruptionQueue, 'providerIds'>;
  readonly #methods: readonly Method[];
  readonly #pace: SearchPace | undefined;
  /** What the last pass looked at, which found nothing; undefined when the next one may find something in the same. */
  #seen: readonly unknown[] | undefined;
  #seenMs = 0;
  /** By `monotonicMs` and the name of the method. */
  readonly #searchFromMs = new Map<string, number>();
  /** Methods that are not asked now because no node is as they want it: they would find nothing. */
  #spared: readonly Method[] = [];
  /** Whether a node may be given back without a search, by its state. */
  readonly #easy = new WeakMap<StateNode, boolean>();

  constructor(deps: Deps, { queue, methods, pace }: RestOptions) {
    this.#deps = deps;
    this.#queue = queue;
    this.#methods = methods;
    this.#pace = pace;
  }

  /** The methods to ask now, in their order. */
  async due(): Promise<readonly Method[]> {
    if (await this.#isAsSeen()) return [];
    if (this.#pace === undefined) return this.#methods;
    const nowMs = monotonicMs(this.#deps.clock);
    const open = this.#methods.filter(
      ({ name, isSearch }) => !isSearch || nowMs >= (this.#searchFromMs.get(name) ?? 0),
    );
    const isWorthAsking = this.#deps.cluster.nodes().some((node) => this.#isEasy(node)) ? always : isConsolidation;
    const due = open.filter(isWorthAsking);
    this.#spared = open.filter((method) => !isWorthAsking(method));
    if (due.length === 0) for (const method of this.#spared) this.#putOff(method, 'nothing', nowMs);
    return due;
  }

  /**
   * A pass is over.
   * @param outcomes of the methods that were asked
   * @param before what it looked at, as `look` had it at its beginning
   */
  passed(outcomes: ReadonlyMap<Method, RunOutcome>, before: readonly unknown[] | undefined): void {
    const nowMs = monotonicMs(this.#deps.clock);
    const all = new Map([...this.#spared.map((method) => [method, 'nothing'] as const), ...outcomes]);
    for (const [method, outcome] of all) this.#putOff(method, outcome, nowMs);
    const sawAll = this.#methods.every((method) => all.get(method) === 'nothing');
    this.#seen = sawAll ? before : undefined;
    this.#seenMs = nowMs;
  }

  #putOff(method: Method, outcome: RunOutcome, nowMs: number): void {
    const waitMs = outcome === 'nothing' ? this.#pace?.(method, this.#deps.cluster.nodes().length) : undefined;
    if (waitMs === undefined) this.#searchFromMs.delete(method.name);
    else this.#searchFromMs.set(method.name, nowMs + waitMs);
  }

  async #isAsSeen(): Promise<boolean> {
    if (this.#seen === undefined || monotonicMs(this.#deps.clock) - this.#seenMs >= LONGEST_REST_MS) return false;
    const now = await this.look();
    return now !== undefined && sameItems(now, this.#seen);
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
    const isEmpty = rescheduleCost(pods.filter(isReschedulable)) <= BASE_COST;
    const easy =
      nodeClaim !== undefined && (isTrue(nodeClaim, 'Drifted') || (isEmpty && isTrue(nodeClaim, 'Consolidatable')));
    this.#easy.set(node, easy);
    return easy;
  }
}

const always = (): boolean => true;

/** The others ask for nodes that are empty or drifted. */
const isConsolidation = ({ isSearch, consolidationType }: Method): boolean =>
  isSearch === true && consolidationType !== '';

/** Minimum intervals between disruption searches in a replay, where each search costs real time. */
import { isTrue } from '../../api/conditions.ts';
import { DecisionMemo, type DisruptionSnapshot } from '../../controllers/disruption/snapshots.ts';
import { BASE_COST, rescheduleCost } from '../../engine/disruption/candidates/disruption-cost.ts';
import type { Method } from '../../engine/disruption/method.ts';
import type { StateNode } from '../../engine/model.ts';
import { isReschedulable } from '../../engine/pods.ts';
import { remembering } from '../../lib/remembering.ts';
import type { ClusterState } from '../../state/cluster.ts';

/** Largest number of nodes at which a replay searches as often as the operator. */
export const FEW_NODES = 15;
/** Interval of swap searches, which take longest and save least. */
const SWAPS_EVERY_MS = 30 * 60_000;
const LEAST_MS = 10_000;
const PER_NODE_MS = 600;

/** Returns the interval between a search without a command and the method's next search. */
const pauseMs = ({ consolidationType }: Method, nodes: number): number =>
  consolidationType === 'swap' && nodes > FEW_NODES ? SWAPS_EVERY_MS : Math.max(LEAST_MS, nodes * PER_NODE_MS);

export class PacedMemo extends DecisionMemo {
  readonly #now: () => number;
  /** Times of the next searches, by method. */
  readonly #searchFromMs = new Map<string, number>();
  /** Methods that this pass skips because no node is empty or drifted. */
  #spared: readonly Method[] = [];
  /** Number of all methods. */
  #count = 0;
  /** Snapshot of the last pass in which no method found a command. */
  #seen: DisruptionSnapshot | undefined;

  constructor(cluster: Pick<ClusterState, 'consolidationState'>, now: () => number) {
    super(cluster);
    this.#now = now;
  }

  override due(methods: readonly Method[], snapshot: DisruptionSnapshot): readonly Method[] {
    this.#spared = [];
    if (this.#seen === snapshot) return [];
    const nowMs = this.#now();
    const open = methods.filter(({ name, isSearch }) => !isSearch || nowMs >= (this.#searchFromMs.get(name) ?? 0));
    const isAsked = snapshot.nodes.some(isEasy) ? () => true : isConsolidation;
    this.#spared = open.filter((method) => !isAsked(method));
    this.#count = methods.length;
    return open.filter(isAsked);
  }

  override passed(isOver: ReadonlyMap<Method, boolean>, snapshot: DisruptionSnapshot): void {
    super.passed(isOver, snapshot);
    const nowMs = this.#now();
    const all = new Map([...this.#spared.map((method) => [method, true] as const), ...isOver]);
    for (const [method, over] of all)
      if (over) this.#putOff(method, snapshot, nowMs);
      else this.#searchFromMs.delete(method.name);
    if (all.size === this.#count && [...all.values()].every(Boolean)) this.#seen = snapshot;
  }

  #putOff(method: Method, { nodes }: DisruptionSnapshot, nowMs: number): void {
    this.#searchFromMs.set(method.name, nowMs + pauseMs(method, nodes.length));
  }
}

/** Returns true for consolidation methods. Other methods need a node that is empty or drifted. */
const isConsolidation = ({ isSearch, consolidationType }: Method): boolean =>
  isSearch === true && consolidationType !== '';

/** Returns true if a node may be disrupted without a search: it is empty and consolidatable, or drifted. */
const isEasy = remembering(({ nodeClaim, pods }: StateNode): boolean => {
  if (nodeClaim === undefined) return false;
  const isEmpty = rescheduleCost(pods.filter(isReschedulable)) <= BASE_COST;
  return isTrue(nodeClaim, 'Drifted') || (isEmpty && isTrue(nodeClaim, 'Consolidatable'));
});

/**
 * Marks nodes that can become empty with a soft taint, so that kube-scheduler fills the remaining nodes first. Nothing is
 * evicted. Nodes whose room is needed again lose the mark.
 */

import { NODEPOOL_LABEL, poolNameOf } from '#api/objects';
import { emptyingSinceMs, isEmptying, worstFirst } from '#engine/disruption';
import type { StateNode } from '#engine/model';
import type { SimulationRunner } from '#engine-worker';
import { after, type Outcome, type ReconcileContext, type Singleton } from '#kube/reconcilers';
import { timestamp, withBoundedConcurrency } from '#lib';
import { MOST_NAMES } from '#observe/history';
import { VOLUNTARY_DISRUPTION_EMPTYING_NODES } from '#observe/metrics';
import type { DisruptionInput } from '#planner';
import type { Deps } from '../deps.ts';
import { publishEmptying } from './disruption-events.ts';
import { setEmptying } from './marks.ts';
import type { Snapshots } from './snapshots.ts';

const INTERVAL_MS = 30_000;
const UNSYNCED_MS = 1000;
/** Minimum time between two changes of a node's mark. */
const DWELL_MS = 2 * 60_000;
/** Maximum number of changed nodes in one interval: one write per second on average. */
const MOST_CHANGES = INTERVAL_MS / 1000;
const AT_ONCE = 5;

/** Returns true if a node should be marked, by provider id. Returns undefined if that is unknown, so the mark stays. */
type Wanted = (providerId: string) => boolean | undefined;

interface SteeringParts {
  readonly snapshots: Pick<Snapshots, 'current'>;
  readonly simulations: Pick<SimulationRunner, 'emptiable'>;
}

export class Steering implements Singleton {
  readonly name = 'disruption.steering';
  readonly singleton = true;
  readonly #deps: Deps;
  readonly #parts: SteeringParts;
  #last: { readonly snapshot: DisruptionInput; readonly wanted: Wanted } | undefined;
  /** Time of the last release by provider id. The time of a mark is in its taint. */
  readonly #releasedMs = new Map<string, number>();

  constructor(deps: Deps, parts: SteeringParts) {
    this.#deps = deps;
    this.#parts = parts;
  }

  async reconcile({ log }: ReconcileContext): Promise<Outcome> {
    const { cluster, metrics } = this.#deps;
    if (!cluster.synced()) return after(UNSYNCED_MS);
    if (cluster.pause.of('disruption')) return after(INTERVAL_MS);
    const wanted = await this.#wanted(log);
    const changes = this.#changes(wanted);
    const marked = changes.filter((node) => !isEmptying(node));
    await withBoundedConcurrency(changes, AT_ONCE, (node) => this.#toggle(node));
    metrics.gauge(VOLUNTARY_DISRUPTION_EMPTYING_NODES).set(cluster.nodes().filter(isEmptying).length);
    if (marked.length > 0) this.#record(changes, marked);
    return after(INTERVAL_MS);
  }

  /** Removes all marks, so that an operator that was uninstalled leaves none. */
  readonly leaving = async (): Promise<void> => {
    await withBoundedConcurrency(this.#deps.cluster.nodes().filter(isEmptying), AT_ONCE, (node) =>
      setEmptying(this.#deps, node, false),
    );
  };

  async #wanted(log: ReconcileContext['log']): Promise<Wanted> {
    if (!this.#deps.settings.steering) return () => false;
    const snapshot = await this.#parts.snapshots.current(log);
    if (this.#last?.snapshot !== snapshot) this.#last = { snapshot, wanted: await this.#wantedIn(snapshot) };
    return this.#last.wanted;
  }

  async #wantedIn({ nodes, pools, simulation }: DisruptionInput): Promise<Wanted> {
    const ranked = worstFirst(nodes, pools, this.#deps.clock.now());
    const isPossible = ranked.some(({ mayEmpty }) => mayEmpty);
    const emptiable = new Set(isPossible ? await this.#parts.simulations.emptiable(simulation, ranked) : []);
    const known = new Set(ranked.map(({ providerId }) => providerId));
    return (id) => (known.has(id) ? emptiable.has(id) : undefined);
  }

  /** Records the nodes that have a mark after the changes, which the cache may not show yet. */
  #record(changes: readonly StateNode[], marked: readonly StateNode[]): void {
    const { clock, cluster, decisions } = this.#deps;
    const changed = new Set(changes.map(({ providerId }) => providerId));
    const kept = cluster.nodes().filter((node) => isEmptying(node) && !changed.has(node.providerId));
    const nodes = [...kept, ...marked];
    decisions?.marked({
      kind: 'emptying',
      at: timestamp(clock.now()),
      nodes: nodes.length,
      nodePools: [...new Set(nodes.flatMap(({ nodeClaim }) => (nodeClaim ? [poolNameOf(nodeClaim)] : [])))].sort(),
      nodeNames: nodes.slice(0, MOST_NAMES).map(({ name }) => name),
    });
  }

  /** Returns the nodes whose mark must change. Releases come first, because their room is needed. */
  #changes(wantedOf: Wanted): readonly StateNode[] {
    const nowMs = this.#deps.clock.now();
    for (const [id, ms] of this.#releasedMs) if (nowMs - ms >= DWELL_MS) this.#releasedMs.delete(id);
    const [released, marked] = [[], []] as [StateNode[], StateNode[]];
    const { cluster } = this.#deps;
    for (const node of cluster.nodes()) {
      const { providerId, nodeClaim, markedForDeletion } = node;
      if (nodeClaim === undefined || node.node === undefined || markedForDeletion) continue;
      const wanted =
        cluster.observation.of(node.labels[NODEPOOL_LABEL] ?? '') === undefined ? wantedOf(providerId) : false;
      if (wanted === undefined || wanted === isEmptying(node)) continue;
      if (wanted && !this.#releasedMs.has(providerId)) marked.push(node);
      if (!wanted && nowMs - (emptyingSinceMs(node) ?? 0) >= DWELL_MS) released.push(node);
    }
    return [...released, ...marked].slice(0, MOST_CHANGES);
  }

  async #toggle(node: StateNode): Promise<void> {
    const wanted = !isEmptying(node);
    await setEmptying(this.#deps, node, wanted);
    publishEmptying(this.#deps.events, node, wanted);
    if (!wanted) this.#releasedMs.set(node.providerId, this.#deps.clock.now());
  }
}

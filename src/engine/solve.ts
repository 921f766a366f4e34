/**
 * Where pending pods go: on nodes that exist or are on their way, or on nodes to buy. A pure function of its arguments:
 * the same snapshot gives the same plan.
 */
import type { Pod } from '../api/kubernetes.ts';
import { effectiveZones, zonesOf } from './effectivezones.ts';
import type { Plan, PlannedClaim, PodRefusal, Quiet, Snapshot, SolveOptions, StateNode } from './model.ts';
import { repacked } from './packing/repack.ts';
import { podKey } from './pods.ts';
import { type Attempt, cheapestOf } from './solver/attempts.ts';
import type { Claim } from './solver/claim.ts';
import { Common } from './solver/common.ts';
import { finalise } from './solver/finalise.ts';
import { Nodes } from './solver/nodes.ts';
import type { PodClass, PodClasses } from './solver/podclass.ts';
import { PodQueue, sortPods } from './solver/queue.ts';
import { Reservations } from './solver/reservations.ts';
import { Scheduler } from './solver/scheduler.ts';
import { templateOf } from './solver/template.ts';
import type { TieBreak } from './solver/ties.ts';
import { refusalOf } from './solver/validate.ts';
import { Topology } from './topology/topology.ts';
import type { Volumes } from './volumes.ts';

const NONE: ReadonlySet<string> = new Set();
const NO_POOLS: PodRefusal = { code: 'no-pools', text: 'no dynamic nodepools found' };

/** How a solve departs from the snapshot that it was prepared for. */
export interface Variation {
  /** Provider ids of nodes that go: as if marked for deletion, they take no pods, but what still runs there counts. */
  readonly leaving?: ReadonlySet<string> | undefined;
  /** The pods to place, instead of the snapshot's pending ones. Those of nodes among them no longer count there. */
  readonly pendingPods?: readonly Pod[] | undefined;
  readonly quiet?: Quiet | undefined;
}

/** Options that each solve of a prepared snapshot can have for itself. */
export type SolveLimits = Pick<
  SolveOptions,
  'deadlineMs' | 'elapsedMs' | 'first' | 'mostClaims' | 'packing' | 'packingWork'
>;

/** A snapshot compiled, to be solved many times with small changes: what follows from it alone is worked out once. */
export interface Prepared {
  /** The plan that `solve` gives for the snapshot with the variation applied. */
  solve(variation?: Variation, limits?: SolveLimits): Plan;
}

/** Where the pending pods of a snapshot go. */
export const solve = (snapshot: Snapshot, options: SolveOptions): Plan => prepare(snapshot, options).solve();

/** Compiles a snapshot for many solves of it. Memory grows with the kinds of pods that the solves bring along. */
export function prepare(snapshot: Snapshot, options: SolveOptions): Prepared {
  if (snapshot.pools.length === 0)
    return { solve: ({ pendingPods = snapshot.pendingPods } = {}) => nothing(pendingPods) };
  const common = new Common(snapshot, options);
  return {
    solve: (variation = {}, limits = options) => solveVariation(common, variation, limits),
  };
}

function solveVariation(common: Common, variation: Variation, limits: SolveLimits): Plan {
  const { snapshot, dimensions, templates, emptyPools, volumes, requestsOf } = common;
  const { leaving = NONE, quiet = snapshot.quiet } = variation;
  const pendingPods = common.withDefaults(variation.pendingPods ?? snapshot.pendingPods);
  const options: SolveOptions = { ...common.options, ...limits };
  const preferences = options.preferencePolicy === 'Respect';
  const strictMinValues = options.minValuesPolicy === 'Strict';
  const classes = common.classesFor(pendingPods);
  const ignored = new Map<string, PodRefusal>();
  const pods = admitted(pendingPods, classes, volumes, ignored);
  const entries = pods.map(({ pod, podClass }) => ({ pod, podClass, requests: requestsOf(pod) }));
  const order = leftOverFirst(sortPods(entries), options.first ?? []);
  const noAmounts = dimensions.amounts({});
  const staying: Iterable<StateNode> = { [Symbol.iterator]: () => nodesWithout(snapshot.nodes, leaving) };
  const leavingAt = common.positionsOf(leaving);

  let zones: Plan['effectiveZones'];

  function attempt(tieBreak: TieBreak): Attempt {
    const refusals = new Map(ignored);
    const topology = new Topology({ base: common.topology, preferences, leaving: leavingAt, pendingPods });
    registerRules(pods, classes, topology);
    if (options.countZones) zones ??= effectiveZones(pods, topology, zonesOf(snapshot));
    const nodes = new Nodes({ table: common.nodes, topology, leaving, quiet });
    const scheduler = new Scheduler({
      classes,
      topology,
      nodes,
      templates: templates.map((pool) => templateOf(pool, staying)),
      noAmounts,
      lowerMinValues: !strictMinValues,
      tieBreak,
      reservations: new Reservations(snapshot.pools, options.reservedMode),
    });
    const notEvaluated = run(scheduler, order, refusals, options);
    const bought = scheduler.claims.all;
    const packed =
      options.packing === 'compatible'
        ? bought
        : repacked(bought, { topology, order, noAmounts, work: options.packingWork });
    const claims = finaliseAll(packed, strictMinValues, refusals);
    return {
      plan: {
        claims,
        placements: nodes.placements,
        refusals,
        notEvaluated,
        emptyPools,
        ...(zones && { effectiveZones: zones }),
      },
      ties: scheduler.ties,
    };
  }

  return cheapestOf(attempt, pods.length, options);
}

/** Gone through only for pools that have limits. */
function* nodesWithout(nodes: readonly StateNode[], leaving: ReadonlySet<string>): Generator<StateNode> {
  for (const node of nodes) if (!leaving.has(node.providerId)) yield node;
}

function nothing(pods: readonly Pod[]): Plan {
  const refusals = new Map(pods.map((pod) => [podKey(pod), NO_POOLS]));
  return { claims: [], placements: [], refusals, notEvaluated: [], emptyPools: [] };
}

/** A pod that takes part. */
interface Entry {
  readonly pod: Pod;
  readonly podClass: PodClass;
}

/** Pods that can take part; the others are refused. */
function admitted(
  pods: readonly Pod[],
  classes: PodClasses,
  volumes: Volumes,
  refusals: Map<string, PodRefusal>,
): readonly Entry[] {
  const verdicts = new Map<PodClass, PodRefusal | undefined>();
  const entries: Entry[] = [];
  for (const pod of pods) {
    const podClass = classes.of(pod);
    if (!verdicts.has(podClass)) verdicts.set(podClass, refusalOf(podClass, volumes));
    const refusal = verdicts.get(podClass);
    if (refusal === undefined) entries.push({ pod, podClass });
    else refusals.set(podKey(pod), refusal);
  }
  return entries;
}

/** Rules of every form that a pod may take, so that groups count from the first pod on. */
function registerRules(entries: readonly Entry[], classes: PodClasses, topology: Topology): void {
  const registered = new Set<PodClass>();
  for (const { podClass } of entries) {
    for (let at: PodClass | undefined = podClass; at && !registered.has(at); at = classes.relaxed(at)) {
      registered.add(at);
      topology.register(at);
    }
  }
}

/** Tries pods until all are placed, a round brings nothing, or time is up. Answers the pods that were never tried. */
function run(
  scheduler: Scheduler,
  order: readonly Entry[],
  refusals: Map<string, PodRefusal>,
  { deadlineMs, elapsedMs, mostClaims = Number.POSITIVE_INFINITY }: SolveOptions,
): readonly string[] {
  const queue = new PodQueue(order);
  for (let entry = queue.pop(); entry !== undefined; entry = queue.pop()) {
    const isLate = deadlineMs !== undefined && elapsedMs !== undefined && elapsedMs() >= deadlineMs;
    if (isLate || scheduler.claims.all.length > mostClaims)
      return [entry, ...queue.rest].map(({ pod }) => podKey(pod)).filter((key) => !refusals.has(key));
    const refusal = scheduler.place(entry.pod, entry.podClass);
    if (refusal === undefined) {
      if (refusals.size > 0) refusals.delete(podKey(entry.pod));
      continue;
    }
    refusals.set(podKey(entry.pod), refusal);
    queue.pushBack(entry);
  }
  return [];
}

/** Pods that an earlier solve had no time for go first, so that a large cluster does not starve them for ever. */
function leftOverFirst<T extends { readonly pod: Pod }>(sorted: readonly T[], first: readonly string[]): readonly T[] {
  if (first.length === 0) return sorted;
  const leftOver = new Set(first);
  const goesFirst = ({ pod }: T): boolean => leftOver.has(podKey(pod));
  return [...sorted.filter(goesFirst), ...sorted.filter((entry) => !goesFirst(entry))];
}

function finaliseAll(
  claims: readonly Claim[],
  strictMinValues: boolean,
  refusals: Map<string, PodRefusal>,
): readonly PlannedClaim[] {
  const planned: PlannedClaim[] = [];
  for (const claim of claims) {
    const final = finalise(claim, { strictMinValues });
    if ('code' in final) for (const pod of claim.pods) refusals.set(podKey(pod), final);
    else planned.push(final);
  }
  return planned;
}

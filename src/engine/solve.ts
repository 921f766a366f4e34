/**
 * Where pending pods go: on nodes that exist or are on their way, or on nodes to buy. A pure function of its arguments:
 * the same snapshot gives the same plan.
 */
import type { Pod } from '../api/kubernetes.ts';
import type { Placement, Plan, PlannedClaim, PodRefusal, Quiet, Snapshot, SolveOptions } from './model.ts';
import { repacked } from './packing/repack.ts';
import { podKey } from './pods.ts';
import { type Attempt, cheapestOf } from './solver/attempts.ts';
import type { Claim } from './solver/claim.ts';
import { Common } from './solver/common.ts';
import { finalise } from './solver/finalise.ts';
import { type ExistingNode, existingNodes } from './solver/node.ts';
import type { PodClass, PodClasses } from './solver/podclass.ts';
import { PodQueue, sortPods } from './solver/queue.ts';
import { Reservations } from './solver/reservations.ts';
import { Scheduler } from './solver/scheduler.ts';
import { templateOf } from './solver/template.ts';
import type { TieBreak } from './solver/ties.ts';
import { refusalOf } from './solver/validate.ts';
import { Topology } from './topology/topology.ts';
import type { Volumes } from './volumes.ts';

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
export type SolveLimits = Pick<SolveOptions, 'deadlineMs' | 'elapsedMs' | 'first' | 'mostClaims' | 'packing'>;

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
    solve: (variation = {}, limits = options) =>
      solveVariation(common, common.withDefaults(varied(snapshot, variation)), limits),
  };
}

function varied(snapshot: Snapshot, { leaving, pendingPods = snapshot.pendingPods, quiet }: Variation): Snapshot {
  const nodes =
    leaving === undefined || leaving.size === 0
      ? snapshot.nodes
      : snapshot.nodes.map((node) => (leaving.has(node.providerId) ? { ...node, markedForDeletion: true } : node));
  return { ...snapshot, nodes, pendingPods, ...(quiet === undefined ? {} : { quiet }) };
}

function solveVariation(common: Common, snapshot: Snapshot, limits: SolveLimits): Plan {
  const { dimensions, daemons, templates, emptyPools, volumes, requestsOf } = common;
  const options: SolveOptions = { ...common.options, ...limits };
  const preferences = options.preferencePolicy === 'Respect';
  const strictMinValues = options.minValuesPolicy === 'Strict';
  const classes = common.classesFor(snapshot.pendingPods);
  const ignored = new Map<string, PodRefusal>();
  const pods = admitted(snapshot.pendingPods, classes, volumes, ignored);
  const order = leftOverFirst(sortPods(pods.map((pod) => ({ pod, requests: requestsOf(pod) }))), options.first ?? []);
  const noAmounts = dimensions.amounts({});

  function attempt(tieBreak: TieBreak): Attempt {
    const refusals = new Map(ignored);
    const topology = new Topology(snapshot, { preferences });
    registerRules(pods, classes, topology);
    const nodes = existingNodes(snapshot.nodes, { daemons, dimensions, volumes });
    const scheduler = new Scheduler({
      classes,
      topology,
      nodes,
      templates: templates.map((pool) => templateOf(pool, snapshot.nodes)),
      noAmounts,
      lowerMinValues: !strictMinValues,
      quiet: snapshot.quiet,
      tieBreak,
      reservations: new Reservations(snapshot.pools, options.reservedMode),
    });
    const notEvaluated = run(scheduler, order, refusals, options);
    const bought = scheduler.claims.all;
    const packed = options.packing === 'compatible' ? bought : repacked(bought, { topology, order, noAmounts });
    const claims = finaliseAll(packed, strictMinValues, refusals);
    return {
      plan: { claims, placements: placementsOn(nodes), refusals, notEvaluated, emptyPools },
      ties: scheduler.ties,
    };
  }

  return cheapestOf(attempt, pods.length, options);
}

function nothing(pods: readonly Pod[]): Plan {
  const refusals = new Map(pods.map((pod) => [podKey(pod), NO_POOLS]));
  return { claims: [], placements: [], refusals, notEvaluated: [], emptyPools: [] };
}

/** Pods that can take part; the others are refused. */
function admitted(
  pods: readonly Pod[],
  classes: PodClasses,
  volumes: Volumes,
  refusals: Map<string, PodRefusal>,
): readonly Pod[] {
  const verdicts = new Map<PodClass, PodRefusal | undefined>();
  return pods.filter((pod) => {
    const podClass = classes.of(pod);
    if (!verdicts.has(podClass)) verdicts.set(podClass, refusalOf(podClass, volumes));
    const refusal = verdicts.get(podClass);
    if (refusal !== undefined) refusals.set(podKey(pod), refusal);
    return refusal === undefined;
  });
}

/** Rules of every form that a pod may take, so that groups count from the first pod on. */
function registerRules(pods: readonly Pod[], classes: PodClasses, topology: Topology): void {
  const registered = new Set<PodClass>();
  for (const pod of pods) {
    for (let at: PodClass | undefined = classes.of(pod); at && !registered.has(at); at = classes.relaxed(at)) {
      registered.add(at);
      topology.register(at);
    }
  }
}

/** Tries pods until all are placed, a round brings nothing, or time is up. Answers the pods that were never tried. */
function run(
  scheduler: Scheduler,
  sorted: readonly { readonly pod: Pod }[],
  refusals: Map<string, PodRefusal>,
  { deadlineMs, elapsedMs, mostClaims = Number.POSITIVE_INFINITY }: SolveOptions,
): readonly string[] {
  const queue = new PodQueue(sorted.map(({ pod }) => pod));
  for (let pod = queue.pop(); pod !== undefined; pod = queue.pop()) {
    const isLate = deadlineMs !== undefined && elapsedMs !== undefined && elapsedMs() >= deadlineMs;
    if (isLate || scheduler.claims.all.length > mostClaims) {
      return [podKey(pod), ...queue.rest.map(podKey)].filter((key) => !refusals.has(key));
    }
    const refusal = scheduler.place(pod);
    if (refusal === undefined) {
      refusals.delete(podKey(pod));
      continue;
    }
    refusals.set(podKey(pod), refusal);
    queue.pushBack(pod);
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

function placementsOn(nodes: readonly ExistingNode[]): readonly Placement[] {
  return nodes
    .filter(({ pods }) => pods.length > 0)
    .map(({ node, pods }) => ({ node: node.name, providerId: node.providerId, pods: pods.map(podKey) }));
}

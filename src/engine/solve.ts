/**
 * Places pending pods on existing nodes, launching nodes, or new nodes. A pure function of its arguments: the same snapshot
 * gives the same plan.
 */

import { packingPolicy } from '#api/values';
import { messageOf } from '#lib';
import { withCauses } from './causes/plan-causes.ts';
import { comingPods, withoutComing } from './coming-pods.ts';
import type { ClaimVariation } from './dra/claim-states.ts';
import { effectiveZones, zonesOf } from './effective-zones.ts';
import { type Gang, gangsAmong, keysOf } from './gangs/gang.ts';
import { domainsFor, withDomain } from './gangs/gang-domains.ts';
import { type GangTrial, knownTrial, planWithGangs, trialsById } from './gangs/gang-plan.ts';
import { type GangEntries, GangTrials } from './gangs/gang-trials.ts';
import type { EnginePod } from './input.ts';
import type { EngineNode, EngineSnapshot, Plan, PodRefusal, Quiet, SolveOptions, UnpackedPool } from './model.ts';
import { expectedUsdPerHour } from './packing/binding-cost.ts';
import { CheapestPools, haveEqualWeights } from './packing/cheapest-pools.ts';
import { withCommitments } from './packing/commitments.ts';
import { repacked } from './packing/repack.ts';
import { intake, withCut } from './pod-bounds.ts';
import { podKey } from './pods.ts';
import { stayingAmong } from './pool-usage.ts';
import { type PreferenceUse, pricedPlan, soften } from './preferences/priced-plan.ts';
import {
  admittedPods,
  type Entry,
  type RegistrationParts,
  refusalOrFailure,
  registeredPods,
} from './solver/admission.ts';
import { type Attempt, type Choices, cheapestOf } from './solver/attempts.ts';
import type { Claim } from './solver/claim.ts';
import { ClaimUnits } from './solver/claim-units.ts';
import { CompiledSnapshot } from './solver/compiled-snapshot.ts';
import { DevicePlacement } from './solver/device-placement.ts';
import { type Amounts, sum } from './solver/dimensions.ts';
import { emptiable, type RankedNode } from './solver/emptiable.ts';
import {
  afterDaemons,
  gangsLast,
  heavyLast,
  leftOverFirst,
  onDemandLast,
  putBookedFirst,
} from './solver/entry-order.ts';
import { withFewerClaims } from './solver/fewer-claims.ts';
import { finaliseAll } from './solver/finalise.ts';
import { PoolLimits, SharedLimits } from './solver/limits.ts';
import { noPools } from './solver/misfits.ts';
import { NamespaceWork } from './solver/namespace-work.ts';
import { Nodes } from './solver/nodes.ts';
import { Pace } from './solver/pace.ts';
import type { PodClasses } from './solver/pod-class.ts';
import { BY_NAME, type PoolPreference } from './solver/pool-choice.ts';
import { priceFloor } from './solver/price-floor.ts';
import { PodQueue, sortPods, withFirst } from './solver/queue.ts';
import { ReservedUnits } from './solver/reservations.ts';
import { Scheduler, type SchedulerParts } from './solver/scheduler.ts';
import { type Template, templateOf } from './solver/template.ts';
import { cheapestFirst, type TieBreak } from './solver/ties.ts';
import { SpotUse } from './spot-use.ts';
import { Topology } from './topology/topology.ts';
import { WithheldLaunches } from './withheld-launches.ts';
import { balanceZones } from './zone-balance.ts';

const NONE: ReadonlySet<string> = new Set();
/** Relative rounding error between equal sums of prices. */
const ROUNDING = 1e-9;

/** Differences between a solve and its prepared snapshot. */
export interface Variation {
  /**
   * Provider ids of nodes that will be removed. Like nodes that are marked for deletion, they accept no pods, but the pods on
   * them still count.
   */
  readonly leaving?: ReadonlySet<string> | undefined;
  /** Pods to place instead of the pending pods of the snapshot. Pods that run on nodes no longer count there. */
  readonly pendingPods?: readonly EnginePod[] | undefined;
  readonly quiet?: Quiet | undefined;
  /** Gangs of pending pods in the order of trial. Their pods are tried after all other pods. */
  readonly gangs?: readonly Gang[] | undefined;
  /** Namespaced names of pods that need on-demand capacity. */
  readonly onDemand?: ReadonlySet<string> | undefined;
  /** Default: all preferences. */
  readonly preferences?: PreferenceUse | undefined;
}

/** Options that can differ between solves of a prepared snapshot. */
type SolveLimits = Pick<
  SolveOptions,
  | 'deadlineMs'
  | 'placementMs'
  | 'elapsedMs'
  | 'first'
  | 'mostClaims'
  | 'mostLaunches'
  | 'explain'
  | 'packing'
  | 'packingWork'
  | 'packingLimit'
>;

/** Compiled snapshot for many solves with small changes. Data that depends only on the snapshot is computed once. */
export interface Prepared {
  /** Returns the plan of `solve` for this snapshot with the variation applied. */
  solve(variation?: Variation, limits?: SolveLimits): Plan;
  /** Returns the provider ids of nodes whose pods fit elsewhere. @param worstFirst all nodes that the operator manages */
  emptiable(worstFirst: readonly RankedNode[]): readonly string[];
}

/** Returns the plan for the pending pods of a snapshot. */
export const solve = (snapshot: EngineSnapshot, options: SolveOptions): Plan => prepare(snapshot, options).solve();

/** Compiles a snapshot for many solves. Memory use grows with the number of kinds of pods in these solves. */
export function prepare(snapshot: EngineSnapshot, options: SolveOptions): Prepared {
  if (snapshot.pools.length === 0)
    return {
      solve: ({ pendingPods = snapshot.pendingPods } = {}) => nothing(pendingPods, snapshot, options),
      emptiable: () => [],
    };
  const common = new CompiledSnapshot(snapshot, options);
  const isSimulation = options.reservedMode === 'fallback';
  let trials: ReadonlyMap<string, GangTrial> | undefined;
  const solveOnce = (variation: Variation, limits: SolveLimits): Plan => {
    const { pendingPods = snapshot.pendingPods } = variation;
    const gangs = gangsAmong(pendingPods, snapshot);
    if (gangs.length === 0) return new VariationSolve(common, variation, limits).plan();
    const tryGangs = (pods: readonly EnginePod[], tried: readonly Gang[], basis: Variation): readonly GangTrial[] =>
      new VariationSolve(common, { ...basis, pendingPods: pods, gangs: tried }, limits).tryGangs();
    // simulations of disruption must be quick, and the room of pending gangs is almost the same in all of them
    if (isSimulation) trials ??= trialsById(snapshot, (pods, tried) => tryGangs(pods, tried, {}));
    return planWithGangs({
      pods: pendingPods,
      gangs,
      isSimulation,
      tryGangs: (pods, tried) =>
        trials === undefined ? tryGangs(pods, tried, variation) : tried.map((gang) => knownTrial(gang, trials)),
      solve: (pods, placed) =>
        new VariationSolve(common, { ...variation, pendingPods: pods, gangs: placed }, limits).plan(),
    });
  };
  const spotUse = SpotUse.of(snapshot, () => common.launchedNodes);
  const solvePriced = (variation: Variation, limits: SolveLimits): Plan => {
    if (options.preferencePolicy !== 'Priced') return solveOnce(variation, limits);
    const { mostLaunches = Number.POSITIVE_INFINITY } = options;
    // plans are compared as a whole
    const whole = { ...limits, mostLaunches: Number.POSITIVE_INFINITY };
    const plan = pricedPlan({
      common,
      pods: variation.pendingPods ?? snapshot.pendingPods,
      isSimulation,
      options: { ...options, ...limits },
      solve: (preferences, explain = false) =>
        solveOnce({ ...variation, preferences }, { ...whole, explain: explain && options.explain === true }),
    });
    return withFewerClaims(plan, mostLaunches);
  };
  return {
    solve: (variation = {}, limits = options) => {
      const rules = spotUse?.rulesFor(variation.pendingPods ?? snapshot.pendingPods);
      if (rules === undefined) return solvePriced(variation, limits);
      return rules.report(solvePriced({ ...variation, pendingPods: rules.pods, onDemand: rules.onDemand }, limits));
    },
    emptiable: (worstFirst) => emptiable(common, worstFirst),
  };
}

/** State before the first pod is tried. */
interface Start extends Pick<SchedulerParts, 'topology' | 'nodes' | 'devices'> {
  readonly scheduler: Scheduler;
  readonly work: RegistrationParts;
  readonly placeable: readonly Entry[];
  /** Placeable pods without the pods on nodes that were launched for them. */
  readonly open: readonly Entry[];
  readonly refusals: Map<string, PodRefusal>;
}

/** One solve of a prepared snapshot, with the shared data of its attempts. */
class VariationSolve {
  readonly #common: CompiledSnapshot;
  readonly #options: SolveOptions;
  readonly #leaving: ReadonlySet<string>;
  readonly #leavingAt: ReadonlySet<number>;
  readonly #quiet: Quiet | undefined;
  readonly #pendingPods: readonly EnginePod[];
  readonly #leftOver: readonly string[];
  readonly #classes: PodClasses;
  /** Pods that were refused before any attempt. */
  readonly #refused: ReadonlyMap<string, PodRefusal>;
  readonly #pods: readonly Entry[];
  readonly #order: readonly Entry[];
  /** Pods that StatefulSets will create soon. They only make new nodes for other pods larger. */
  readonly #coming: readonly EnginePod[];
  readonly #pace: Pace;
  /** Work of all attempts. */
  readonly #work = new NamespaceWork();
  readonly #noAmounts: Amounts;
  /** Nodes that count toward the limits of their NodePool. */
  readonly #limitedNodes: Iterable<EngineNode>;
  #zones: Plan['effectiveZones'];
  /** Claims of devices while the pods move, for all attempts. */
  readonly #claimStates: ClaimVariation | undefined;
  readonly #units: ClaimUnits;
  readonly #gangs: readonly Gang[];
  /** Position of the gang by namespaced name of the pod. */
  readonly #gangOf: ReadonlyMap<string, number>;
  /** Pods of gangs that fit into the limits only with the smallest types. */
  readonly #smallest: Set<string>;
  /** Pods that need on-demand capacity. Empty in simulations of disruption, which need few nodes. */
  readonly #onDemand: ReadonlySet<string>;
  /** NodePools that the current attempt did not pack, by name. */
  readonly #unpacked = new Map<string | undefined, UnpackedPool>();

  constructor(common: CompiledSnapshot, variation: Variation, limits: SolveLimits) {
    const { snapshot, volumes, devices } = common;
    const { leaving = NONE, quiet = snapshot.quiet, preferences = 'all' } = variation;
    const options: SolveOptions = { ...common.options, ...limits };
    const taken = variation.pendingPods === undefined ? common.intake : intake(variation.pendingPods, options.first);
    const pendingPods = common.withDefaults(taken.pods).map(soften(preferences));
    const classes = common.classesFor(pendingPods);
    const refused = new Map<string, PodRefusal>(taken.refusals);
    const pods = admittedPods(pendingPods, { classes, volumes, devices, working: options.working }, refused);
    const entries = pods.map((entry) => ({ ...entry, requests: entry.podClass.requests }));
    this.#common = common;
    this.#options = options;
    this.#leaving = leaving;
    this.#quiet = quiet;
    this.#pendingPods = pendingPods;
    this.#coming = comingPods(snapshot, pendingPods, poolRequirements(common));
    this.#leftOver = taken.leftOver;
    this.#classes = classes;
    this.#refused = refused;
    this.#pods = pods;
    const isClaiming = pods.some(({ podClass }) => podClass.devices !== undefined);
    this.#claimStates = isClaiming ? devices?.whileMoving(pendingPods) : undefined;
    const sorted = sortPods(entries);
    this.#units = new ClaimUnits(sorted, this.#claimStates);
    this.#gangs = variation.gangs ?? [];
    this.#gangOf = new Map(this.#gangs.flatMap((gang, at) => keysOf(gang).map((key) => [key, at] as const)));
    this.#smallest = new Set(this.#gangs.filter(({ isSmall }) => isSmall).flatMap(keysOf));
    const ordered = heavyLast(leftOverFirst(this.#units.ordered(sorted), options.first ?? []));
    this.#onDemand = options.reservedMode === 'fallback' ? NONE : (variation.onDemand ?? NONE);
    this.#order = gangsLast(onDemandLast(putBookedFirst(ordered), this.#onDemand), this.#gangOf);
    this.#pace = new Pace(options);
    this.#noAmounts = common.dimensions.amounts({});
    this.#leavingAt = common.positionsOf(leaving);
    this.#limitedNodes = options.freesLimits ? stayingAmong(common.limitedNodes, leaving) : common.limitedNodes;
  }

  plan(): Plan {
    const pods = this.#order.at(-1)?.isHeavy ? Number.POSITIVE_INFINITY : this.#pods.length;
    const rivals = this.#rivals();
    const preferenceOf = ({ prefersCheapPools }: Choices) => (prefersCheapPools ? (rivals ?? BY_NAME) : BY_NAME);
    const found = cheapestOf(
      (choices) => this.#attempt(choices.tieBreak, preferenceOf(choices), rivals === undefined ? 1 : 1 / 2),
      { pods, hasRivals: rivals !== undefined },
      this.#options,
    );
    const cheapest = withoutComing(found, this.#coming);
    const plan = this.#balanced(withFewerClaims(cheapest, this.#options.mostLaunches ?? Number.POSITIVE_INFINITY));
    if (!this.#options.explain || plan.refusals.size === 0) return plan;
    const input = { ...this.#common.snapshot, nodes: [...this.#limitedNodes], claims: cheapest.claims };
    return { ...plan, refusals: withCauses(plan.refusals, this.#pendingPods, input, this.#pace.startStep()) };
  }

  #balanced(plan: Plan): Plan {
    if (plan.claims.length === 0) return plan;
    const { nodes, pools } = this.#common.snapshot;
    const leaving = [...this.#leavingAt].flatMap((at) => nodes[at] ?? []);
    return { ...plan, claims: balanceZones(plan.claims, { pools, nodes, leaving }) };
  }

  /** Returns the prices of NodePools of equal weight if they differ for a pod. */
  #rivals(): PoolPreference | undefined {
    const { packing, reservedMode } = this.#options;
    const { templates } = this.#common;
    // simulations of disruption must be quick
    if (!packingPolicy(packing).packsByPrice || reservedMode === 'fallback' || !haveEqualWeights(templates))
      return undefined;
    const demand = this.#pods.reduce((total, { podClass }) => sum(total, podClass.amounts), this.#noAmounts);
    const cheapest = new CheapestPools(templates, demand);
    return this.#pods.some(({ podClass }) => cheapest.of(podClass) !== undefined) ? cheapest : undefined;
  }

  /**
   * Tries the gangs one after the other, after all other pods. A gang without room leaves no trace, so the next gang finds the
   * same room.
   */
  tryGangs(): readonly GangTrial[] {
    const start = this.#start(cheapestFirst, BY_NAME);
    const { scheduler, refusals, open } = start;
    const alternatives = new Map(this.#gangs.map((gang) => [gang, this.#gangEntries(gang, start)]));
    const ordinary = open.filter(({ pod }) => !this.#gangOf.has(podKey(pod)));
    run(scheduler, ordinary, refusals, { pace: this.#pace, work: this.#work });
    const isLate = this.#pace.startStep();
    const trials = new GangTrials({
      scheduler,
      smallest: this.#smallest,
      isLate,
      place: ({ pod, podClass }) => refusalOrFailure('placed', () => scheduler.place(pod, podClass, isLate)),
      explained: (pod, refusal) => this.#explained(pod, refusal, scheduler),
    });
    return this.#gangs.map((gang) => trials.try(gang, alternatives.get(gang) ?? []));
  }

  /** Returns the pods of a gang in each of its domains. Without a topology key, there is one element. */
  #gangEntries(gang: Gang, { open, placeable, work }: Start): readonly GangEntries[] {
    const { volumes, devices } = this.#common;
    const { topologyKey, pods } = gang;
    const waiting = new Set(open.map(({ pod }) => podKey(pod)));
    const present = new Set(placeable.map(({ pod }) => podKey(pod)));
    const launched = pods.filter((pod) => present.has(podKey(pod)) && !waiting.has(podKey(pod))).length;
    const refusal = pods.map((pod) => this.#refused.get(podKey(pod))).find((each) => each !== undefined);
    const entriesFor = (all: readonly EnginePod[]): GangEntries => {
      const refusals = new Map<string, PodRefusal>();
      const tried = this.#common.withDefaults(all.filter((pod) => waiting.has(podKey(pod))));
      const admitted = admittedPods(tried, { ...work, volumes, devices }, refusals);
      const sorted = sortPods(admitted.map((entry) => ({ ...entry, requests: entry.podClass.requests })));
      return { pods: all, entries: registeredPods(sorted, work, refusals), launched, refusal };
    };
    if (topologyKey === undefined) return [entriesFor(pods)];
    return domainsFor(gang, this.#common.topology).map((domain) =>
      entriesFor(pods.map((pod) => withDomain(pod, topologyKey, domain))),
    );
  }

  /** Returns the refusal with its cause, if causes are requested. Claims of the scheduler count against limits. */
  #explained(pod: EnginePod, refusal: PodRefusal, { claims }: Scheduler): PodRefusal {
    if (!this.#options.explain) return refusal;
    const planned = finaliseAll(claims.all, this.#strictMinValues, new Map());
    const input = { ...this.#common.snapshot, nodes: [...this.#limitedNodes], claims: planned };
    return withCauses(new Map([[podKey(pod), refusal]]), [pod], input, () => false).get(podKey(pod)) ?? refusal;
  }

  /** Prepares a scheduler, and places the pods with a launched node. */
  #start(tieBreak: TieBreak, preference: PoolPreference): Start {
    const refusals = new Map(this.#refused);
    const shared = this.#newSharedLimits();
    const templates = this.#common.templates.map((pool) => templateOf(pool, this.#limitedNodes, shared));
    const topology = this.#newTopology(templates);
    const work = { classes: this.#classes, topology, working: this.#options.working };
    // in the order of placement, so that the order of the snapshot does not matter
    const placeable = afterDaemons(registeredPods(this.#order, work, refusals), topology);
    if (this.#options.countZones)
      this.#zones ??= effectiveZones(placeable, topology, zonesOf(this.#common.snapshot), this.#pace.startStep());
    const devices = this.#newDevices();
    const launched = this.#common.launchedNodes;
    const parts = { table: this.#common.nodes, topology, leaving: this.#leaving, quiet: this.#quiet, launched };
    const nodes = new Nodes({ ...parts, devices });
    const scheduler = this.#newScheduler({ topology, nodes, tieBreak, preference, devices, templates });
    const { selectedNodes } = this.#common;
    const selectedFirst = selectedNodes.size === 0 ? placeable : withFirst(placeable, selectedNodes);
    const open = launched.size === 0 ? placeable : withoutPodsOnLaunched(scheduler, selectedFirst, launched);
    return { scheduler, nodes, topology, devices, work, placeable, open, refusals };
  }

  #attempt(tieBreak: TieBreak, preference: PoolPreference, workShare: number): Attempt {
    const { emptyPools, leftOuts } = this.#common;
    const { scheduler, nodes, topology, devices, work, open, refusals } = this.#start(tieBreak, preference);
    const turns = { pace: this.#pace, work: this.#work };
    const notEvaluated = run(scheduler, open, refusals, turns);
    if (scheduler.claims.all.length > 0) run(scheduler, this.#comingEntries(work), new Map(), turns);
    this.#unpacked.clear();
    const packed = this.#packed(scheduler.claims.all, topology, workShare);
    const claims = finaliseAll(packed, this.#strictMinValues, refusals);
    return {
      plan: {
        claims,
        placements: nodes.placements,
        refusals,
        notEvaluated: [...notEvaluated, ...this.#leftOver],
        emptyPools,
        ...(leftOuts.all.length > 0 && { leftOut: leftOuts.all }),
        ...(this.#zones && { effectiveZones: this.#zones }),
        ...(devices !== undefined && { allocation: devices.work }),
        ...(this.#unpacked.size > 0 && { unpacked: [...this.#unpacked.values()] }),
      },
      ties: scheduler.ties,
    };
  }

  /** Returns the entries of coming pods. They follow all other pods, so that they take no place from them. */
  #comingEntries(work: RegistrationParts): readonly Entry[] {
    if (this.#coming.length === 0) return [];
    const { volumes, devices } = this.#common;
    const refused = new Map<string, PodRefusal>();
    const admitted = admittedPods(this.#coming, { ...work, volumes, devices }, refused);
    const sorted = sortPods(admitted.map((entry) => ({ ...entry, requests: entry.podClass.requests })));
    return registeredPods(sorted, work, refused);
  }

  get #strictMinValues(): boolean {
    return this.#options.minValuesPolicy === 'Strict';
  }

  #newTopology(templates: readonly Template[]): Topology {
    return new Topology({
      base: this.#common.topology,
      leaving: this.#leavingAt,
      pendingPods: this.#pendingPods,
      closedPools: new Set(templates.filter(({ limits }) => 'code' in limits.allowed).map(({ name }) => name)),
    });
  }

  #newDevices(): DevicePlacement | undefined {
    const { devices: world, daemons } = this.#common;
    const variation = this.#claimStates;
    if (world === undefined || variation === undefined) return undefined;
    return new DevicePlacement({ world, daemons, variation, elapsedMs: this.#options.elapsedMs, work: this.#work });
  }

  #newScheduler(
    parts: Pick<SchedulerParts, 'topology' | 'nodes' | 'tieBreak' | 'preference' | 'devices' | 'templates'>,
  ): Scheduler {
    const { snapshot, idlePools, claimDaemons } = this.#common;
    return new Scheduler({
      ...parts,
      daemons: claimDaemons,
      classes: this.#classes,
      noAmounts: this.#noAmounts,
      lowerMinValues: !this.#strictMinValues,
      reservations: new ReservedUnits(snapshot.pools, this.#options.reservedMode),
      idlePools,
      units: this.#units,
      findsCauses: this.#options.explain === true,
      withheld: new WithheldLaunches(
        snapshot.withheld,
        this.#gangOf,
        parts.templates.map(({ name }) => name),
      ),
      smallest: this.#smallest,
      onDemand: this.#onDemand,
    });
  }

  /** Returns true if no packing of the pods can be within the limit. */
  #areTooDear(bought: readonly Claim[]): boolean {
    const { packingLimit: limit, reservedMode } = this.#options;
    // the cheapest of several attempts is used, so all attempts would have to exceed the limit
    if (limit === undefined || reservedMode !== 'fallback' || this.#common.committedUse !== undefined) return false;
    // a claim that finally fails because of `minValues` would cost 0
    if (bought.some(({ state }) => state.shape.hasMinValues)) return false;
    return priceFloor(bought, this.#common.dimensions, limit.avoided) > limit.usdPerHour * (1 + ROUNDING);
  }

  /** Returns true if kube-scheduler is expected to leave so many pods without room that the packed claims cost more. */
  #costMoreAfterBinding(packed: readonly Claim[], bought: readonly Claim[]): boolean {
    if (packed.length < 2) return false;
    const { dimensions } = this.#common;
    const [own, other] = [expectedUsdPerHour(packed, dimensions), expectedUsdPerHour(bought, dimensions)];
    return own !== undefined && other !== undefined && own > other * (1 + ROUNDING);
  }

  #newSharedLimits(): SharedLimits {
    return new SharedLimits(this.#common.snapshot.ceilings ?? []);
  }

  /** NodePools are packed one after the other, so together they can exceed a ceiling that each of them respects. */
  #exceedCeilings(claims: readonly Claim[]): boolean {
    const shared = this.#newSharedLimits();
    if (shared.isUnlimited) return false;
    for (const { state } of claims) new PoolLimits(state.template, [], shared).spend(state.choice);
    return shared.isExceeded;
  }

  /** Returns the packed claims. Packing only saves money, so an unexpected error must not prevent launches for pending pods. */
  #packed(bought: readonly Claim[], topology: Topology, workShare: number): readonly Claim[] {
    if (!packingPolicy(this.#options.packing).packsByPrice || this.#areTooDear(bought)) return bought;
    const parts = {
      topology,
      order: this.#order,
      noAmounts: this.#noAmounts,
      work: this.#options.packingWork,
      workShare,
      usdLimit: this.#options.packingLimit?.usdPerHour,
      // simulations of disruption must be quick
      isThorough: this.#options.reservedMode !== 'fallback',
      costMore: this.#options.afterBinding ? this.#costMoreAfterBinding.bind(this) : undefined,
      isLate: this.#pace.startStep(),
      onUnpacked: (pool: UnpackedPool) => void this.#unpacked.set(pool.nodePool, pool),
    };
    try {
      const packed = repacked(bought, parts);
      const ledger = this.#common.committedUse?.leftWithout(this.#leaving);
      const found = ledger === undefined ? packed : withCommitments(packed, bought, { ledger, parts });
      return this.#exceedCeilings(found) ? bought : found;
    } catch (error) {
      this.#unpacked.set(undefined, { reason: 'error', text: messageOf(error) });
      return bought;
    }
  }
}

const poolRequirements = ({ templates }: CompiledSnapshot) => templates.map(({ root }) => root.requirements);

function nothing(pods: readonly EnginePod[], snapshot: EngineSnapshot, options: SolveOptions): Plan {
  const refusal = noPools(snapshot.idlePools ?? []);
  const refusals = new Map(pods.map((pod) => [podKey(pod), refusal]));
  const shown = options.explain ? withCauses(refusals, pods, snapshot, () => false) : refusals;
  return { claims: [], placements: [], refusals: shown, notEvaluated: [], emptyPools: [] };
}

/**
 * Places pods on the nodes that were launched for them, before other pods take the room of these nodes. Otherwise, a solve during
 * a launch would pack the same pods again and could need more nodes. Returns the other pods.
 */
const withoutPodsOnLaunched = (
  scheduler: Scheduler,
  entries: readonly Entry[],
  launched: ReadonlyMap<string, string>,
): readonly Entry[] =>
  entries.filter(
    ({ pod, podClass, isHeavy }) =>
      isHeavy || !launched.has(pod.metadata.uid ?? '') || !scheduler.placeOnLaunched(pod, podClass),
  );

interface RunParts {
  readonly pace: Pace;
  readonly work: NamespaceWork;
}

/**
 * Tries pods until all are placed, a round makes no progress, or the time is over. If a namespace uses its share of the time, its
 * further pods follow in the next round. Returns the pods that were never tried.
 */
function run(
  scheduler: Scheduler,
  order: readonly Entry[],
  refusals: Map<string, PodRefusal>,
  parts: RunParts,
): readonly string[] {
  const untried: Entry[] = [];
  for (let entries = order; entries.length > 0; ) {
    const { skipped, postponed, refused, isOver } = runRound(scheduler, entries, refusals, parts);
    untried.push(...skipped);
    if (isOver) untried.push(...postponed, ...refused);
    entries = isOver || postponed.length === 0 ? [] : [...postponed, ...refused];
  }
  return untried.map(({ pod }) => podKey(pod)).filter((key) => !refusals.has(key));
}

interface Round {
  /** Pods that are not tried again in this solve. */
  readonly skipped: readonly Entry[];
  /** Pods whose namespace has used its share of the time. */
  readonly postponed: readonly Entry[];
  /** Pods that found no place, or that follow the end of the time. */
  readonly refused: readonly Entry[];
  readonly isOver: boolean;
}

function runRound(
  scheduler: Scheduler,
  entries: readonly Entry[],
  refusals: Map<string, PodRefusal>,
  { pace, work }: RunParts,
): Round {
  const queue = new PodQueue(entries);
  const [skipped, postponed]: [Entry[], Entry[]] = [[], []];
  const endOf = (entry: Entry): Round => ({ skipped, postponed, refused: [entry, ...queue.rest], isOver: true });
  pace.startRound(entries.map(({ pod }) => pod));
  for (let entry = queue.pop(); entry !== undefined; entry = queue.pop()) {
    const { pod, podClass } = entry;
    const isSpent = podClass.devices !== undefined && work.isSpentFor(pod);
    const turn = isSpent ? 'skip' : pace.turnOf(pod, entry.isHeavy);
    const isOver = turn === 'stop' || pace.hasEnough(scheduler.claims.all.length);
    const outcome = turn === 'try' && !isOver ? tryPod(scheduler, entry, refusals, pace) : turn;
    if (isOver || outcome === 'stop') return endOf(entry);
    if (outcome === 'refused') queue.pushBack(entry);
    else if (outcome === 'skip') skipped.push(entry);
    else if (outcome === 'postpone') postponed.push(entry);
  }
  return { skipped, postponed, refused: queue.rest, isOver: false };
}

/** Places or refuses a pod. If there is no time for all forms of the pod, skips a heavy pod and stops at another pod. */
function tryPod(
  scheduler: Scheduler,
  { pod, podClass, isHeavy }: Entry,
  refusals: Map<string, PodRefusal>,
  pace: Pace,
): 'done' | 'refused' | 'skip' | 'stop' {
  const refusal = refusalOrFailure('placed', () => scheduler.place(pod, podClass, pace.isLateForPod));
  if (refusal === undefined) {
    if (refusals.size > 0) refusals.delete(podKey(pod));
    return 'done';
  }
  if (refusal !== 'late') {
    refusals.set(podKey(pod), withCut(refusal, pod));
    return 'refused';
  }
  if (!pace.hasHadItsShare) return isHeavy ? 'skip' : 'stop';
  // not tried again in this solve
  refusals.set(podKey(pod), pace.tooSlow);
  return 'done';
}

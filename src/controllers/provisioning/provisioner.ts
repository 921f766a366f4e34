/** The loop that launches nodes for pending pods. */

import { isTrue, type NodeClaim, type Pod } from '#api/objects';
import { formatDuration } from '#api/values';
import { preferencesText, zonesText } from '#engine/explanations';
import {
  isScheduled,
  type Plan,
  type PlannedClaim,
  type PodRefusal,
  type PoolInput,
  podKey,
  type Snapshot,
  type SolveOptions,
} from '#engine/model';
import { requestTriedBy, solve, type WithheldLaunch } from '#engine/solve';
import type { Solver } from '#engine-worker';
import { type Outcome, type ReconcileContext, type Singleton, settled } from '#kube/reconcilers';
import { defined, messageOf, withBoundedConcurrency } from '#lib';
import { monotonicMs, type Timepiece } from '#lib/clock';
import { type Logger, silent } from '#observe/logger';
import { NODECLAIMS_SECOND_ROUND } from '#observe/metrics';
import {
  activePools,
  idlePools,
  launchOptions,
  launchSnapshot,
  someAwaitReadiness,
  type Workload,
  workloadOf,
} from '#planner';
import { type PodTiming, wallTimeOf } from '#state';
import { recordBuffers, recordVirtualPods } from '../capacitybuffer/resolution.ts';
import { createClaim } from '../claims.ts';
import type { Deps } from '../deps.ts';
import { RefusalLog } from '../log/refusals.ts';
import { nodeClassesOf } from '../node-classes.ts';
import { publishNominated } from '../nomination.ts';
import type { ProvisioningRequests } from '../provisioningrequest/requests.ts';
import { firstFew } from '../text.ts';
import type { TracedDecision } from '../traces/decision.ts';
import { CheckedRefusals } from './checked-refusals.ts';
import type { LaunchBudget } from './launch-budget.ts';
import type { PodVerdicts } from './pod-verdicts.ts';
import {
  isWithheld,
  type ProvisioningMeasures,
  provisioningMeasures,
  publishHeld,
  publishRefusal,
  recordRefusals,
  recordResults,
  refuseAll,
  type Solved,
} from './results.ts';
import { logUnready, readLaunchPools } from './solve-input.ts';
import type { PodBatcher } from './triggers.ts';
import { UnboundPods } from './unbound-pods.ts';

/** Time limit of one solve. The run uses the result up to this limit. */
const DEADLINE_MS = 60_000;
/**
 * Time in which one solve tries pods. The next run starts with the remaining pods. Pods that are created during a solve wait for
 * its end, so the pods of one namespace must not use the whole deadline.
 */
const PLACEMENT_MS = 6_000;
/** Short, because pods wait during the back-off: several failures must not add up to minutes. */
const BACK_OFF = { baseMs: 100, maxMs: 10_000 };
const NO_POOLS = 'no dynamic nodepools found';

interface ProvisionerParts {
  readonly batcher: PodBatcher;
  readonly solver: Solver;
  readonly launches: LaunchBudget;
  readonly verdicts: PodVerdicts;
  /** Undefined if the feature is disabled. */
  readonly requests?: ProvisioningRequests | undefined;
}

/** Pods that a run must place. */
interface Run {
  readonly workload: Workload;
  /** Pods of the workload, including virtual pods. */
  readonly all: readonly Pod[];
  readonly withheld: readonly WithheldLaunch[];
}

export class Provisioner implements Singleton {
  readonly name = 'provisioner';
  readonly singleton = true;
  readonly backOff = BACK_OFF;
  readonly #deps: Deps;
  readonly #batcher: PodBatcher;
  readonly #solver: Solver;
  readonly #launches: LaunchBudget;
  readonly #verdicts: PodVerdicts;
  readonly #keepsBuffers: boolean;
  readonly #requests: ProvisioningRequests | undefined;
  /** NodeClaims for capacity buffers. After the launch, another run finds that the buffers' capacity is available. */
  readonly #forBuffers = new Set<string>();
  readonly #measures: ProvisioningMeasures;
  readonly #unbound: UnboundPods;
  readonly #refusals: RefusalLog;
  readonly #checked: CheckedRefusals;
  readonly #warnOfPreferences: ReturnType<typeof preferenceWarnings>;
  /** Pods that the last solve did not reach before its time limit. */
  #first: readonly string[] = [];
  /** True after the first preparation of the solver. */
  #isWarm = false;

  constructor(deps: Deps, { batcher, solver, launches, verdicts, requests }: ProvisionerParts) {
    const { cluster, clock, log, settings } = deps;
    this.#deps = deps;
    this.#batcher = batcher;
    this.#solver = solver;
    const constraints = settings.defaultTopologySpreadConstraints;
    if (constraints.length > 0)
      log.info('scheduler-config is set, using the default constraints for pods without topology spread constraints', {
        'default-topology-spread-constraints': constraints,
      });
    this.#launches = launches;
    this.#verdicts = verdicts;
    this.#keepsBuffers = settings.featureGates.capacityBuffer && settings.mode === 'act';
    this.#requests = requests;
    if (this.#keepsBuffers || requests !== undefined)
      cluster.stores.nodeClaims.subscribe((event, claim, before) => this.#claimChanged(event, claim, before));
    this.#measures = provisioningMeasures(deps);
    this.#unbound = new UnboundPods(deps);
    this.#refusals = new RefusalLog(deps);
    this.#checked = new CheckedRefusals(deps);
    this.#warnOfPreferences = preferenceWarnings(clock);
  }

  async reconcile(context: ReconcileContext): Promise<Outcome> {
    const { cluster, clock } = this.#deps;
    if (!(await this.#batcher.wait(context.signal))) {
      await this.#warmUp(context);
      return settled;
    }
    if (!cluster.synced()) {
      // A launch is in progress. The trigger keeps the batch for the next window.
      this.#batcher.trigger('unsynced');
      return settled;
    }
    const startedMs = monotonicMs(clock);
    const virtual = cluster.virtualPods.list();
    const finished = this.#measures.started();
    const solved = await this.#schedule(virtual, context);
    finished();
    await this.#recordVirtual(solved?.plan, virtual, context.log);
    if (solved === undefined) return settled;
    this.#record(solved, context.log);
    try {
      await this.#carryOut(solved, startedMs, context);
    } finally {
      const refusals = await this.#checkRefusals(solved, this.#solver, context.log);
      recordRefusals(this.#deps, refusals, { ...context, pods: solved.pods });
    }
    return settled;
  }

  /** Records the results for capacity buffers and ProvisioningRequests. */
  async #recordVirtual(plan: Plan | undefined, virtual: readonly Pod[], log: Logger): Promise<void> {
    if (!this.#keepsBuffers && this.#requests === undefined) return;
    const outcomes = recordVirtualPods(this.#deps, plan, virtual);
    if (this.#keepsBuffers) await recordBuffers(this.#deps, outcomes, log);
    await this.#requests?.record(outcomes, plan, log);
  }

  /** Prepares the solver while no pods wait. Tries once, because a failure must not cause requests to AWS in each idle second. */
  async #warmUp({ signal }: ReconcileContext): Promise<void> {
    if (this.#isWarm || this.#solver.warmUp === undefined || signal.aborted || !this.#deps.cluster.synced()) return;
    const active = activePools(this.#deps.cluster);
    if (active.length === 0) return;
    this.#isWarm = true;
    const pools = await readLaunchPools(this.#deps, active, silent);
    if (pools.every(({ instanceTypes }) => instanceTypes.length === 0)) return;
    await this.#solver.warmUp(...this.#problem(this.#runFor([]), pools));
  }

  async #schedule(virtual: readonly Pod[], { log }: ReconcileContext): Promise<Solved | undefined> {
    const { clock, cluster, settings } = this.#deps;
    const run = this.#runFor(virtual);
    if (run.all.length === 0) return undefined;
    const { pending, leaving } = run.workload;
    log.debug('computing scheduling decision for provisionable pod(s)', {
      'pending-pods': pending.length,
      'deleting-pods': leaving.length,
    });
    const real = [...pending, ...leaving];
    const pods = new Map(real.map((pod) => [podKey(pod), pod]));
    logUnready(cluster, log);
    const active = activePools(cluster);
    if (active.length === 0) {
      log.info(NO_POOLS);
      const nodeClassOf = nodeClassesOf(this.#deps);
      const idle = someAwaitReadiness(cluster, nodeClassOf) ? [] : idlePools(cluster, nodeClassOf);
      const refused = refuseAll(this.#deps, pods, idle);
      this.#verdicts.decided(refused.plan, pods);
      // without NodePools, a solve is cheap
      const refusals = await this.#checkRefusals(refused, async (...problem) => solve(...problem), log);
      this.#refusals.record(refusals);
      // a cluster without NodePools does not expect events about them
      if (idle.length > 0) for (const [key, pod] of pods) publishRefusal(this.#deps, pod, refusals.get(key));
      return undefined;
    }
    if (settings.preferencePolicy === 'Respect') this.#warnOfPreferences(real, log);
    const pools = await readLaunchPools(this.#deps, active, log);
    const fromMs = clock.now();
    const [snapshot, options] = this.#problem(run, pools);
    const plan = await this.#solve(snapshot, options);
    const ofRequests = virtual.filter((pod) => requestTriedBy(pod) !== undefined);
    const gangPods =
      ofRequests.length === 0 ? pods : new Map([...pods, ...ofRequests.map((pod) => [podKey(pod), pod] as const)]);
    return { plan, pods, gangPods, snapshot, options, solve: { fromMs, toMs: clock.now() } };
  }

  /** Checks remedies until other pods wait. */
  async #checkRefusals(
    solved: Parameters<CheckedRefusals['check']>[0],
    solver: Solver,
    log: Logger,
  ): Promise<ReadonlyMap<string, PodRefusal>> {
    const mayCheck = (): boolean => !this.#batcher.hasOther(solved.pods);
    const refusals = await this.#checked.check(solved, solver, { mayCheck, log });
    this.#verdicts.checked(refusals);
    return refusals;
  }

  #runFor(virtual: readonly Pod[]): Run {
    const { cluster, clock } = this.#deps;
    const workload = workloadOf(cluster, clock.now(), { virtual });
    const all = [...workload.pending, ...workload.leaving, ...workload.virtual];
    return { workload, all, withheld: this.#launches.withheld(all) };
  }

  async #solve(snapshot: Snapshot, options: SolveOptions): Promise<Plan> {
    const finished = this.#measures.solving(snapshot.pendingPods.length);
    try {
      return await this.#solver(snapshot, options);
    } finally {
      finished();
    }
  }

  #problem({ workload, all, withheld }: Run, pools: readonly PoolInput[]): [snapshot: Snapshot, options: SolveOptions] {
    const { cluster, cloud, settings } = this.#deps;
    const input = { cluster, settings, workload, withheld, commitments: cloud.commitments?.() };
    const gangHolds = this.#launches.gangs.holds();
    const found = launchSnapshot(input, pools, nodeClassesOf(this.#deps));
    const snapshot = gangHolds.size === 0 ? found : { ...found, gangHolds };
    const options = {
      ...launchOptions(settings),
      deadlineMs: DEADLINE_MS,
      placementMs: PLACEMENT_MS,
      first: this.#first,
      countZones: true,
      explain: true,
      ...defined({ mostLaunches: this.#mostLaunches(all.length) }),
    };
    return [snapshot, options];
  }

  /** Returns the number of NodeClaims for which memory is sufficient, or undefined if memory is never short. */
  #mostLaunches(pending: number): number | undefined {
    const { cluster, pressure } = this.#deps;
    if (pressure === undefined) return undefined;
    const launching = cluster.stores.nodeClaims.list().filter((claim) => !isTrue(claim, 'Launched')).length;
    return pressure.mostLaunches({ pending, launching });
  }

  #record(solved: Solved, log: Logger): void {
    const { plan, pods } = solved;
    this.#measures.count(plan);
    this.#verdicts.decided(plan, pods);
    this.#launches.gangs.decided(plan, solved.gangPods);
    this.#first = plan.notEvaluated;
    if (this.#first.length > 0) this.#batcher.trigger('not evaluated');
    this.#unbound.placed(plan.placements, pods);
    recordResults(this.#deps, { ...solved, isOverdue: (pod, node) => this.#unbound.isOverdue(pod, node) }, log);
    this.#refusals.record(plan.refusals);
  }

  async #carryOut(solved: Solved, startedMs: number, context: ReconcileContext): Promise<void> {
    const { admitted: claims, waiting } = this.#launches.admit(solved.plan.claims, solved.gangPods);
    const refused = [...solved.plan.refusals].filter(([, refusal]) => isWithheld(refusal)).map(([key]) => key);
    this.#reportHeld([...refused, ...waiting.flatMap((claim) => claim.pods)], solved.pods);
    if (waiting.length > 0) context.log.info(this.#waitText(), { nodeclaims: waiting.length });
    if (claims.length === 0) return;
    const placed = claims.flatMap((claim) => claim.pods);
    context.log.info('found provisionable pod(s)', {
      Pods: firstFew(placed),
      duration: formatDuration(monotonicMs(this.#deps.clock) - startedMs),
    });
    context.log.info('computed new nodeclaim(s) to fit pod(s)', {
      nodeclaims: claims.length,
      pods: placed.length,
      ...defined({ zones: zonesText(claims), preferences: preferencesText(solved.plan) }),
    });
    const decision = this.#decision(solved);
    try {
      await withBoundedConcurrency(claims, claims.length, (planned) =>
        this.#create(planned, solved, { ...context, decision }),
      );
    } catch (error) {
      // pods wait for NodeClaims that do not exist: the next run starts after the back-off
      this.#batcher.trigger('claims not created');
      throw new Error(`creating node claim, ${messageOf(error)}`, { cause: error });
    }
  }

  #waitText(): string {
    const isPaused = this.#deps.cluster.pause.of('launches') !== undefined;
    return isPaused ? 'launches are paused' : 'launches wait for an allowance of their namespace';
  }

  /** Publishes an event on each pod that must wait for a launch. The event contains the end of the hold. */
  #reportHeld(keys: readonly string[], pods: Solved['pods']): void {
    const held = keys.flatMap((key) => pods.get(key) ?? []);
    if (held.length === 0) return;
    const holdOf = this.#launches.holds();
    for (const pod of held) {
      const hold = holdOf(pod);
      if (hold !== undefined) publishHeld(this.#deps, pod, wallTimeOf(this.#deps.clock, hold.untilMs), hold.text);
    }
  }

  /** Returns the decision for the traces of the NodeClaims, or undefined if tracing is disabled. */
  #decision({ plan, pods, solve }: Solved): TracedDecision | undefined {
    const { cluster, traces } = this.#deps;
    if (traces === undefined) return undefined;
    const attributes = { 'karpenter.pods': pods.size, 'karpenter.nodeclaims': plan.claims.length };
    const window = this.#batcher.last;
    const steps = [
      ...(window === undefined ? [] : [{ name: 'batch window', ...window }]),
      { name: 'solve', ...solve, attributes },
    ];
    const timingOf = (key: string): PodTiming => cluster.podTimings.get(key);
    return traces.decision({ steps, claims: plan.claims, pods, timingOf, decidedMs: solve.fromMs });
  }

  async #create(
    planned: PlannedClaim,
    { pods, gangPods }: Solved,
    context: ReconcileContext & { readonly decision: TracedDecision | undefined },
  ): Promise<void> {
    const real = planned.pods.flatMap((key) => pods.get(key) ?? []);
    const isSecond = real.some((pod) => hasClaim(this.#deps, pod));
    const marked = this.#launches.gangs.withIds(planned, gangPods);
    const nodeClaim = await createClaim(this.#deps, marked, { ...context, reason: 'provisioned' });
    if (isSecond) this.#deps.metrics.counter(NODECLAIMS_SECOND_ROUND).inc({ nodepool: planned.nodePool });
    this.#launches.gangs.created(nodeClaim, planned);
    this.#verdicts.created(planned.pods, nodeClaim.metadata.name);
    if (planned.pods.some((key) => !pods.has(key))) this.#forBuffers.add(nodeClaim.metadata.name);
    for (const pod of real) publishNominated(this.#deps, pod, { nodeClaim });
  }

  /** Triggers a run at the launch and at the initialization: a buffer is provisioned only when its nodes are initialized. */
  #claimChanged(event: 'added' | 'updated' | 'deleted', claim: NodeClaim, before?: NodeClaim): void {
    const { name } = claim.metadata;
    if (!this.#forBuffers.has(name) || (event !== 'deleted' && !claim.status?.providerID)) return;
    const isInitialized = isTrue(claim, 'Initialized');
    if (event === 'deleted' || isInitialized) this.#forBuffers.delete(name);
    const isLaunched = !before?.status?.providerID;
    if (event !== 'deleted' && (isInitialized || isLaunched)) this.#batcher.trigger(name);
  }
}

/** Returns true if a NodeClaim exists that was created for the unscheduled pod. */
function hasClaim({ cluster }: Pick<Deps, 'cluster'>, pod: Pod): boolean {
  const { nodeClaim } = cluster.podTimings.get(podKey(pod));
  const claim = nodeClaim === undefined || isScheduled(pod) ? undefined : cluster.claim(nodeClaim);
  return claim !== undefined && claim.metadata.deletionTimestamp === undefined;
}

/** Logs preferences of pods that can prevent consolidation. Logs the same pods at most once per hour. */
const AGAIN_MS = 60 * 60_000;
const SHOWN = 10;

const prefersDistance = ({ spec }: Pod): boolean =>
  (spec.affinity?.podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).length > 0;

const prefersSpread = ({ spec }: Pod): boolean =>
  (spec.topologySpreadConstraints ?? []).some(({ whenUnsatisfiable }) => whenUnsatisfiable === 'ScheduleAnyway');

const PREFERENCES: readonly { readonly has: (pod: Pod) => boolean; readonly message: string }[] = [
  { has: prefersDistance, message: 'pod(s) have a preferred Anti-Affinity which can prevent consolidation' },
  { has: prefersSpread, message: 'pod(s) have a preferred TopologySpreadConstraint which can prevent consolidation' },
];

type WarnOfPreferences = (pods: readonly Pod[], log: Logger) => void;

function preferenceWarnings(clock: Timepiece): WarnOfPreferences {
  const reportedMs = new Map<string, number>();
  return (pods, log) => {
    const nowMs = monotonicMs(clock);
    for (const [id, ms] of reportedMs) if (nowMs - ms >= AGAIN_MS) reportedMs.delete(id);
    for (const { has, message } of PREFERENCES) {
      const names = pods.filter(has).map(podKey).sort();
      const id = `${message} ${names.join(' ')}`;
      if (names.length === 0 || reportedMs.has(id)) continue;
      reportedMs.set(id, nowMs);
      log.info(message, { pods: firstFew(names, SHOWN) });
    }
  };
}

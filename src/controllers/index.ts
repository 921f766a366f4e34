/** Controllers of the operator, except the controllers of the cloud provider. */

import { enabledMethods } from '../engine/disruption/review.ts';
import { VerdictHistory } from '../engine/disruption/verdicts.ts';
import { localSimulationRunner, type SimulationRunner } from '../engine-worker/simulation-runner.ts';
import { localSolver, type Solver } from '../engine-worker/solver.ts';
import type { Controller } from '../kube/reconciler.ts';
import { BufferResolution } from './capacitybuffer/resolution.ts';
import { costControllers, type KeptHistory } from './cost/index.ts';
import type { Deps } from './deps.ts';
import { openDevices } from './devicetemplates/index.ts';
import { DeletionCosts } from './disruption/deletion-costs.ts';
import { DisruptionLoop } from './disruption/loop.ts';
import { MoveWatch } from './disruption/move-watch.ts';
import { MoveHistory } from './disruption/moves.ts';
import { DisruptionQueue } from './disruption/queue.ts';
import { type DecisionMemo, Snapshots } from './disruption/snapshots.ts';
import { Steering } from './disruption/steering.ts';
import { verdictEvents } from './disruption/verdict-events.ts';
import { metricsControllers } from './metrics/index.ts';
import { nodeControllers } from './node/index.ts';
import { consistency } from './nodeclaim/consistency.ts';
import { DisruptionConditions } from './nodeclaim/disruption.ts';
import { expiration } from './nodeclaim/expiration.ts';
import { garbageCollection, stateGarbageCollection } from './nodeclaim/garbage-collection.ts';
import { nodeClaimHydration } from './nodeclaim/hydration.ts';
import { NodeClaimLifecycle } from './nodeclaim/lifecycle.ts';
import { podEvents } from './nodeclaim/pod-events.ts';
import { overlayEvaluation } from './nodeoverlay/evaluation.ts';
import { Overlays, overlaidCloud } from './nodeoverlay/overlays.ts';
import { nodePoolCounter } from './nodepool/counter.ts';
import { hash } from './nodepool/hash.ts';
import { requirementsOffered } from './nodepool/offered.ts';
import { readiness } from './nodepool/readiness.ts';
import { registrationHealth } from './nodepool/registration-health.ts';
import { validation } from './nodepool/validation.ts';
import { LaunchBudget } from './provisioning/launch-budget.ts';
import { PodVerdicts } from './provisioning/pod-verdicts.ts';
import { Provisioner } from './provisioning/provisioner.ts';
import { nodeTrigger, PodBatcher, podTrigger, poolTrigger } from './provisioning/triggers.ts';
import { staticDeprovisioning } from './static/deprovisioning.ts';
import { staticHint } from './static/hint.ts';
import { staticProvisioning } from './static/provisioning.ts';

/** Objects that other components share, or that replays and tests replace. */
interface Parts {
  /** Default: a solver in this thread. */
  readonly solver?: Solver | undefined;
  readonly simulations?: SimulationRunner | undefined;
  /** Verdicts of disruption on each node. */
  readonly history?: VerdictHistory | undefined;
  /** Moves of disruption and their results. */
  readonly moves?: MoveHistory | undefined;
  /** Unproductive launches, and the launches that are held back because of them. */
  readonly launches?: LaunchBudget | undefined;
  /** Latest decision on each pending pod. */
  readonly verdicts?: PodVerdicts | undefined;
  /** Results of earlier disruption passes. Replays pass their own. */
  readonly memo?: DecisionMemo | undefined;
  /**
   * Time for which the provisioner waits for pods, in milliseconds. Affects only how often the provisioner reports that it is
   * alive.
   */
  readonly lookoutMs?: number | undefined;
  /** Decisions, and the cost of the nodes. */
  readonly costHistory?: KeptHistory | undefined;
}

export function controllers(known: Deps, parts: Parts = {}): readonly Controller[] {
  const { clock, cluster, settings } = known;
  const { solver = localSolver(), simulations = localSimulationRunner(), launches = new LaunchBudget(known) } = parts;
  const { history = new VerdictHistory(), moves = new MoveHistory(), verdicts = new PodVerdicts(known) } = parts;
  const overlays = new Overlays(clock);
  const isOverlaid = settings.featureGates.nodeOverlay;
  const cloud = isOverlaid ? overlaidCloud(known.cloud, overlays, cluster.stores.nodePools) : known.cloud;
  const devices = openDevices(known);
  const deps = { ...known, cloud, devices: devices?.sources };
  const batcher = new PodBatcher(clock, {
    idleMs: settings.batchIdleMs,
    maxMs: settings.batchMaxMs,
    lookoutMs: parts.lookoutMs,
  });
  const queue = new DisruptionQueue(deps, moves);
  const snapshots = new Snapshots(deps, queue, launches);
  const { consolidation, featureGates } = settings;
  const methods = enabledMethods(consolidation, featureGates.staticCapacity);
  return [
    podTrigger(deps, batcher),
    nodeTrigger(batcher),
    poolTrigger(deps, batcher),
    new Provisioner(deps, { batcher, solver, launches, verdicts }),
    launches.judge,
    new NodeClaimLifecycle(deps),
    expiration(deps),
    garbageCollection(deps),
    new DisruptionConditions(known),
    podEvents(deps),
    consistency(deps),
    nodeClaimHydration(deps),
    stateGarbageCollection(deps),
    nodePoolCounter(deps, verdicts),
    hash(deps),
    readiness(deps),
    validation(deps),
    registrationHealth(deps),
    requirementsOffered(deps),
    ...(settings.featureGates.staticCapacity
      ? [staticProvisioning(deps, queue, launches), staticDeprovisioning(deps, queue)]
      : [staticHint(deps)]),
    ...(settings.featureGates.capacityBuffer ? [new BufferResolution(deps, batcher)] : []),
    ...(isOverlaid ? [overlayEvaluation(known, overlays, () => batcher.trigger('overlays'))] : []),
    new DisruptionLoop(deps, { queue, methods, simulations, history, launches, snapshots, memo: parts.memo }),
    new Steering(deps, { snapshots, simulations }),
    new DeletionCosts(deps),
    queue.worker,
    verdictEvents(deps, history),
    new MoveWatch(deps, moves),
    ...nodeControllers(deps),
    ...metricsControllers(deps),
    ...costControllers(deps, parts.costHistory),
    ...(devices?.keeper === undefined ? [] : [devices.keeper]),
    ...(deps.traces === undefined ? [] : [deps.traces.sweeping(cluster.stores)]),
  ];
}

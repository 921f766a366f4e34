/** Controllers of the operator, except the controllers of the cloud provider. */
import {
  CAPACITY_BUFFER,
  INITIALIZED_LABEL,
  NODE,
  NODE_CLAIM,
  NODE_POLICY,
  NODE_POOL,
  NODECLAIM_CONDITIONS,
  NODEPOLICY_CONDITIONS,
  NODEPOOL_CONDITIONS,
  NODEPOOL_LABEL,
} from '#api/objects';
import type { VerdictHistory } from '#engine/disruption';
import type { SimulationRunner, Solver } from '#engine-worker';
import type { Controller } from '#kube/reconcilers';
import { NODECLAIMS_UNHEALTHY_DISRUPTED } from '#observe/metrics';
import { methodsFor } from '#planner';
import { annotationEvents } from './annotations.ts';
import { BufferResolution } from './capacitybuffer/resolution.ts';
import { policyCeilings, quotaStatus } from './ceilings.ts';
import { costControllers, type KeptHistory } from './cost/index.ts';
import type { Deps } from './deps.ts';
import { openDevices } from './devicetemplates/index.ts';
import { DeletionCosts } from './disruption/deletion-costs.ts';
import { DisruptionLoop } from './disruption/loop.ts';
import { MoveWatch } from './disruption/move-watch.ts';
import type { MoveHistory } from './disruption/moves.ts';
import { DisruptionQueue } from './disruption/queue.ts';
import { type DecisionMemo, Snapshots } from './disruption/snapshots.ts';
import { Steering } from './disruption/steering.ts';
import { verdictEvents } from './disruption/verdict-events.ts';
import { logControllers } from './log/index.ts';
import { endedSeries } from './metrics/ended-series.ts';
import { nodePoolMetrics } from './metrics/nodepools.ts';
import { NodeMetrics } from './metrics/nodes.ts';
import { podMetrics } from './metrics/pods.ts';
import { StatusMetrics } from './metrics/status.ts';
import { EvictionQueue, Evictions } from './node/eviction-queue.ts';
import { NodeHealth } from './node/health.ts';
import { NodeTermination } from './node/node-termination.ts';
import { Repairs } from './node/repairs.ts';
import { nodeClassLabel } from './node-classes.ts';
import { consistency } from './nodeclaim/consistency.ts';
import { DisruptionConditions } from './nodeclaim/disruption.ts';
import { expiration } from './nodeclaim/expiration.ts';
import { garbageCollection, stateGarbageCollection } from './nodeclaim/garbage-collection.ts';
import { nodeClaimHydration, nodeHydration } from './nodeclaim/hydration.ts';
import { NodeClaimLifecycle } from './nodeclaim/lifecycle.ts';
import { LostNodes } from './nodeclaim/lost-nodes.ts';
import { podEvents } from './nodeclaim/pod-events.ts';
import { overlayEvaluation } from './nodeoverlay/evaluation.ts';
import { Overlays, overlaidCloud } from './nodeoverlay/overlays.ts';
import { nodePolicyConditions } from './nodepolicy.ts';
import { readiness, registrationHealth, requirementsOffered, validation } from './nodepool/conditions.ts';
import { nodePoolCounter } from './nodepool/counter.ts';
import { hash } from './nodepool/hash.ts';
import { PoolRollouts } from './nodepool/rollout.ts';
import { PauseReader } from './pause.ts';
import { podTemplates } from './pod-templates.ts';
import type { LaunchBudget } from './provisioning/launch-budget.ts';
import { parkedPods } from './provisioning/parked-pods.ts';
import { PodNominations } from './provisioning/pod-nominations.ts';
import type { PodVerdicts } from './provisioning/pod-verdicts.ts';
import { Provisioner } from './provisioning/provisioner.ts';
import { nodeTrigger, PodBatcher, podTrigger, poolTrigger } from './provisioning/triggers.ts';
import { ProvisioningRequests } from './provisioningrequest/requests.ts';
import { staticDeprovisioning } from './static/deprovisioning.ts';
import { staticProvisioning } from './static/provisioning.ts';
import { staticHint } from './static/static-claims.ts';
import { policyWindows } from './windows.ts';

/** Objects that the controllers share with the views of the operator. */
interface Parts {
  readonly solver: Solver;
  readonly simulations: SimulationRunner;
  /** Verdicts of disruption on each node. */
  readonly history: VerdictHistory;
  readonly repairs: Repairs;
  /** Moves of disruption and their results. */
  readonly moves: MoveHistory;
  /** Unproductive launches, and the launches that are held back because of them. */
  readonly launches: LaunchBudget;
  /** Latest decision on each pending pod. */
  readonly verdicts: PodVerdicts;
  /** Results of earlier disruption passes. */
  readonly memo: DecisionMemo | undefined;
  /**
   * Time for which the provisioner waits for pods, in milliseconds. Affects only how often the provisioner reports that it is
   * alive.
   */
  readonly lookoutMs: number | undefined;
  /** Decisions, and the cost of the nodes. */
  readonly costHistory: KeptHistory | undefined;
}

export function controllers(known: Deps, parts: Parts): readonly Controller[] {
  const { clock, cluster, settings } = known;
  const { solver, simulations, launches, history, moves, verdicts } = parts;
  const overlays = new Overlays(clock);
  const isOverlaid = settings.featureGates.nodeOverlay;
  const cloud = isOverlaid ? overlaidCloud(known.cloud, overlays, cluster.stores.nodePools) : known.cloud;
  const devices = openDevices(known);
  const deps = { ...known, cloud, devices: devices?.sources };
  const batcher = podBatcher(known, parts);
  const queue = new DisruptionQueue(deps, moves);
  const snapshots = new Snapshots(deps, queue, launches);
  const methods = methodsFor(settings);
  const requests = requestsOf(deps, batcher);
  const deciders = [
    podTrigger(deps, batcher),
    nodeTrigger(batcher),
    poolTrigger(deps, batcher),
    new Provisioner(deps, { batcher, solver, launches, verdicts, requests }),
    podTemplates(deps),
    ...(isOverlaid ? [overlayEvaluation(known, overlays, () => batcher.trigger('overlays'))] : []),
    new DisruptionLoop(deps, { queue, methods, simulations, history, launches, snapshots, memo: parts.memo }),
  ];
  const watchers = [...metricsControllers(deps), ...costControllers(deps, parts.costHistory)];
  const reporters = [
    expiration(deps),
    ...staticControllers(deps, queue, launches),
    ...(settings.featureGates.capacityBuffer ? [new BufferResolution(deps, batcher)] : []),
  ];
  if (settings.mode === 'observe') return [...deciders, ...reporters, ...watchers];
  return [
    ...deciders,
    ...reporters,
    ...pauseReaders(deps, batcher),
    parkedPods(deps),
    annotationEvents(deps),
    ...(settings.podNomination ? [new PodNominations(deps, verdicts)] : []),
    launches.judge,
    new NodeClaimLifecycle(deps, launches),
    garbageCollection(deps),
    new LostNodes(deps),
    new DisruptionConditions(known),
    podEvents(deps),
    consistency(deps),
    nodeClaimHydration(deps),
    stateGarbageCollection(deps),
    nodePoolCounter(deps, verdicts),
    hash(deps),
    ...poolConditions(deps),
    ...(requests === undefined ? [] : [requests]),
    new Steering(deps, { snapshots, simulations }),
    new DeletionCosts(deps),
    queue.worker,
    verdictEvents(deps, history),
    new MoveWatch(deps, moves),
    ...nodeControllers(deps, parts.repairs),
    ...watchers,
    ...logControllers(deps),
    ...(devices?.keeper === undefined ? [] : [devices.keeper]),
    ...(deps.traces === undefined ? [] : [deps.traces.sweeping(cluster.stores)]),
  ];
}

const podBatcher = ({ clock, pressure, settings }: Deps, { lookoutMs }: Parts): PodBatcher =>
  new PodBatcher(clock, {
    idleMs: settings.batchIdleMs,
    maxMs: settings.batchMaxMs,
    lookoutMs,
    stretch: () => pressure?.stretch ?? 1,
  });

const staticControllers = (deps: Deps, queue: DisruptionQueue, launches: LaunchBudget): readonly Controller[] =>
  deps.settings.featureGates.staticCapacity
    ? [staticProvisioning(deps, queue, launches), staticDeprovisioning(deps, queue)]
    : [staticHint(deps)];

const requestsOf = (deps: Deps, batcher: PodBatcher): ProvisioningRequests | undefined =>
  deps.settings.featureGates.provisioningRequest && deps.settings.mode === 'act'
    ? new ProvisioningRequests(deps, batcher)
    : undefined;

const pauseReaders = (deps: Deps, batcher: PodBatcher): readonly Controller[] =>
  deps.namespace === undefined
    ? []
    : [new PauseReader(deps, { namespace: deps.namespace, resumed: () => batcher.trigger('resumed') })];

/** Controllers of the conditions of NodePools, NodePolicies and CapacityQuotas. */
const poolConditions = (deps: Deps): readonly Controller[] => [
  readiness(deps),
  validation(deps),
  registrationHealth(deps),
  requirementsOffered(deps),
  new PoolRollouts(deps),
  nodePolicyConditions(deps),
  policyCeilings(deps),
  ...(deps.settings.featureGates.capacityQuota ? [quotaStatus(deps)] : []),
  policyWindows(deps),
];

/** Returns the controllers. Excludes cluster state if the settings disable its observability. */
export function metricsControllers(deps: Deps): readonly Controller[] {
  if (deps.settings.disableClusterStateObservability) return [endedSeries(deps)];
  const nodeClasses = deps.cloud.nodeClassKinds;
  const ownership = [...nodeClasses.map(nodeClassLabel), NODEPOOL_LABEL];
  return [
    podMetrics(deps),
    new NodeMetrics(deps),
    nodePoolMetrics(deps),
    endedSeries(deps),
    new StatusMetrics(deps, NODE_CLAIM, {
      conditions: NODECLAIM_CONDITIONS,
      labels: ownership,
      older: true,
      many: true,
    }),
    new StatusMetrics(deps, NODE_POOL, { conditions: NODEPOOL_CONDITIONS, older: true }),
    new StatusMetrics(deps, NODE_POLICY, { conditions: NODEPOLICY_CONDITIONS, optional: true }),
    ...(deps.settings.featureGates.capacityBuffer
      ? [new StatusMetrics(deps, CAPACITY_BUFFER, { older: true, optional: true })]
      : []),
    new StatusMetrics(deps, NODE, { labels: [...ownership, INITIALIZED_LABEL], many: true }),
    ...nodeClasses.map(
      (kind) => new StatusMetrics(deps, kind, { conditions: kind.conditions, older: true, buckets: 'library' }),
    ),
  ];
}

/** Controllers of Nodes. */
export function nodeControllers(deps: Deps, repairs = new Repairs(deps)): readonly Controller[] {
  const evictions = new Evictions(deps.clock);
  // Registers the counter even if repairs are disabled, because alerts refer to it.
  deps.metrics.counter(NODECLAIMS_UNHEALTHY_DISRUPTED);
  return [
    new NodeTermination(deps, evictions),
    new EvictionQueue(deps, evictions),
    nodeHydration(deps),
    ...(repairs.isEnabled ? [new NodeHealth(deps, repairs)] : []),
  ];
}

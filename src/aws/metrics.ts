/** Metrics of the provider, and the measurement of its methods. */

import type { NodePool } from '#api/objects';
import { type CloudProvider, causeOf, InsufficientCapacity, NodeClaimNotFound, NodeClassNotReady } from '#cloud';
import { NO_CHARGES } from '#engine/costs';
import { defined } from '#lib';
import { currentController } from '#observe/logger';
import { type GaugeDeclaration, type Metrics, NODECLAIMS_DISRUPTED, OwnedSeries } from '#observe/metrics';
import {
  CAPACITY_RESERVATIONS_IDLE_USD_PER_DAY,
  CLOUDPROVIDER_BATCHER_BATCH_SIZE,
  CLOUDPROVIDER_BATCHER_BATCH_TIME_SECONDS,
  CLOUDPROVIDER_DURATION_SECONDS,
  CLOUDPROVIDER_ERRORS,
  CLOUDPROVIDER_GARBAGE_COLLECTION_HELD,
  CLOUDPROVIDER_INSTANCE_LAUNCH_FAILURES,
  CLOUDPROVIDER_INSTANCE_TERMINATION_FAILURES,
  CLOUDPROVIDER_INSTANCE_TYPE_CPU_CORES,
  CLOUDPROVIDER_INSTANCE_TYPE_MEMORY_BYTES,
  CLOUDPROVIDER_INSTANCE_TYPE_OFFERING_AVAILABLE,
  CLOUDPROVIDER_INSTANCE_TYPE_OFFERING_PRICE_ESTIMATE,
  CLOUDPROVIDER_INSTANCE_TYPE_PRICE_ESTIMATED,
  CLOUDPROVIDER_OFFERINGS_COUNT,
  EC2NODECLASSES_USERDATA_BYTES,
  INTERRUPTION_DELETED_MESSAGES,
  INTERRUPTION_INSTANCE_STATUS_UNHEALTHY,
  INTERRUPTION_MESSAGE_QUEUE_DURATION_SECONDS,
  INTERRUPTION_RECEIVED_MESSAGES,
} from './metric-declarations.ts';

export type AwsMetrics = ReturnType<typeof awsMetrics>;

/** @param typesInUse instance types of the cluster's nodes. The default view contains only their offerings */
export function awsMetrics(metrics: Metrics, typesInUse: () => ReadonlySet<string> = () => new Set()) {
  let inUse = typesInUse();
  metrics.beforeScrape(() => {
    inUse = typesInUse();
  });
  const ofTypes = (declaration: GaugeDeclaration): OwnedSeries =>
    new OwnedSeries(metrics, declaration, (type) => !inUse.has(type));
  return {
    ...ofCalls(metrics),
    /** Series of instance types, by name. */
    instanceTypeCpu: ofTypes(CLOUDPROVIDER_INSTANCE_TYPE_CPU_CORES),
    instanceTypeMemory: ofTypes(CLOUDPROVIDER_INSTANCE_TYPE_MEMORY_BYTES),
    offeringAvailable: ofTypes(CLOUDPROVIDER_INSTANCE_TYPE_OFFERING_AVAILABLE),
    offeringPrice: ofTypes(CLOUDPROVIDER_INSTANCE_TYPE_OFFERING_PRICE_ESTIMATE),
    priceEstimated: ofTypes(CLOUDPROVIDER_INSTANCE_TYPE_PRICE_ESTIMATED),
    offerings: metrics.gauge(CLOUDPROVIDER_OFFERINGS_COUNT),
    idleReservations: new OwnedSeries(metrics, CAPACITY_RESERVATIONS_IDLE_USD_PER_DAY),
  };
}

const ofCalls = (metrics: Metrics) => ({
  methodSeconds: metrics.histogram(CLOUDPROVIDER_DURATION_SECONDS),
  methodErrors: metrics.counter(CLOUDPROVIDER_ERRORS),
  launchFailures: metrics.counter(CLOUDPROVIDER_INSTANCE_LAUNCH_FAILURES),
  terminationFailures: metrics.counter(CLOUDPROVIDER_INSTANCE_TERMINATION_FAILURES),
  batchSeconds: metrics.histogram(CLOUDPROVIDER_BATCHER_BATCH_TIME_SECONDS),
  batchSize: metrics.histogram(CLOUDPROVIDER_BATCHER_BATCH_SIZE),
  interruptionReceived: metrics.counter(INTERRUPTION_RECEIVED_MESSAGES),
  interruptionDeleted: metrics.counter(INTERRUPTION_DELETED_MESSAGES),
  interruptionSeconds: metrics.histogram(INTERRUPTION_MESSAGE_QUEUE_DURATION_SECONDS),
  unhealthyInstances: metrics.counter(INTERRUPTION_INSTANCE_STATUS_UNHEALTHY),
  /** Shared with the disruption controllers. */
  nodeClaimsDisrupted: metrics.counter(NODECLAIMS_DISRUPTED),
  collectionHeld: metrics.gauge(CLOUDPROVIDER_GARBAGE_COLLECTION_HELD),
  userDataBytes: metrics.gauge(EC2NODECLASSES_USERDATA_BYTES),
});

function kindOf(error: unknown): string {
  if (causeOf(error, NodeClaimNotFound)) return 'NodeClaimNotFoundError';
  if (causeOf(error, NodeClassNotReady)) return 'NodeClassNotReadyError';
  return causeOf(error, InsufficientCapacity) ? 'InsufficientCapacityError' : '';
}

/** Measures the provider's methods and counts their errors. */
export function measuredProvider(provider: CloudProvider, metrics: AwsMetrics): CloudProvider {
  const time =
    <A extends readonly unknown[], R>(method: string, call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      const labels = { controller: currentController(), method, provider: provider.name };
      const stop = metrics.methodSeconds.startTimer(labels);
      try {
        return await call(...args);
      } catch (error) {
        metrics.methodErrors.inc({ ...labels, error: kindOf(error) });
        throw error;
      } finally {
        stop();
      }
    };
  return {
    name: provider.name,
    nodeClassKinds: provider.nodeClassKinds,
    repairPolicies: provider.repairPolicies,
    ...defined({ registrationHooks: provider.registrationHooks }),
    commitments: () => provider.commitments?.() ?? [],
    ...(provider.charges && { charges: (nodePool: NodePool) => provider.charges?.(nodePool) ?? NO_CHARGES }),
    deviceTemplates: (nodePool, type) => provider.deviceTemplates?.(nodePool, type) ?? [],
    instanceTypes: time('GetInstanceTypes', (nodePool) => provider.instanceTypes(nodePool)),
    typeTerms: (nodePool, type) => provider.typeTerms?.(nodePool, type),
    launchAnswer: (claim) => provider.launchAnswer?.(claim),
    create: time('Create', (claim, adjust) => provider.create(claim, adjust)),
    reboot: time('Reboot', (claim) => provider.reboot(claim)),
    delete: time('Delete', (claim) => provider.delete(claim)),
    get: time('Get', (providerId) => provider.get(providerId)),
    list: time('List', () => provider.list()),
    isDrifted: time('IsDrifted', (claim) => provider.isDrifted(claim)),
  };
}

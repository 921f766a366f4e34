/** The provider's metrics, declared in one place. */
import type { Metrics } from '../observe/metrics.ts';

const BATCH_SIZES = [
  1, 2, 4, 5, 10, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100, 125, 150, 175, 200, 225, 250, 275, 300, 350, 400, 450,
  500, 550, 600, 700, 800, 900, 1000,
];
/** Prometheus' own default buckets, in seconds. */
const CALL_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export type AwsMetrics = ReturnType<typeof awsMetrics>;

export const awsMetrics = (metrics: Metrics) => ({
  methodSeconds: metrics.histogram(
    'cloudprovider_duration_seconds',
    'Duration of cloud provider method calls',
    ['controller', 'method', 'provider'],
    CALL_SECONDS,
  ),
  methodErrors: metrics.counter('cloudprovider_errors_total', 'Cloud provider method calls that failed', [
    'controller',
    'method',
    'provider',
    'error',
  ]),
  instanceTypeCpu: metrics.gauge('cloudprovider_instance_type_cpu_cores', 'vCPUs of an instance type', [
    'instance_type',
  ]),
  instanceTypeMemory: metrics.gauge(
    'cloudprovider_instance_type_memory_bytes',
    'Memory of an instance type, in bytes',
    ['instance_type'],
  ),
  offeringAvailable: metrics.gauge(
    'cloudprovider_instance_type_offering_available',
    'Whether an offering can be bought for any NodePool: 1 or 0',
    ['instance_type', 'capacity_type', 'zone'],
  ),
  offeringPrice: metrics.gauge(
    'cloudprovider_instance_type_offering_price_estimate',
    'Estimated price of an offering, in USD per hour',
    ['instance_type', 'capacity_type', 'zone'],
  ),
  launchFailures: metrics.counter('cloudprovider_instance_launch_failures_total', 'Errors of fleet launches', [
    'zone',
    'zone_id',
    'capacity_type',
    'reason',
  ]),
  terminationFailures: metrics.counter(
    'cloudprovider_instance_termination_failures_total',
    'Instances whose termination failed',
    ['zone', 'zone_id'],
  ),
  batchSeconds: metrics.histogram(
    'cloudprovider_batcher_batch_time_seconds',
    'Time for which a batching window was open',
    ['batcher'],
  ),
  batchSize: metrics.histogram(
    'cloudprovider_batcher_batch_size',
    'Requests in a batching window',
    ['batcher'],
    BATCH_SIZES,
  ),
  interruptionReceived: metrics.counter('interruption_received_messages_total', 'Messages received from the queue', [
    'message_type',
  ]),
  interruptionDeleted: metrics.counter('interruption_deleted_messages_total', 'Messages deleted from the queue'),
  interruptionSeconds: metrics.histogram(
    'interruption_message_queue_duration_seconds',
    'Time from an event to the end of its handling',
  ),
  unhealthyInstances: metrics.counter(
    'interruption_instance_status_unhealthy_total',
    'Instances of the cluster that EC2 reports as unhealthy',
    ['category'],
  ),
  /** Shared with the disruption controllers: the same labels, or the declaration clashes. */
  nodeClaimsDisrupted: metrics.counter('nodeclaims_disrupted_total', 'NodeClaims taken out of service', [
    'reason',
    'nodepool',
    'capacity_type',
    'consolidation_policy',
    'termination_mode',
  ]),
  userDataBytes: metrics.gauge('ec2nodeclasses_userdata_bytes', 'Size of the rendered user data, in bytes', [
    'nodeclass',
  ]),
});

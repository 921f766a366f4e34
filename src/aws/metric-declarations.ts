/** Metrics of the AWS provider: calls to AWS, instance types and offerings, batching, interruption. */
import { counter, gauge, histogram, LIBRARY_BUCKETS, NO_BUCKETS } from '#observe/metrics';

const BATCH_SIZES = [
  1, 2, 4, 5, 10, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100, 125, 150, 175, 200, 225, 250, 275, 300, 350, 400, 450,
  500, 550, 600, 700, 800, 900, 1000,
];
const CALL_LABELS = ['service', 'action', 'code'] as const;
const OFFERING_LABELS = ['instance_type', 'capacity_type', 'zone'] as const;

export const AWS_SDK_GO_REQUEST = counter({
  name: 'aws_sdk_go_request_total',
  help: 'Calls to AWS',
  labels: CALL_LABELS,
});

export const AWS_SDK_GO_REQUEST_ATTEMPT = counter({
  name: 'aws_sdk_go_request_attempt_total',
  help: 'Calls to AWS, retries included',
  labels: CALL_LABELS,
});

export const AWS_SDK_GO_REQUEST_DURATION_SECONDS = histogram({
  name: 'aws_sdk_go_request_duration_seconds',
  help: 'Duration of calls to AWS',
  labels: CALL_LABELS,
  share: { kind: 'buckets', buckets: [0.1, 1, 10, 60] },
});

export const AWS_SDK_GO_REQUEST_ATTEMPT_DURATION_SECONDS = histogram({
  name: 'aws_sdk_go_request_attempt_duration_seconds',
  help: 'Duration of one attempt of a call to AWS, without pauses between attempts',
  labels: CALL_LABELS,
  share: NO_BUCKETS,
});

export const AWS_SDK_GO_REQUEST_RETRY_COUNT = histogram({
  name: 'aws_sdk_go_request_retry_count',
  help: 'Retries of a call to AWS',
  labels: CALL_LABELS,
  buckets: [0, 1, 2, 3, 4, 5, 10],
  share: NO_BUCKETS,
});

export const CLOUDPROVIDER_DURATION_SECONDS = histogram({
  name: 'karpenter_cloudprovider_duration_seconds',
  help: 'Duration of cloud provider method calls',
  labels: ['controller', 'method', 'provider'],
  buckets: LIBRARY_BUCKETS,
  share: { kind: 'buckets', buckets: [0.1, 1, 10] },
});

export const CLOUDPROVIDER_ERRORS = counter({
  name: 'karpenter_cloudprovider_errors_total',
  help: 'Cloud provider method calls that failed',
  labels: ['controller', 'method', 'provider', 'error'],
});

export const CLOUDPROVIDER_GARBAGE_COLLECTION_HELD = gauge({
  name: 'karpenter_cloudprovider_garbage_collection_held',
  help:
    'Objects without an owner that garbage collection does not delete yet, by resource (instance, instance_profile) and ' +
    'reason: share (too many objects), identity (of another cluster of the same name), refused (AWS refused to delete them)',
  labels: ['resource', 'reason'],
});

export const CLOUDPROVIDER_INSTANCE_TYPE_CPU_CORES = gauge({
  name: 'karpenter_cloudprovider_instance_type_cpu_cores',
  help: 'vCPUs of an instance type',
  labels: ['instance_type'],
});

export const CLOUDPROVIDER_INSTANCE_TYPE_MEMORY_BYTES = gauge({
  name: 'karpenter_cloudprovider_instance_type_memory_bytes',
  help: 'Memory of an instance type, in bytes',
  labels: ['instance_type'],
});

export const CLOUDPROVIDER_INSTANCE_TYPE_OFFERING_AVAILABLE = gauge({
  name: 'karpenter_cloudprovider_instance_type_offering_available',
  help: '1 if an offering is available, 0 otherwise',
  labels: OFFERING_LABELS,
});

export const CLOUDPROVIDER_INSTANCE_TYPE_OFFERING_PRICE_ESTIMATE = gauge({
  name: 'karpenter_cloudprovider_instance_type_offering_price_estimate',
  help: 'Estimated price of an offering, in USD per hour',
  labels: OFFERING_LABELS,
});

export const CLOUDPROVIDER_INSTANCE_TYPE_PRICE_ESTIMATED = gauge({
  name: 'karpenter_cloudprovider_instance_type_price_estimated',
  help: '1 for each instance type with an estimated on-demand price',
  labels: ['instance_type'],
});

export const CLOUDPROVIDER_OFFERINGS_COUNT = gauge({
  name: 'karpenter_cloudprovider_offerings_count',
  help: 'Offerings that NodePools allow, by availability',
  labels: ['capacity_type', 'zone', 'available'],
});

export const CLOUDPROVIDER_INSTANCE_LAUNCH_FAILURES = counter({
  name: 'karpenter_cloudprovider_instance_launch_failures_total',
  help: 'Errors of fleet launches',
  labels: ['zone', 'zone_id', 'capacity_type', 'reason'],
});

export const CLOUDPROVIDER_INSTANCE_TERMINATION_FAILURES = counter({
  name: 'karpenter_cloudprovider_instance_termination_failures_total',
  help: 'Instances whose termination failed',
  labels: ['zone', 'zone_id'],
});

export const CLOUDPROVIDER_BATCHER_BATCH_TIME_SECONDS = histogram({
  name: 'karpenter_cloudprovider_batcher_batch_time_seconds',
  help: 'Time for which a batching window was open',
  labels: ['batcher'],
  share: { kind: 'buckets', buckets: [0.1, 1, 10] },
});

export const CLOUDPROVIDER_BATCHER_BATCH_SIZE = histogram({
  name: 'karpenter_cloudprovider_batcher_batch_size',
  help: 'Requests in a batching window',
  labels: ['batcher'],
  buckets: BATCH_SIZES,
  share: { kind: 'buckets', buckets: [1, 5, 10, 50, 100, 500, 1000] },
});

export const INTERRUPTION_RECEIVED_MESSAGES = counter({
  name: 'karpenter_interruption_received_messages_total',
  help: 'Messages received from the queue',
  labels: ['message_type'],
});

export const INTERRUPTION_DELETED_MESSAGES = counter({
  name: 'karpenter_interruption_deleted_messages_total',
  help: 'Messages deleted from the queue',
});

export const INTERRUPTION_MESSAGE_QUEUE_DURATION_SECONDS = histogram({
  name: 'karpenter_interruption_message_queue_duration_seconds',
  help: 'Time from an event to the end of its handling',
});

export const INTERRUPTION_INSTANCE_STATUS_UNHEALTHY = counter({
  name: 'karpenter_interruption_instance_status_unhealthy_total',
  help: 'Instances of the cluster that EC2 reports as unhealthy',
  labels: ['category'],
});

export const EC2NODECLASSES_USERDATA_BYTES = gauge({
  name: 'karpenter_ec2nodeclasses_userdata_bytes',
  help: 'Size of the rendered user data, in bytes',
  labels: ['nodeclass'],
});

export const CAPACITY_RESERVATIONS_IDLE_USD_PER_DAY = gauge({
  name: 'karpenter_capacity_reservations_idle_usd_per_day',
  help: 'Cost of the unused instances of an open capacity reservation that NodePools could use and no EC2NodeClass selects, in USD per day',
  labels: ['reservation_id', 'instance_type', 'zone'],
});

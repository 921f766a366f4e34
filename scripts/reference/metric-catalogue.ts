/** Every metric that the operator declares, for the reference page and for tests. */
import { awsMetricDeclarations } from '#aws/testing';
import {
  disruptionMetrics,
  kubeMetrics,
  nodeClaimMetrics,
  nodeMetrics,
  nodePoolMetrics,
  podMetrics,
  processMetrics,
  schedulerMetrics,
  traceMetrics,
} from '#observe/catalogues';
import { SHARED_STATUS_PREFIX, statusDeclarations, statusPrefix } from '#observe/metrics';
import type { MetricDeclaration } from '#observe/testing';

interface MetricArea {
  readonly title: string;
  /** Information about all metrics of this area. */
  readonly note?: string;
  readonly metrics: readonly MetricDeclaration[];
}

const isDeclaration = (value: unknown): value is MetricDeclaration =>
  typeof value === 'object' && value !== null && 'help' in value;

const declarationsOf = (module: object): readonly MetricDeclaration[] => Object.values(module).filter(isDeclaration);

export const METRIC_AREAS: readonly MetricArea[] = [
  { title: 'NodePools', metrics: declarationsOf(nodePoolMetrics) },
  { title: 'NodeClaims', metrics: declarationsOf(nodeClaimMetrics) },
  { title: 'Nodes and cluster state', metrics: declarationsOf(nodeMetrics) },
  { title: 'Pods', metrics: declarationsOf(podMetrics) },
  { title: 'Scheduling', metrics: declarationsOf(schedulerMetrics) },
  { title: 'Disruption', metrics: declarationsOf(disruptionMetrics) },
  {
    title: 'Status conditions of a kind',
    note:
      '`KIND` is `nodeclaim`, `nodepool`, `node`, `ec2nodeclass` or, with the feature gate `CapacityBuffer`, ' +
      '`capacitybuffer`. Series of NodeClaims and Nodes also carry the labels ' +
      '`karpenter_k8s_aws_ec2nodeclass` and `karpenter_sh_nodepool`, those of Nodes `karpenter_sh_initialized`. ' +
      'Buckets of `ec2nodeclass` are those of calls to the cloud provider. The default view sums the gauges of NodeClaims and ' +
      'Nodes over `name`, or uses their maximum if they are times.',
    metrics: Object.values(
      statusDeclarations({ prefix: statusPrefix('KIND'), labels: [], buckets: 'transition', shown: 'objects' }),
    ),
  },
  {
    title: 'Status conditions of all kinds',
    note: 'Older form of the metrics above. Nodes have none.',
    metrics: Object.values(
      statusDeclarations({
        prefix: SHARED_STATUS_PREFIX,
        labels: ['group', 'kind'],
        buckets: 'transition',
        shown: 'nothing',
      }),
    ),
  },
  { title: 'AWS', metrics: declarationsOf(awsMetricDeclarations) },
  {
    title: 'Controllers and the API server',
    note:
      "Two of Karpenter's metrics do not exist here: `controller_runtime_conversion_webhook_panics_total`, as there are no " +
      'webhooks, and `leader_election_slowpath_total`, as each renewal of the Lease reads it first.',
    metrics: declarationsOf(kubeMetrics),
  },
  {
    title: 'Process',
    note:
      "In addition there are the `process_*` and `nodejs_*` metrics of Node.js' Prometheus client. The metrics of Go and of its " +
      'client do not exist, also with `METRICS=karpenter`, because they would have another meaning. Instead of `go_memstats_*` use ' +
      '`process_resident_memory_bytes` and `nodejs_thread_heap_used_bytes`, instead of `go_gc_duration_seconds` ' +
      '`nodejs_thread_gc_seconds_total`, instead of `go_info` `karpenter_build_info`, and instead of `rest_client_requests_total` and ' +
      '`rest_client_request_duration_seconds` `client_go_request_total` and `client_go_request_duration_seconds`. There is no ' +
      'equivalent of `go_goroutines` and `go_threads`.',
    metrics: declarationsOf(processMetrics),
  },
  { title: 'Traces', note: 'Served if a collector of traces is configured.', metrics: declarationsOf(traceMetrics) },
];

export const METRICS: readonly MetricDeclaration[] = METRIC_AREAS.flatMap(({ metrics }) => metrics);

/** A large cluster in stores, with many kinds of nodes, to measure its metrics. */
import {
  type KubeObject,
  NODE,
  NODE_CLAIM,
  NODE_POOL,
  type Node,
  type NodePool,
  POD,
  type Pod,
  WELL_KNOWN_LABELS,
} from '#api/objects';
import { NODE_CLASS_KIND } from '#aws/node-classes';
import { parseAwsSettings } from '#aws/settings';
import { awsMetrics, typesInUse } from '#aws/testing';
import type { CloudProvider } from '#cloud';
import { runControllers } from '#kube/reconcilers';
import { silent } from '#observe/logger';
import type { MetricsView } from '#observe/metrics';
import { createMetrics } from '#observe/setup';
import { ClusterState } from '#state';
import { claimAt, nodeAt, NODE_POOL as POOL, podAt } from '../../../../bench/largecluster.ts';
import type { Deps } from '../../../../src/controllers/deps.ts';
import { metricsControllers } from '../../../../src/controllers/index.ts';
import { handFed } from '../../kube/fakes.ts';
import { virtualClock } from '../../virtualclock.ts';

const TYPES = 40;
const POOLS = 5;
const SOLD_TYPES = 700;
const ZONES = ['zone-a', 'zone-b', 'zone-c'];
const CAPACITY_TYPES = ['on-demand', 'spot', 'reserved'];

/** All labels of EC2 nodes. Nodes differ by type, zone, capacity type and NodePool. */
const labelsOf = (index: number): Readonly<Record<string, string>> => ({
  ...Object.fromEntries([...WELL_KNOWN_LABELS].map((label) => [label, `value-of-${index % TYPES}`])),
  'karpenter.k8s.aws/ec2nodeclass': 'default',
  'karpenter.sh/initialized': 'true',
  'karpenter.sh/registered': 'true',
  'karpenter.sh/nodepool': `pool-${index % POOLS}`,
  'karpenter.sh/capacity-type': CAPACITY_TYPES[index % 2] ?? '',
  'topology.kubernetes.io/zone': ZONES[index % ZONES.length] ?? '',
  'node.kubernetes.io/instance-type': `m${index % TYPES}.large`,
});

const MORE = { 'ephemeral-storage': '20Gi', 'hugepages-1Gi': '0', 'hugepages-2Mi': '0', 'nvidia.com/gpu': '1' };

const labelled = <T>(object: T, labels: Readonly<Record<string, string>>): T => {
  const { metadata, status } = object as unknown as Node;
  const with_ = (list: object | undefined) => ({ ...list, ...MORE });
  const amounts = { capacity: with_(status?.capacity), allocatable: with_(status?.allocatable) };
  return { ...object, metadata: { ...metadata, labels }, status: { ...status, ...amounts } } as T;
};

const asPod = (object: KubeObject): KubeObject => object;

interface Size {
  readonly nodes: number;
  readonly pods: number;
}

/** Runs the metrics controllers until they have measured everything. */
export async function measuredCluster(size: Size, view: MetricsView) {
  const { metrics, measure } = clusterToMeasure(size, view);
  await measure();
  return metrics;
}

/** A cluster in stores, and metrics controllers that run on demand. */
export function clusterToMeasure(size: Size, view: MetricsView) {
  const clock = virtualClock(Date.parse('2026-06-02T00:00:00Z'));
  const { informers, store } = handFed();
  const metrics = createMetrics({ view });
  const cluster = new ClusterState({ informers, clock, manages: () => true });
  const cloud = {
    nodeClassKinds: [NODE_CLASS_KIND],
    instanceTypes: async () => [],
  } as unknown as CloudProvider;
  const settings = parseAwsSettings(['--cluster-name=test'], {});
  const deps = { informers, cluster, cloud, clock, metrics, settings, events: { publish() {} } } as unknown as Deps;
  const stop = new AbortController();
  const controllers = metricsControllers(deps);
  for (let index = 0; index < POOLS; index++)
    store(NODE_POOL).put({ ...POOL, metadata: { ...POOL.metadata, name: `pool-${index}` } } as NodePool);
  for (let index = 0; index < size.nodes; index++) {
    store(NODE).put(labelled(nodeAt(index) as unknown as Node, labelsOf(index)));
    store(NODE_CLAIM).put(labelled(claimAt(index), labelsOf(index)));
  }
  for (let index = 0; index < size.pods; index++)
    store(POD).put(asPod(podAt(index, size) as unknown as KubeObject) as Pod);
  const measure = async (): Promise<void> => {
    runControllers({ controllers, informers, clock, log: silent, metrics, signal: stop.signal });
    sell(awsMetrics(metrics, typesInUse(informers)));
    await clock.advance(12_000);
  };
  return {
    metrics,
    clock,
    cluster,
    async measure() {
      await measure();
      stop.abort();
    },
    /** Continues to measure. */
    begin: measure,
  };
}

/** Sets the offerings of a region in every zone and capacity type. */
function sell({ offeringAvailable, offeringPrice, instanceTypeCpu }: ReturnType<typeof awsMetrics>): void {
  for (let index = 0; index < SOLD_TYPES; index++) {
    const type = `m${index}.large`;
    const offerings = ZONES.flatMap((zone) =>
      CAPACITY_TYPES.map((capacity_type) => ({ labels: { instance_type: type, capacity_type, zone }, value: 1 })),
    );
    offeringAvailable.set(type, offerings);
    offeringPrice.set(type, offerings);
    instanceTypeCpu.set(type, [{ labels: { instance_type: type }, value: 4 }]);
  }
}

/** Metrics of pods: location, and the time until they are scheduled and started. */
import { getCondition } from '../../api/conditions.ts';
import { POD } from '../../api/kinds.ts';
import type { Pod } from '../../api/kubernetes.ts';
import { ARCH_LABEL, CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, NODEPOOL_LABEL, ZONE_LABEL } from '../../api/labels.ts';
import { nodeNameOf } from '../../api/object-fields.ts';
import { podKey } from '../../engine/pods.ts';
import { after, type Reconciler, settled } from '../../kube/reconciler.ts';
import { PODS_STATE } from '../../observe/metrics/pods.ts';
import type { Labels, Sample } from '../../observe/owned-series.ts';
import type { ClusterState } from '../../state/cluster.ts';
import type { Deps } from '../deps.ts';
import { PodWaits } from './pod-waits.ts';

const INTERVAL_MS = 30_000;

export function podMetrics({ clock, cluster, metrics }: Deps): Reconciler<Pod> {
  const waits = new PodWaits(metrics);
  /** False on a standby replica, which also caches pods but must not measure them. */
  let isMeasuring = false;
  metrics.readAtScrape(PODS_STATE, () => (isMeasuring ? stateSamples(cluster) : []));

  return {
    name: 'metrics.pod',
    watches: POD,
    concurrency: 1,
    removed: ({ namespace = 'default', name }) => waits.forget(`${namespace}/${name}`),

    async reconcile(pod) {
      isMeasuring = true;
      const isWaiting = waits.observe(pod, cluster.podTimings.get(podKey(pod)), clock.now());
      // metrics of pods that do not wait do not change with time, and there are tens of thousands of pods
      return isWaiting ? after(INTERVAL_MS) : settled;
    },
  };
}

/** Creates samples during the scrape, because a sample takes more memory than the pod. */
function* stateSamples(cluster: ClusterState): Generator<Sample> {
  for (const pod of cluster.stores.pods.list()) yield { labels: stateLabels(pod, cluster), value: 1 };
}

function stateLabels(pod: Pod, { stores }: ClusterState): Labels {
  const { name, namespace = '', ownerReferences = [] } = pod.metadata;
  const [owner] = ownerReferences;
  const nodeName = nodeNameOf(pod);
  const labels = (nodeName === '' ? undefined : stores.nodes.get({ name: nodeName }))?.metadata.labels ?? {};
  return {
    name,
    namespace,
    owner: owner ? `/apis/${owner.apiVersion}/namespaces/${namespace}/${owner.kind.toLowerCase()}s/${owner.name}` : '',
    node: nodeName,
    scheduled: String(nodeName !== ''),
    nodepool: labels[NODEPOOL_LABEL] ?? '',
    zone: labels[ZONE_LABEL] ?? '',
    arch: labels[ARCH_LABEL] ?? '',
    capacity_type: labels[CAPACITY_TYPE_LABEL] ?? '',
    instance_type: labels[INSTANCE_TYPE_LABEL] ?? '',
    phase: pod.status?.phase ?? '',
    ready: String(getCondition(pod, 'Ready')?.status === 'True'),
    managed: String(labels[NODEPOOL_LABEL] !== undefined),
  };
}

/** Metrics of pods: where they are, and how long they waited to be placed and to start. */
import { getCondition } from '../../api/conditions.ts';
import { POD } from '../../api/kinds.ts';
import type { Pod } from '../../api/kubernetes.ts';
import { ARCH_LABEL, CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, NODEPOOL_LABEL, ZONE_LABEL } from '../../api/labels.ts';
import { nodeNameOf } from '../../api/object-fields.ts';
import { isTerminal, podKey } from '../../engine/pods.ts';
import { after, type Reconciler } from '../../kube/reconciler.ts';
import { PODS_STATE } from '../../observe/metrics/pods.ts';
import { type Labels, OwnedSeries } from '../../observe/owned-series.ts';
import type { ClusterState } from '../../state/cluster.ts';
import type { Deps } from '../deps.ts';
import { PodWaits } from './pod-waits.ts';

const INTERVAL_MS = 30_000;

export function podMetrics({ clock, cluster, metrics }: Deps): Reconciler<Pod> {
  const state = new OwnedSeries(metrics, PODS_STATE);
  const waits = new PodWaits(metrics);

  return {
    name: 'metrics.pod',
    watches: POD,
    concurrency: 1,
    removed: ({ namespace = 'default', name }) => {
      state.remove(`${namespace}/${name}`);
      waits.forget(`${namespace}/${name}`);
    },

    async reconcile(pod) {
      const key = podKey(pod);
      state.set(key, [{ labels: stateLabels(pod, cluster), value: 1 }]);
      waits.observe(pod, cluster.podTimings.get(key), clock.now());
      // nothing about a finished pod changes with time
      return after(isTerminal(pod) ? 10 * INTERVAL_MS : INTERVAL_MS);
    },
  };
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

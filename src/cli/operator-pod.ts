/** Finds the leading operator in a cluster and opens a connection to its metrics port. */
import { LEASE, POD } from '../api/kinds.ts';
import type { Pod } from '../api/kubernetes.ts';
import { ApiError } from '../kube/client.ts';
import type { HttpKubeReader } from '../kube/http.ts';
import type { ForwardedPort } from '../kube/port-forward.ts';
import type { ClusterFlags } from './cluster.ts';

/** Default of the setting `leader-election-name`. */
const LEASE_NAME = 'karpenter-leader-election';
const METRICS_PORT = 'http-metrics';
const DEFAULT_PORT = 8080;

/** Returns the pod of the leader, or the reason why it is unknown. */
async function leaderPod(client: Pick<HttpKubeReader, 'list' | 'find'>): Promise<Pod | string> {
  try {
    const { items } = await client.list(LEASE, { fieldSelector: `metadata.name=${LEASE_NAME}` });
    const [lease] = items;
    if (lease === undefined) return `the cluster has no Lease ${LEASE_NAME}`;
    const holder = lease.spec?.holderIdentity ?? '';
    const { namespace = 'kube-system' } = lease.metadata;
    // the identity is the name of the pod and a random suffix
    const name = holder.slice(0, holder.lastIndexOf('_'));
    const pod = name === '' ? undefined : await client.find(POD, { namespace, name });
    return pod ?? `the holder of the Lease ${namespace}/${LEASE_NAME} is not a pod: "${holder}"`;
  } catch (error) {
    if (error instanceof ApiError && [401, 403].includes(error.status)) return error.message;
    throw error;
  }
}

const metricsPortOf = ({ spec }: Pod): number =>
  spec.containers.flatMap(({ ports = [] }) => ports).find(({ name }) => name === METRICS_PORT)?.containerPort ??
  DEFAULT_PORT;

/** Forwards a local port to the metrics port of the leader, or returns the reason why there is no leader. */
export async function forwardToOperator(
  client: Pick<HttpKubeReader, 'list' | 'find'>,
  { kubeconfig, context }: ClusterFlags,
): Promise<ForwardedPort | string> {
  const pod = await leaderPod(client);
  if (typeof pod === 'string') return pod;
  const { name, namespace = 'default' } = pod.metadata;
  const { forwardPort } = await import('../kube/port-forward.ts');
  return forwardPort({ kubeconfig, context }, { namespace, pod: name, port: metricsPortOf(pod) });
}

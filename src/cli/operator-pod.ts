/** Finds the leading operator in a cluster and opens a connection to its metrics port. */
import { LEASE, POD, type Pod } from '#api/objects';
import { ApiError } from '#kube/client';
import type { HttpKubeReader } from '#kube/connection';
import type { ForwardedPort } from '#kube/port-forward';
import type { ClusterFlags } from './cluster.ts';
import { operatorAccounts, type ServiceAccountName } from './operator-accounts.ts';

/** Default of the setting `leader-election-name`. */
const LEASE_NAME = 'karpenter-leader-election';
const METRICS_PORT = 'http-metrics';
const DEFAULT_PORT = 8080;

export interface OperatorFlags extends ClusterFlags {
  /** Namespace of the operator. Undefined to search for it. */
  readonly operatorNamespace?: string;
}

type Reader = Pick<HttpKubeReader, 'listAll' | 'find'>;

const isForbidden = (error: unknown): error is ApiError =>
  error instanceof ApiError && [401, 403].includes(error.status);

export class SeveralOperators extends Error {}

/** Candidates for the operator, or the reason why they are unknown. */
interface Search {
  readonly namespaces: readonly string[];
  /** Reports whether a pod runs with the rights of the operator. */
  readonly isTrusted: (pod: Pod) => boolean;
}

/** Reads the ServiceAccount, which is not among the fields that caches of pods keep. */
function accountOf({ metadata: { namespace = '' }, spec }: Pod): ServiceAccountName {
  const { serviceAccountName: name = 'default' } = spec as Pod['spec'] & { readonly serviceAccountName?: string };
  return { namespace, name };
}

async function searchFor(client: Reader, namespace: string | undefined): Promise<Search | string> {
  try {
    const accounts = await operatorAccounts(client);
    const names = new Set(accounts.map((account) => `${account.namespace}/${account.name}`));
    const isTrusted = (pod: Pod): boolean => {
      const account = accountOf(pod);
      return names.has(`${account.namespace}/${account.name}`);
    };
    const namespaces = [...new Set(accounts.map((account) => account.namespace))].sort();
    if (namespace !== undefined) return { namespaces: [namespace], isTrusted };
    if (namespaces.length > 0) return { namespaces, isTrusted };
    return 'no ClusterRoleBinding gives a ServiceAccount the rights of the operator';
  } catch (error) {
    if (!isForbidden(error)) throw error;
    // the user vouches for the pods of a namespace that the user names
    if (namespace !== undefined) return { namespaces: [namespace], isTrusted: () => true };
    return `${error.message}; name the namespace of the operator with --operator-namespace`;
  }
}

/** Returns the pod that holds the Lease of a namespace, or the reason why it is unknown. */
async function holderIn(client: Reader, namespace: string, { isTrusted }: Search): Promise<Pod | string> {
  const lease = await client.find(LEASE, { namespace, name: LEASE_NAME });
  if (lease === undefined) return `namespace ${namespace} has no Lease ${LEASE_NAME}`;
  const holder = lease.spec?.holderIdentity ?? '';
  // the identity is the name of the pod and a random suffix
  const name = holder.slice(0, holder.lastIndexOf('_'));
  const pod = name === '' ? undefined : await client.find(POD, { namespace, name });
  if (pod === undefined) return `the holder of the Lease ${namespace}/${LEASE_NAME} is not a pod: "${holder}"`;
  return isTrusted(pod)
    ? pod
    : `the ServiceAccount of pod ${namespace}/${name}, which holds the Lease, does not have the rights of the operator`;
}

/**
 * Returns the pod of the leader, or the reason why it is unknown.
 * @throws Error with the candidates if the cluster has several operators
 */
async function leaderPod(client: Reader, operatorNamespace: string | undefined): Promise<Pod | string> {
  try {
    const search = await searchFor(client, operatorNamespace);
    if (typeof search === 'string') return search;
    const found: Pod[] = [];
    const reasons: string[] = [];
    for (const namespace of search.namespaces) {
      const holder = await holderIn(client, namespace, search);
      if (typeof holder === 'string') reasons.push(holder);
      else found.push(holder);
    }
    if (found.length > 1) throw new SeveralOperators(severalText(found));
    return found[0] ?? reasons.join('; ');
  } catch (error) {
    if (isForbidden(error)) return error.message;
    throw error;
  }
}

function severalText(pods: readonly Pod[]): string {
  const names = pods.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  return `the cluster has several operators (${names.join(', ')}); choose one with --operator-namespace`;
}

const metricsPortOf = ({ spec }: Pod): number =>
  spec.containers.flatMap(({ ports = [] }) => ports).find(({ name }) => name === METRICS_PORT)?.containerPort ??
  DEFAULT_PORT;

/**
 * Forwards a local port to the metrics port of the leader, or returns the reason why there is no leader.
 * @throws SeveralOperators
 */
export async function forwardToOperator(
  client: Reader,
  { kubeconfig, context, operatorNamespace }: OperatorFlags,
): Promise<ForwardedPort | string> {
  const pod = await leaderPod(client, operatorNamespace);
  if (typeof pod === 'string') return pod;
  const { name, namespace = 'default' } = pod.metadata;
  const { forwardPort } = await import('#kube/port-forward');
  return forwardPort({ kubeconfig, context }, { namespace, pod: name, port: metricsPortOf(pod) });
}

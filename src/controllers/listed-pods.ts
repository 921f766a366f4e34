/**
 * Reads the pods of a node from the API server instead of the cache. This is required before an act that cannot be undone,
 * because the cache of a silent watch is outdated without an error.
 */
import { POD, type Pod } from '#api/objects';
import { ConnectionError, type KubeReader, type ListOptions, trimmedObject } from '#kube/client';
import type { Deps } from './deps.ts';

/** Time for the list in milliseconds. The callers retry, and must not wait long for a server that does not respond. */
export const LIST_WITHIN_MS = 10_000;
/** Maximum size of the list in one response. A usual node has a hundred pods of 10 kB. */
const LONGEST_BYTES = 32 * 2 ** 20;

/**
 * Returns the pods that are bound to a node, as the API server stores them now. Without `limit`, API servers since
 * Kubernetes 1.31 serve this list from their index of pods by node, after they have confirmed with etcd that the index is
 * current. With `limit`, some versions read all pods of the cluster from etcd.
 * @throws Error if the list is not complete
 */
export async function listPodsOnNode(client: KubeReader, nodeName: string): Promise<readonly Pod[]> {
  const pods = await listOrPage(client, { fieldSelector: `spec.nodeName=${nodeName}`, withinMs: LIST_WITHIN_MS });
  // a proxy may ignore the selector
  return pods.filter(({ spec }) => spec.nodeName === nodeName).map((pod) => trimmedObject(POD, pod));
}

async function listOrPage(client: KubeReader, query: ListOptions): Promise<readonly Pod[]> {
  try {
    const { items, metadata } = await client.list(POD, { ...query, longestBytes: LONGEST_BYTES });
    if (!metadata.continue) return items;
  } catch (error) {
    if (!(error instanceof ConnectionError && error.isTooLong)) throw error;
  }
  return client.listAll(POD, query);
}

/** Maximum delay of the cache behind a list. */
const LAG_MS = 5_000;

/** Reads all pods again if the cache does not show these pods on their node soon. */
export function expectInCache(
  { client, clock, cluster, informers, log }: Pick<Deps, 'client' | 'clock' | 'cluster' | 'informers' | 'log'>,
  pods: readonly Pod[],
): void {
  const isMissing = ({ metadata, spec }: Pod): boolean => {
    const known = cluster.stores.pods.get(metadata);
    return known?.metadata.uid !== metadata.uid || known?.spec.nodeName !== spec.nodeName;
  };
  const compare = async (): Promise<void> => {
    const missing = pods.find(isMissing);
    // a pod that was deleted in the meantime is missing with reason
    const present = missing && (await client.find(POD, missing.metadata));
    if (present?.metadata.uid === missing?.metadata.uid && pods.some(isMissing)) informers.distrust(POD);
  };
  if (!pods.some(isMissing)) return;
  clock.after(LAG_MS, () => {
    compare().catch((error: unknown) => log.debug('failed reading a pod that the cache does not show', { error }));
  });
}

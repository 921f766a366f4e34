/**
 * Identity of the cluster: the UID of its namespace `kube-system`. Clusters may have the same name, and then the same
 * tags, but never the same UID. Every resource that the provider creates in AWS has the UID as a tag.
 */

import { type KubeObject, NAMESPACE, type StringMap } from '#api/objects';
import { ApiError, isNotFound, type KubeClient } from '#kube/client';
import { messageOf, own, quoted } from '#lib';
import type { Logger } from '#observe/logger';
import { CLUSTER_UID_TAG } from './tags.ts';

const NAME = 'kube-system';
/** Accepts the values that are also valid as a tag. */
const UID = /^[\w.:-]{1,128}$/;

const isForbidden = (error: unknown): boolean => error instanceof ApiError && error.status === 403;

/**
 * Reads the UID. Returns undefined and logs a warning if the namespace may not be read, or if its UID is invalid.
 * @throws Error if the API server does not respond
 */
export async function readClusterUid(client: KubeClient, log: Logger): Promise<string | undefined> {
  const unidentified = (error: unknown): undefined => {
    log.warn('cannot read the UID of the cluster, launching instances without its tag', {
      tag: CLUSTER_UID_TAG,
      error: messageOf(error),
      remedy: `allow get for the namespace ${NAME} in the ClusterRole, as in the chart, and restart the operator`,
    });
  };
  try {
    const { uid = '' } = (await client.get(NAMESPACE, { name: NAME })).metadata;
    return UID.test(uid) ? uid : unidentified(new Error(`namespace ${NAME}: metadata.uid ${quoted(uid)} is invalid`));
  } catch (error) {
    if (isForbidden(error) || isNotFound(error)) return unidentified(error);
    throw new Error(`reading the identity of the cluster, ${messageOf(error)}`, { cause: error });
  }
}

/** Reports whether the tags contain the UID of another cluster. Resources that Karpenter created have no such tag. */
export function isOfAnotherCluster(tags: StringMap, clusterUid: string | undefined): boolean {
  const uid = own(tags, CLUSTER_UID_TAG);
  return clusterUid !== undefined && uid !== undefined && uid !== clusterUid;
}

/** Returns the object for events about the whole cluster. */
export const clusterObject = (clusterUid: string | undefined): KubeObject => ({
  apiVersion: 'v1',
  kind: NAMESPACE.kind,
  metadata: { name: NAME, ...(clusterUid === undefined ? {} : { uid: clusterUid }) },
});

/** Tags instances with the names of their Node and NodeClaim when both names are known. */

import { CLUSTER_NAME_TAGGED_ANNOTATION, NODE_CLAIM, type NodeClaim, TAGGED_ANNOTATION } from '#api/objects';
import { causeOf, NodeClaimNotFound } from '#cloud';
import { isNotFound, type KubeClient } from '#kube/client';
import { type Reconciler, settled } from '#kube/reconcilers';
import { own } from '#lib';
import type { Clock } from '#lib/clock';
import { CLUSTER_NAME_TAG, NAME_TAG, NODECLAIM_TAG } from '../tags.ts';
import { instanceIdOf } from './instance.ts';
import type { Instances } from './instances.ts';

/** CreateTags has a low rate limit, which launches share. */
const PAUSE_MS = 1_000;

const ANNOTATIONS = { [TAGGED_ANNOTATION]: 'true', [CLUSTER_NAME_TAGGED_ANNOTATION]: 'true' };

const isTaggable = ({ metadata, status, spec }: NodeClaim): boolean =>
  spec.nodeClassRef.group === 'karpenter.k8s.aws' &&
  status?.nodeName !== undefined &&
  metadata.deletionTimestamp === undefined &&
  Object.entries(ANNOTATIONS).some(([key, value]) => own(metadata.annotations, key) !== value);

export function tagging(
  client: KubeClient,
  instances: Instances,
  { clusterName, clock }: { readonly clusterName: string; readonly clock: Clock },
): Reconciler<NodeClaim> {
  /** Adds missing tags and does not change existing tags. Returns false if the instance no longer exists. */
  async function tag(id: string, claim: NodeClaim, signal: AbortSignal): Promise<boolean> {
    const wanted = {
      [NAME_TAG]: claim.status?.nodeName ?? '',
      [NODECLAIM_TAG]: claim.metadata.name,
      [CLUSTER_NAME_TAG]: clusterName,
    };
    try {
      const { tags } = await instances.get(id, { skipCache: true });
      const missing = Object.fromEntries(Object.entries(wanted).filter(([key]) => !Object.hasOwn(tags, key)));
      if (Object.keys(missing).length === 0) return true;
      await instances.tag(id, missing);
      await clock.sleep(PAUSE_MS, signal);
      return true;
    } catch (error) {
      if (causeOf(error, NodeClaimNotFound)) return false;
      throw error;
    }
  }

  return {
    name: 'nodeclaim.tagging',
    watches: NODE_CLAIM,
    concurrency: 1,
    filter: isTaggable,
    async reconcile(claim, { log, signal }) {
      if (!isTaggable(claim)) return settled;
      let id: string;
      try {
        id = instanceIdOf(claim.status?.providerID);
      } catch (error) {
        log.error('failed parsing instance id', { error });
        return settled;
      }
      if (!(await tag(id, claim, signal))) return settled;
      try {
        await client.patch(NODE_CLAIM, { name: claim.metadata.name }, { metadata: { annotations: ANNOTATIONS } });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
      return settled;
    },
  };
}

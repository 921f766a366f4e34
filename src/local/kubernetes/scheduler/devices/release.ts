/** Releases an allocated claim that keeps a pod from its nodes, as kube-scheduler does after no node fits. */
import type { ResourceClaim } from '../../../../api/dra/objects.ts';
import { RESOURCE_CLAIM } from '../../../../api/kinds.ts';
import type { Pod } from '../../../../api/kubernetes.ts';
import type { Parts } from '../../../parts.ts';
import { matchesAnyTerm } from '../selectors.ts';
import type { ClusterView } from '../view.ts';
import { isReservedFor } from './claims-of-pod.ts';

/** Returns true if the pod alone uses the claim, and some node does not reach the allocated devices. */
function isInTheWay(claim: ResourceClaim, pod: Pod, { nodes }: ClusterView): boolean {
  const { allocation, reservedFor = [] } = claim.status ?? {};
  const terms = allocation?.nodeSelector?.nodeSelectorTerms;
  const isIdle = reservedFor.length === 0 || (reservedFor.length === 1 && isReservedFor(claim, pod));
  return isIdle && terms !== undefined && nodes.some(({ node }) => !matchesAnyTerm(terms, node));
}

/** Removes the allocation of the first such claim. The change of the claim lets the pod be tried again. */
export async function releaseIdleClaim(pod: Pod, cluster: ClusterView, { client }: Parts): Promise<void> {
  if ((pod.spec.resourceClaims ?? []).length === 0) return;
  const needs = cluster.devices?.needsOf(pod);
  if (needs === undefined || 'refusal' in needs) return;
  const idle = needs.claims.find((claim) => isInTheWay(claim, pod, cluster));
  if (idle === undefined) return;
  const { resourceVersion } = idle.metadata;
  const patch = { metadata: { resourceVersion }, status: { allocation: null, reservedFor: null } };
  await client.patch(RESOURCE_CLAIM, idle.metadata, patch, { subresource: 'status' });
}

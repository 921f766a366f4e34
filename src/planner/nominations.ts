/** Nominations: places that a decision has found for pods that are not bound yet. */

import { type Pod, uidOf } from '#api/objects';
import { usesDevices } from '#engine/devices';
import type { Plan, StateNode } from '#engine/model';
import type { ClusterState } from '#state';

const LEAST_NOMINATION_MS = 10_000;

/** Nominates a node, which protects the node from disruption until the pods have had time to be bound. */
export function nominateNode(
  { cluster, settings }: { readonly cluster: ClusterState; readonly settings: { readonly batchMaxMs: number } },
  { providerId }: Pick<StateNode, 'providerId'>,
): void {
  cluster.nominate(providerId, Math.max(2 * settings.batchMaxMs, LEAST_NOMINATION_MS));
}

/** Records the NodeClaim that was chosen for a pod with resource claims. The next decisions then choose the same NodeClaim. */
export function recordClaim({ nominatedClaims }: Pick<ClusterState, 'nominatedClaims'>, pod: Pod, claim: string): void {
  if (usesDevices(pod)) nominatedClaims.set(uidOf(pod), claim);
}

interface Placed {
  readonly node: StateNode;
  readonly pods: readonly Pod[];
}

/** Returns the nodes on which a plan places pods. @param podOf finds a pod by its namespaced name */
export const placedPods = (
  { placements }: Pick<Plan, 'placements'>,
  cluster: Pick<ClusterState, 'nodeByProviderId'>,
  podOf: (key: string) => Pod | undefined,
): readonly Placed[] =>
  placements.flatMap(({ providerId, pods: keys }) => {
    const node = cluster.nodeByProviderId(providerId);
    const pods = keys.flatMap((key) => podOf(key) ?? []);
    return node === undefined || pods.length === 0 ? [] : [{ node, pods }];
  });

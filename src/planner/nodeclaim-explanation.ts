/** Explanation of a NodeClaim, from the state of a cluster and the input of its NodePool. */
import { type NodeClaim, poolNameOf } from '#api/objects';
import { chargesUsdPerHour } from '#engine/costs';
import { explainNodeClaim, type LaunchAnswer, type NodeClaimExplanation } from '#engine/explanations';
import { isOwnedByDaemonSet, type PoolInput, podKey } from '#engine/model';
import type { ClusterState } from '#state';

interface ExplanationParts {
  readonly nowMs: number;
  /** Returns the input of a NodePool by its name, or undefined if the NodePool does not exist. */
  readonly poolOf: (name: string) => Promise<PoolInput | undefined> | PoolInput | undefined;
  /** Returns the response of EC2 to the launch, which only the operator that launched the instance has. */
  readonly answerOf?: (claim: NodeClaim) => LaunchAnswer | undefined;
}

/** Returns the explanation of a NodeClaim by its name or the name of its node, or undefined if it does not exist. */
export async function explainClaim(
  cluster: ClusterState,
  name: string,
  { nowMs, poolOf, answerOf }: ExplanationParts,
): Promise<NodeClaimExplanation | undefined> {
  const claim = cluster.claim(name) ?? cluster.nodeByName(name)?.nodeClaim;
  if (claim === undefined) return undefined;
  const pool = await poolOf(poolNameOf(claim));
  return explainNodeClaim({
    claim,
    pool: pool?.nodePool,
    types: pool?.instanceTypes ?? [],
    answer: answerOf?.(claim),
    chargesUsdPerHour: chargesUsdPerHour(pool?.extras),
    pods: podsOf(claim, cluster),
    nowMs,
    failure: cluster.launchFailures.of(claim.metadata.name),
  });
}

/** Returns the pods on the node, and the pending pods for which the NodeClaim was created. */
function podsOf(claim: NodeClaim, cluster: ClusterState): readonly string[] {
  const bound = cluster.nodeOfClaim(claim)?.pods.filter((pod) => !isOwnedByDaemonSet(pod)) ?? [];
  const waiting = [...cluster.podTimings.entries()]
    .filter(([, { nodeClaim }]) => nodeClaim === claim.metadata.name)
    .map(([key]) => key);
  return [...new Set([...bound.map(podKey), ...waiting])];
}

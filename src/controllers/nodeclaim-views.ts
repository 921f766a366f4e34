/** Content of `/debug/nodeclaims`: explanations of NodeClaims. The format is public. */
import type { NodeClaim } from '../api/nodeclaim.ts';
import { poolNameOf } from '../api/object-fields.ts';
import { explainNodeClaim, type NodeClaimExplanation } from '../engine/causes/nodeclaim-explanation.ts';
import type { InstanceType } from '../engine/model.ts';
import { chargesUsdPerHour } from '../engine/node-extras.ts';
import { isOwnedByDaemonSet, podKey } from '../engine/pods.ts';
import type { ClusterState } from '../state/cluster.ts';
import type { Deps } from './deps.ts';
import { nodeExtras } from './node-extras.ts';

type ViewDeps = Pick<Deps, 'cloud' | 'clock' | 'cluster' | 'settings' | 'log'>;

/** Returns the names of all NodeClaims. */
export const nodeClaimNames = ({ cluster }: Pick<Deps, 'cluster'>): readonly string[] =>
  cluster.stores.nodeClaims.list().map(({ metadata }) => metadata.name);

/** Returns the explanation of a NodeClaim by its name or the name of its node, or undefined if it does not exist. */
export async function nodeClaimView(
  { cloud, clock, cluster, settings, log }: ViewDeps,
  name: string,
): Promise<NodeClaimExplanation | undefined> {
  const claim = cluster.claim(name) ?? cluster.nodeByName(name)?.nodeClaim;
  if (claim === undefined) return undefined;
  const pool = cluster.stores.nodePools.get({ name: poolNameOf(claim) });
  const types = pool && (await cloud.instanceTypes(pool).catch((): readonly InstanceType[] => []));
  const extras = pool && nodeExtras({ cloud, settings, log }, pool, settings.consolidation).extras;
  return explainNodeClaim({
    ...{ claim, pool, types: types ?? [], answer: cloud.launchAnswer?.(claim) },
    chargesUsdPerHour: chargesUsdPerHour(extras),
    ...{ pods: podsOf(claim, cluster), nowMs: clock.now() },
  });
}

function podsOf(claim: NodeClaim, cluster: ClusterState): readonly string[] {
  const bound = cluster.nodeOfClaim(claim)?.pods.filter((pod) => !isOwnedByDaemonSet(pod)) ?? [];
  const waiting = [...cluster.podTimings.entries()]
    .filter(([, { nodeClaim }]) => nodeClaim === claim.metadata.name)
    .map(([key]) => key);
  return [...new Set([...bound.map(podKey), ...waiting])];
}

/** NodeClaims that are not launched yet, as nodes of a solve. */
import { NODEPOOL_LABEL, type NodeClaim } from '#api/objects';
import {
  largestCapacity,
  type PoolInput,
  type Resources,
  readableResources,
  type StateNode,
  unlaunchedProviderId,
} from '#engine/model';
import type { OverdueClaim } from '#state';

/** Resources of a node that accepts no pods. */
const CLOSED: Resources = { pods: -1 };

/**
 * Returns a node of the largest possible size for each claim, so that the limits of NodePools hold. If the pods of a claim are
 * known, its node accepts no further pods. A claim of an earlier process has unknown pods, so its node offers only the requested
 * resources.
 */
export function overdueNodes(claims: readonly OverdueClaim[], pools: readonly PoolInput[]): readonly StateNode[] {
  const typesOf = new Map(pools.map(({ nodePool, instanceTypes }) => [nodePool.metadata.name, instanceTypes]));
  return claims.map(({ claim, pods }) => {
    const { name, labels = {}, annotations = {}, deletionTimestamp } = claim.metadata;
    const requests = readableResources(claim.spec.resources?.requests);
    const types = typesOf.get(labels[NODEPOOL_LABEL] ?? '') ?? [];
    return {
      name,
      providerId: unlaunchedProviderId(name),
      nodeClaim: claim,
      registered: false,
      initialized: false,
      labels: { ...singleValues(claim), ...labels },
      annotations,
      taints: claim.spec.taints ?? [],
      capacity: largestCapacity(claim, types),
      allocatable: pods === undefined ? requests : CLOSED,
      pods: [],
      markedForDeletion: deletionTimestamp !== undefined,
      nominatedUntilMs: 0,
      bufferPods: 0,
    };
  });
}

function singleValues({ spec }: NodeClaim): Readonly<Record<string, string>> {
  const single = spec.requirements.filter(({ operator, values = [] }) => operator === 'In' && values.length === 1);
  return Object.fromEntries(single.map(({ key, values = [] }) => [key, values[0] ?? '']));
}

/** Replaces drifted nodes of NodePools with a fixed number of nodes, one for one, regardless of the pods on the nodes. */
import { isTrue, type NodePool } from '#api/objects';
import { readableResources } from '../../resources.ts';
import { templateClaim } from '../../static-pools.ts';
import { type ClaimCounts, NO_CLAIMS } from '../candidates/claim-counts.ts';
import type { Candidate, Command } from '../command.ts';
import { declined, type Method, type MethodInput, type MethodResult, overBudget, refusalBy } from '../method.ts';
import type { DeclineCode, Reason } from '../reasons.ts';
import { rolloutRoom } from '../rollout/rollout.ts';

export const staticDrift: Method = {
  name: 'static drift',
  reason: 'Drifted',
  class: 'eventual',
  consolidationType: '',
  filter: ({ nodePool, nodeClaim }) =>
    refusalBy([
      [nodePool.spec.replicas !== undefined, declined('dynamic-pool', 'its NodePool launches nodes for pending pods')],
      [isTrue(nodeClaim, 'Drifted'), declined('not-drifted', 'the node matches its NodePool and NodeClass')],
    ]),
  decide,
};

async function decide({ candidates, budgets, claims, pools }: MethodInput): Promise<MethodResult> {
  const commands: Command[] = [];
  const reasons = new Map<string, Reason<DeclineCode>>();
  for (const [name, own] of Map.groupBy(candidates, ({ nodePool }) => nodePool.metadata.name)) {
    const pool = pools.get(name);
    if (pool === undefined) continue;
    const allowed = Math.min(budgets.get(name) ?? 0, rolloutRoom(pool.nodePool, 'Drifted'));
    const counts = claims.get(name) ?? NO_CLAIMS;
    const room = roomFor(pool.nodePool, counts);
    const isReplacing = counts.active + counts.pending > (pool.nodePool.spec.replicas ?? 0);
    const count = isReplacing ? 0 : Math.min(allowed, room);
    const planned = templateClaim(pool.nodePool, pool);
    for (const [at, candidate] of inOrder(own).entries()) {
      if (at < count) commands.push({ reason: 'Drifted', candidates: [candidate], replacements: [planned] });
      else if (isReplacing) reasons.set(candidate.providerId, replacing(name));
      else if (room < allowed) reasons.set(candidate.providerId, atLimit(pool.nodePool, counts));
      else reasons.set(candidate.providerId, overBudget(candidate, 'Drifted'));
    }
  }
  return { commands, exhausted: false, events: [], reasons };
}

const replacing = (name: string): Reason<DeclineCode> => ({
  code: 'budget',
  text: 'the replacement of another node of its NodePool is not finished',
  object: { kind: 'NodePool', name },
});

/** Returns the reason for a NodePool whose node limit has no room for a replacement beside the node that it replaces. */
function atLimit(nodePool: NodePool, { active, pending, deleting }: ClaimCounts): Reason<DeclineCode> {
  const { spec, metadata } = nodePool;
  const used = active + pending + deleting;
  const limit = spec.limits?.nodes ?? 0;
  const replicas = spec.replicas ?? 0;
  return {
    code: 'limits',
    text: `a replacement would exceed the limit of its NodePool: nodes ${used} of ${limit} in use`,
    object: { kind: 'NodePool', name: metadata.name },
    nearestMiss:
      limitOfNodes(nodePool) > replicas
        ? 'other nodes are replaced first, and no change is needed'
        : `spec.limits.nodes of ${replicas + 1} would allow one replacement at a time`,
  };
}

const inOrder = (candidates: readonly Candidate[]): readonly Candidate[] =>
  [...candidates].sort((a, b) => (a.name < b.name ? -1 : 1));

/** Returns the node limit of a NodePool. If the limit is not a valid quantity, returns 0. */
export function limitOfNodes({ spec: { limits = {} } }: NodePool): number {
  if (limits.nodes === undefined) return Number.POSITIVE_INFINITY;
  return readableResources(limits).nodes ?? 0;
}

/** Returns the number of NodeClaims that the node limit allows in addition to all that exist. */
const roomFor = (pool: NodePool, { active, pending, deleting }: ClaimCounts): number =>
  Math.max(0, limitOfNodes(pool) - (active + pending + deleting));

/** Replaces drifted nodes of NodePools with a fixed number of nodes, one for one, regardless of the pods on the nodes. */
import { isTrue } from '../../../api/conditions.ts';
import type { NodePool } from '../../../api/nodepool.ts';
import { readableResources } from '../../resources.ts';
import { templateClaim } from '../../static-pools.ts';
import { type ClaimCounts, NO_CLAIMS } from '../candidates/claim-counts.ts';
import type { Candidate, Command } from '../command.ts';
import { declined, type Method, type MethodInput, type MethodResult, refusalBy } from '../method.ts';
import type { DeclineCode, Reason } from '../reasons.ts';

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
    const count = granted(pool.nodePool, own.length, budgets.get(name) ?? 0, claims.get(name) ?? NO_CLAIMS);
    const planned = templateClaim(pool.nodePool, pool);
    for (const [at, candidate] of inOrder(own).entries()) {
      if (at < count) commands.push({ reason: 'Drifted', candidates: [candidate], replacements: [planned] });
      else reasons.set(candidate.providerId, noRoom(name));
    }
  }
  return { commands, exhausted: false, events: [], reasons };
}

/** Returns the reason for a NodePool whose budgets, node limit or unfinished replacement allow no further replacement. */
const noRoom = (name: string): Reason<DeclineCode> => ({
  code: 'budget',
  text: 'the limit of its NodePool allows no further replacement now',
  object: { kind: 'NodePool', name },
});

const inOrder = (candidates: readonly Candidate[]): readonly Candidate[] =>
  [...candidates].sort((a, b) => (a.name < b.name ? -1 : 1));

/** Returns the node limit of the NodePool. If the limit is not a valid quantity, returns 0. */
export function limitOfNodes({ spec: { limits = {} } }: NodePool): number {
  if (limits.nodes === undefined) return Number.POSITIVE_INFINITY;
  return readableResources(limits).nodes ?? 0;
}

/** Returns the number of nodes that may be replaced now. The node limit of the NodePool must have room for each replacement. */
function granted(pool: NodePool, wanted: number, budget: number, claims: ClaimCounts): number {
  const { active, pending, deleting } = claims;
  if (active + pending > (pool.spec.replicas ?? 0)) return 0; // a replacement exists, and the node that it replaces still exists
  const limit = limitOfNodes(pool);
  return Math.max(0, Math.min(budget, wanted, limit - (active + pending + deleting)));
}

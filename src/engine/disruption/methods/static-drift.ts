/** Replaces drifted nodes of NodePools with a fixed number of nodes, one for one, regardless of the pods on the nodes. */
import { isTrue, type NodePool } from '#api/objects';
import type { PoolInput } from '../../model.ts';
import { readableResources } from '../../resources.ts';
import { templateClaim } from '../../static-pools.ts';
import { type ClaimCounts, NO_CLAIMS } from '../candidates/claim-counts.ts';
import type { Candidate, Command } from '../command.ts';
import { type Gangs, unitOf, withGang } from '../gang-nodes.ts';
import { declined, type Method, type MethodInput, type MethodResult, overBudget, refusalBy } from '../method.ts';
import type { DeclineCode, Reason } from '../reasons.ts';
import { rolloutRoom } from '../rollout/rollout.ts';

export const staticDrift: Method = {
  name: 'static drift',
  reason: 'Drifted',
  class: 'eventual',
  consolidationType: '',
  evaluates: 'sets',
  runsIn: ({ hasStaticCapacity }) => hasStaticCapacity,
  filter: ({ nodePool, nodeClaim }) =>
    refusalBy([
      [nodePool.spec.replicas !== undefined, declined('dynamic-pool', 'its NodePool launches nodes for pending pods')],
      [isTrue(nodeClaim, 'Drifted'), declined('not-drifted', 'the node matches its NodePool and NodeClass')],
    ]),
  decide,
};

async function decide({ candidates, budgets, claims, pools, gangs }: MethodInput): Promise<MethodResult> {
  const commands: Command[] = [];
  const reasons = new Map<string, Reason<DeclineCode>>();
  for (const [name, own] of Map.groupBy(candidates, ({ nodePool }) => nodePool.metadata.name)) {
    const pool = pools.get(name);
    if (pool === undefined) continue;
    const found = decideIn(pool, own, {
      allowed: budgets.get(name) ?? 0,
      counts: claims.get(name) ?? NO_CLAIMS,
      gangs,
    });
    commands.push(...found.commands);
    for (const [candidate, reason] of found.reasons) reasons.set(candidate.providerId, reason);
  }
  return { commands, exhausted: false, events: [], reasons };
}

interface PoolState {
  readonly allowed: number;
  readonly counts: ClaimCounts;
  readonly gangs: Gangs | undefined;
}

function decideIn(pool: PoolInput, candidates: readonly Candidate[], { allowed: budget, counts, gangs }: PoolState) {
  const { nodePool } = pool;
  const allowed = Math.min(budget, rolloutRoom(nodePool, 'Drifted'));
  const room = roomFor(nodePool, counts);
  const isReplacing = counts.active + counts.pending > (nodePool.spec.replicas ?? 0);
  const { taken, left } = unitsWithin(inOrder(candidates), isReplacing ? 0 : Math.min(allowed, room), gangs);
  const planned = templateClaim(nodePool, pool);
  const commands = taken.map(
    (unit): Command => ({ reason: 'Drifted', candidates: unit, replacements: unit.map(() => planned) }),
  );
  const reasonFor = (candidate: Candidate): Reason<DeclineCode> => {
    if (!isOfOnePool(unitOf(candidate, gangs)))
      return withGang(candidate, gangs, 'it also runs on nodes of another NodePool');
    if (isReplacing) return replacing(nodePool.metadata.name);
    return room < allowed ? atLimit(nodePool, counts) : overBudget(candidate, 'Drifted', gangs);
  };
  return { commands, reasons: left.map((candidate) => [candidate, reasonFor(candidate)] as const) };
}

/** Takes candidates with all nodes of their gangs while the number of nodes is within `count`. */
function unitsWithin(
  candidates: readonly Candidate[],
  count: number,
  gangs: Gangs | undefined,
): { readonly taken: readonly (readonly Candidate[])[]; readonly left: readonly Candidate[] } {
  const taken: (readonly Candidate[])[] = [];
  const left: Candidate[] = [];
  const replaced = new Set<Candidate>();
  for (const candidate of candidates) {
    if (replaced.has(candidate)) continue;
    const unit = unitOf(candidate, gangs);
    if (isOfOnePool(unit) && replaced.size + unit.length <= count) {
      taken.push(unit);
      for (const each of unit) replaced.add(each);
    } else left.push(candidate);
  }
  return { taken, left };
}

const isOfOnePool = ([first, ...others]: readonly Candidate[]): boolean =>
  others.every(({ nodePool }) => nodePool === first?.nodePool);

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

/**
 * Parts of a NodePool's limits that its NodeClaims use. A NodeClaim counts until it is gone, because its instance exists until
 * then. A NodeClaim without an instance counts with the largest instance type that it can get.
 */

import { NODEPOOL_LABEL, type NodeClaim } from '#api/objects';
import { remembering, timeOf } from '#lib';
import { requirementsOf } from './instance-types.ts';
import type { EngineNode, InstanceType, PlannedClaim, Resources } from './model.ts';
import { Requirements } from './requirements.ts';
import {
  addResources,
  amountIn,
  maxResources,
  minCommonResources,
  readableResources,
  subtractResources,
} from './resources.ts';

/** Resource of limits that counts nodes. */
export const NODES = 'nodes';

export interface PoolUsage {
  /** Capacity of the nodes that stay. */
  readonly inUse: Resources;
  /** Capacity of the nodes that are being removed. */
  readonly leaving: Resources;
  /** Largest capacity that NodeClaims without an instance can get. */
  readonly launching: Resources;
  /** Largest capacity of the nodes that the plan launches. */
  readonly planned: Resources;
  /** Part of the amounts above that is expected to become free: nodes that leave, and instance types that are not decided. */
  readonly returning: Resources;
}

/** Prefix of the provider ids of NodeClaims that have no instance. */
const UNLAUNCHED = 'nodeclaim:///';

export const unlaunchedProviderId = (claimName: string): string => `${UNLAUNCHED}${claimName}`;

export const isUnlaunched = ({ providerId }: Pick<EngineNode, 'providerId'>): boolean =>
  providerId.startsWith(UNLAUNCHED);

/** Adds the resource `nodes`, because each node counts toward limits on `nodes`. */
export const withNode = remembering((capacity: Resources): Resources => ({ ...capacity, [NODES]: 1 }));

/**
 * Time after which a NodeClaim that is being deleted no longer counts. A PodDisruptionBudget can stop its drain until evicted
 * pods run on another node, and this node could never be launched if the NodeClaim counted forever.
 */
const LONGEST_REMOVAL_MS = 5 * 60_000;

/** Reports whether a node counts toward the limits of its NodePool. */
export function countsTowardLimits({ nodeClaim }: EngineNode, nowMs: number): boolean {
  const deletedMs = timeOf(nodeClaim?.metadata.deletionTimestamp);
  return Number.isNaN(deletedMs) || nowMs - deletedMs < LONGEST_REMOVAL_MS;
}

/** Returns the capacity of each node of the NodePool, also of nodes that are being removed. */
export function nodeCapacities(pool: string, nodes: Iterable<EngineNode>): readonly Resources[] {
  return nodesOf(pool, nodes).map(({ capacity }) => withNode(capacity));
}

function nodesOf(pool: string, nodes: Iterable<EngineNode>): readonly EngineNode[] {
  const own: EngineNode[] = [];
  for (const node of nodes) if (node.labels[NODEPOOL_LABEL] === pool) own.push(node);
  return own;
}

/** Returns the largest amount of each resource that the instance of a NodeClaim can have. */
export const largestCapacity = remembering(({ spec }: NodeClaim, types: readonly InstanceType[]): Resources => {
  const wanted = Requirements.fromRequirements(spec.requirements);
  const possible = types.filter((type) => requirementsOf(type).intersects(wanted));
  const requests = readableResources(spec.resources?.requests);
  return withNode(maxResources(requests, ...possible.map(({ capacity }) => capacity)));
});

/** @param claims NodeClaims of the plan */
export function poolUsage(
  { pool, types }: { readonly pool: string; readonly types: readonly InstanceType[] },
  { nodes, claims = [] }: { readonly nodes: Iterable<EngineNode>; readonly claims?: readonly PlannedClaim[] },
): PoolUsage {
  const parts = Object.groupBy(nodesOf(pool, nodes), (node) =>
    isUnlaunched(node) ? 'launching' : node.markedForDeletion ? 'leaving' : 'inUse',
  );
  const sum = (some: readonly EngineNode[] = []): Resources =>
    addResources(...some.map(({ capacity }) => withNode(capacity)));
  const planned = claims.filter(({ nodePool }) => nodePool === pool).map((claim) => boundsOf(claim, types));
  const [leaving, launching] = [sum(parts.leaving), sum(parts.launching)];
  const { [NODES]: _, ...undecided } = launching;
  return {
    inUse: sum(parts.inUse),
    leaving,
    launching,
    planned: addResources(...planned.map(({ most }) => most)),
    returning: addResources(leaving, undecided, ...planned.map(({ most, least }) => subtractResources(most, least))),
  };
}

function boundsOf(claim: PlannedClaim, types: readonly InstanceType[]): { most: Resources; least: Resources } {
  const names = new Set(claim.instanceTypes);
  const capacities = types.filter(({ name }) => names.has(name)).map(({ capacity }) => capacity);
  const [first = {}] = capacities;
  return { most: withNode(maxResources(...capacities)), least: withNode(capacities.reduce(minCommonResources, first)) };
}

/** Returns the part of a limit that is not free. */
export const usedOf = ({ inUse, leaving, launching, planned }: PoolUsage, name: string): number =>
  [inUse, leaving, launching, planned].reduce((sum, part) => sum + amountIn(part, name), 0);

/** Filters the nodes each time that they are read, because only NodePools with limits read them. */
export const stayingAmong = (nodes: readonly EngineNode[], leaving: ReadonlySet<string>): Iterable<EngineNode> => ({
  *[Symbol.iterator]() {
    for (const node of nodes) if (!node.markedForDeletion && !leaving.has(node.providerId)) yield node;
  },
});

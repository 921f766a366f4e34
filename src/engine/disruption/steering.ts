/**
 * Ranks nodes by the worth of their pods in relation to the price of the node. Steering marks the nodes that can become empty,
 * from the worst on, so that kube-scheduler fills the other nodes first.
 */

import { DO_NOT_DISRUPT_ANNOTATION, NODEPOOL_LABEL } from '#api/objects';
import { NEVER } from '#api/values';
import { timeOf } from '#lib';
import type { PoolInput, StateNode } from '../model.ts';
import type { RankedNode } from '../solver/emptiable.ts';
import { consolidateAfterOf } from './candidates/consolidate-after.ts';
import { isEmptying } from './candidates/emptying.ts';
import { described } from './pass.ts';
import { requestsOnNode, unitPricesIn, worthOf } from './pricing/worth.ts';

/** Minimum age of a marked node, in milliseconds. The pods for which a node was launched may arrive late. */
const YOUNG_MS = 2 * 60_000;
/** Factor for the worth of the pods of marked nodes. It prevents that nodes of about equal worth change places. */
const STICKINESS = 0.85;

/** Returns the initialized nodes of the NodePools, with the least worth for their price first. */
export function worstFirst(
  nodes: readonly StateNode[],
  pools: ReadonlyMap<string, PoolInput>,
  nowMs: number,
): readonly RankedNode[] {
  const own = nodes.filter(
    ({ node, nodeClaim, initialized, labels }) =>
      node !== undefined && nodeClaim !== undefined && initialized && pools.has(labels[NODEPOOL_LABEL] ?? ''),
  );
  const ranked = [...Map.groupBy(own, ({ labels }) => labels[NODEPOOL_LABEL] ?? '')].flatMap(([name, members]) =>
    rankedIn(pools.get(name) as PoolInput, members, { pools, nowMs }),
  );
  return ranked.sort((a, b) => a.worth - b.worth || (a.providerId < b.providerId ? -1 : 1));
}

interface RankContext {
  readonly pools: ReadonlyMap<string, PoolInput>;
  readonly nowMs: number;
}

function rankedIn(
  pool: PoolInput,
  nodes: readonly StateNode[],
  { pools, nowMs }: RankContext,
): readonly (RankedNode & { readonly worth: number })[] {
  const prices = unitPricesIn(pool, nodes);
  return nodes.map((node) => {
    const usdPerHour = described(node, pools)?.usdPerHour ?? 0;
    const share = usdPerHour > 0 ? worthOf(requestsOnNode(node.pods), prices) / usdPerHour : Number.POSITIVE_INFINITY;
    const isMarked = isEmptying(node);
    return {
      providerId: node.providerId,
      mayEmpty: usdPerHour > 0 && mayEmpty(node, pool, nowMs),
      worth: isMarked ? STICKINESS * share : share,
    };
  });
}

function mayEmpty({ node, nodeClaim, ...state }: StateNode, { nodePool }: PoolInput, nowMs: number): boolean {
  return (
    !state.markedForDeletion &&
    state.nominatedUntilMs <= nowMs &&
    node?.spec?.unschedulable !== true &&
    state.annotations[DO_NOT_DISRUPT_ANNOTATION] !== 'true' &&
    nodePool.spec.replicas === undefined &&
    consolidateAfterOf(nodePool) !== NEVER &&
    nowMs - timeOf(nodeClaim?.metadata.creationTimestamp) >= YOUNG_MS
  );
}

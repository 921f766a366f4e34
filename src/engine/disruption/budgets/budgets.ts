/** Evaluates disruption budgets of NodePools, which limit the number of nodes that may be unavailable at a time. */
import { isTrue, NODEPOOL_LABEL, type NodePolicy, type NodePool } from '#api/objects';
import { parseDuration } from '#api/values';
import { messageOf, remembering, timestamp } from '#lib';
import type { StateNode } from '../../model.ts';
import type { DisruptionReason } from '../reasons.ts';
import { nextHitMs } from './hits.ts';
import { type Budget, isOpenAt, nextTurnMs, withWindows } from './windows.ts';

export type { Budget } from './windows.ts';

/** Value for no limit: the largest number that the metrics of Karpenter can show. */
export const UNLIMITED = 2_147_483_647;
const DEFAULT_BUDGETS: readonly Budget[] = [{ nodes: '10%' }];

/**
 * Returns true if a budget is active. A budget without a schedule is always active. Otherwise, a budget is active for `duration`
 * after each hit of the schedule, in UTC.
 * @throws Error if the schedule or the duration is not valid
 */
export function isBudgetActive({ schedule, duration, outside }: Budget, nowMs: number): boolean {
  if (outside !== undefined) return !isOpenAt(outside, nowMs);
  if (schedule === undefined && duration === undefined) return true;
  if (schedule === undefined || duration === undefined) {
    throw new Error(
      `invalid budget, schedule "${schedule ?? ''}" and duration "${duration ?? ''}" must be set together`,
    );
  }
  return nextHitMs(schedule, nowMs - parseDuration(duration)) <= nowMs;
}

/**
 * Returns the number of nodes out of `total` that one budget allows to be disrupted at a time. Rounds percentages up.
 * @throws Error if the budget is not valid
 */
export const budgetValue = (budget: Budget, total: number, nowMs: number): number =>
  isBudgetActive(budget, nowMs) ? valueInForce(budget, total) : UNLIMITED;

/**
 * Returns the same number for a budget that is active.
 * @throws Error if `nodes` is not valid
 */
export function valueInForce(budget: Budget, total: number): number {
  const [, share, count] = /^(?:(\d+)%|(\d+))$/.exec(budget.nodes) ?? [];
  if (share !== undefined) return Math.ceil((total * Number(share)) / 100);
  if (count !== undefined) return Number(count);
  throw new Error(`invalid budget nodes "${budget.nodes}", expected a number or a percentage, for example 5 or 10%`);
}

/**
 * Returns the lowest value of a NodePool's budgets for a reason.
 * @throws Error if any budget is not valid, even if it is for another reason, because the intention of the user is then unknown
 */
export function allowedDisruptions(
  pool: NodePool,
  { reason, total, nowMs }: { readonly reason: DisruptionReason; readonly total: number; readonly nowMs: number },
): number {
  const values = budgetsOf(pool).map((budget) => ({ budget, value: budgetValue(budget, total, nowMs) }));
  const own = values.filter(({ budget }) => isFor(budget, reason));
  return Math.min(UNLIMITED, ...own.map(({ value }) => value));
}

/** Returns the budgets of a NodePool, or the default if it has none. */
export const budgetsOf = (pool: NodePool): readonly Budget[] => pool.spec.disruption?.budgets ?? DEFAULT_BUDGETS;

/** Adds the windows of the policy to the budgets of a NodePool. The stricter of both holds. */
export const addWindows = (pool: NodePool, policies: readonly NodePolicy[]): NodePool =>
  withWindows(pool, policies, budgetsOf);

/** Returns the name of a budget in texts. @param at position in the list of the NodePool */
export const budgetName = ({ outside }: Budget, at: number): string =>
  outside === undefined ? `budgets[${at}]` : `the windows of NodePolicy ${outside.policy}`;

/** Returns true if a budget applies to a reason. A budget without reasons applies to all reasons. */
export const isFor = ({ reasons }: Budget, reason: DisruptionReason): boolean => reasons?.includes(reason) ?? true;

/** Maximum number of hits to follow for the end of a window. If the window is longer, the budget counts as always active. */
const MOST_HITS = 50;

/** Returns the time at which an active budget becomes inactive, or undefined if no end is known. */
export function windowEndMs({ schedule, duration, outside }: Budget, nowMs: number): number | undefined {
  if (outside !== undefined) return nextTurnMs(outside, nowMs);
  if (schedule === undefined || duration === undefined) return undefined;
  const lengthMs = parseDuration(duration);
  let hitMs = nextHitMs(schedule, nowMs - lengthMs);
  for (let hits = 0; hitMs < Number.POSITIVE_INFINITY && hits < MOST_HITS; hits++) {
    const endMs = hitMs + lengthMs;
    hitMs = nextHitMs(schedule, hitMs);
    // adjacent windows count as one
    if (hitMs > endMs) return endMs;
  }
  return undefined;
}

/**
 * Returns a remark on the number of nodes that a NodePool's budgets allow: the decisive budget with the end of its window, or
 * the error in a budget. Returns an empty text if there is no remark.
 */
export function budgetRemark(pool: NodePool, request: Parameters<typeof allowedDisruptions>[1]): string {
  const { reason, total, nowMs } = request;
  try {
    const allowed = allowedDisruptions(pool, request);
    const budgets = budgetsOf(pool);
    const position = budgets.findIndex(
      (budget) => isFor(budget, reason) && budgetValue(budget, total, nowMs) === allowed,
    );
    const decisive = budgets[position];
    const endMs = decisive && windowEndMs(decisive, nowMs);
    return decisive === undefined || endMs === undefined
      ? ''
      : `by ${budgetName(decisive, position)} until ${timestamp(endMs)}`;
  } catch (error) {
    return messageOf(error);
  }
}

/** Use of a NodePool's budgets for one reason. */
export interface Allowance {
  readonly total: number;
  /** Nodes that are already unavailable for any reason. */
  readonly disrupting: number;
  /** Value of the budgets for this number of nodes. 0 if one of the budgets is not valid. */
  readonly allowed: number;
  /** Number of further nodes that may be disrupted. */
  readonly remaining: number;
}

/** Returns the allowance of every NodePool. Does not count nodes that are not initialized or that have a terminating instance. */
export function allowances(
  nodes: readonly StateNode[],
  pools: readonly NodePool[],
  { reason, nowMs }: { readonly reason: DisruptionReason; readonly nowMs: number },
): ReadonlyMap<string, Allowance> {
  const counts = nodeCounts(nodes);
  return new Map(
    pools.map((pool) => {
      const { name } = pool.metadata;
      const { total, disrupting } = counts.get(name) ?? { total: 0, disrupting: 0 };
      const allowed = allowedOrNone(pool, { reason, total, nowMs });
      return [name, { total, disrupting, allowed, remaining: Math.max(0, allowed - disrupting) }];
    }),
  );
}

/** Returns the number of counted nodes of each NodePool, and how many of them are unavailable. */
const nodeCounts = remembering((nodes: readonly StateNode[]) => {
  const counts = new Map<string | undefined, { total: number; disrupting: number }>();
  for (const node of nodes) {
    const standing = standingOf(node);
    if (standing === 'not counted') continue;
    const count = counts.get(node.labels[NODEPOOL_LABEL]) ?? { total: 0, disrupting: 0 };
    count.total++;
    if (standing === 'away') count.disrupting++;
    counts.set(node.labels[NODEPOOL_LABEL], count);
  }
  return counts;
});

const standingOf = remembering(
  ({ node, nodeClaim, initialized, markedForDeletion }: StateNode): 'not counted' | 'away' | 'there' => {
    if (nodeClaim === undefined || !initialized || isTrue(nodeClaim, 'InstanceTerminating')) return 'not counted';
    return markedForDeletion || node === undefined || !isTrue(node, 'Ready') ? 'away' : 'there';
  },
);

function allowedOrNone(pool: NodePool, request: Parameters<typeof allowedDisruptions>[1]): number {
  try {
    return allowedDisruptions(pool, request);
  } catch {
    return 0; // reported by `budgetErrors`
  }
}

/** Returns the errors in the budgets of the NodePools, one sentence per NodePool. */
export function budgetErrors(pools: readonly NodePool[], nowMs: number): readonly string[] {
  return pools.flatMap((pool) => {
    try {
      allowedDisruptions(pool, { reason: 'Empty', total: 100, nowMs });
      return [];
    } catch (error) {
      const detail = messageOf(error);
      return [`invalid disruption budgets in nodepool ${pool.metadata.name}, ${detail}`];
    }
  });
}

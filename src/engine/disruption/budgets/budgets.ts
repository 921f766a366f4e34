/** NodePools' disruption budgets: how many of their nodes may be away at a time. */
import { isTrue } from '../../../api/conditions.ts';
import { parseDuration } from '../../../api/duration.ts';
import { NODEPOOL_LABEL } from '../../../api/labels.ts';
import type { NodePool } from '../../../api/nodepool.ts';
import { messageOf } from '../../../lib/error-message.ts';
import { remembering } from '../../../lib/remembering.ts';
import { timestamp } from '../../../lib/times.ts';
import type { StateNode } from '../../model.ts';
import type { DisruptionReason } from '../reasons.ts';
import { nextHitMs } from './hits.ts';

export type Budget = NonNullable<NonNullable<NodePool['spec']['disruption']>['budgets']>[number];

/** Stands for no limit; the largest number that the metrics of other implementations can show. */
export const UNLIMITED = 2_147_483_647;
const DEFAULT_BUDGETS: readonly Budget[] = [{ nodes: '10%' }];

/**
 * Whether a budget is in force: without a schedule always, else for `duration` after each hit of the schedule, in UTC.
 * @throws Error when the schedule or the duration cannot be read
 */
export function isBudgetActive({ schedule, duration }: Budget, nowMs: number): boolean {
  if (schedule === undefined && duration === undefined) return true;
  if (schedule === undefined || duration === undefined) {
    throw new Error(
      `invalid budget, schedule "${schedule ?? ''}" and duration "${duration ?? ''}" must be set together`,
    );
  }
  return nextHitMs(schedule, nowMs - parseDuration(duration)) <= nowMs;
}

/**
 * Nodes out of `total` that one budget lets go at a time; shares round up.
 * @throws Error when the budget cannot be read
 */
export const budgetValue = (budget: Budget, total: number, nowMs: number): number =>
  isBudgetActive(budget, nowMs) ? valueInForce(budget, total) : UNLIMITED;

/** As `budgetValue` while the budget is in force. @throws Error when `nodes` cannot be read */
export function valueInForce(budget: Budget, total: number): number {
  const [, share, count] = /^(?:(\d+)%|(\d+))$/.exec(budget.nodes) ?? [];
  if (share !== undefined) return Math.ceil((total * Number(share)) / 100);
  if (count !== undefined) return Number(count);
  throw new Error(`invalid budget nodes "${budget.nodes}", expected a count such as 5 or a share such as 10%`);
}

/**
 * The strictest of a NodePool's budgets for a reason.
 * @throws Error when any budget cannot be read, even one for another reason: what the user meant is unknown
 */
export function allowedDisruptions(
  pool: NodePool,
  { reason, total, nowMs }: { readonly reason: DisruptionReason; readonly total: number; readonly nowMs: number },
): number {
  const values = budgetsOf(pool).map((budget) => ({ budget, value: budgetValue(budget, total, nowMs) }));
  const own = values.filter(({ budget }) => isFor(budget, reason));
  return Math.min(UNLIMITED, ...own.map(({ value }) => value));
}

/** A NodePool's budgets, or what stands for none. */
export const budgetsOf = (pool: NodePool): readonly Budget[] => pool.spec.disruption?.budgets ?? DEFAULT_BUDGETS;

/** A budget without reasons is for all of them. */
export const isFor = ({ reasons }: Budget, reason: DisruptionReason): boolean => reasons?.includes(reason) ?? true;

/** Hits of a schedule that are looked at for the end of a window: beyond them it is as good as always in force. */
const MOST_HITS = 50;

/** When a budget that is in force will not be any more; undefined when no end is in sight. */
export function windowEndMs({ schedule, duration }: Budget, nowMs: number): number | undefined {
  if (schedule === undefined || duration === undefined) return undefined;
  const lengthMs = parseDuration(duration);
  let hitMs = nextHitMs(schedule, nowMs - lengthMs);
  for (let hits = 0; hitMs < Number.POSITIVE_INFINITY && hits < MOST_HITS; hits++) {
    const endMs = hitMs + lengthMs;
    hitMs = nextHitMs(schedule, hitMs);
    // windows that touch are one
    if (hitMs > endMs) return endMs;
  }
  return undefined;
}

/**
 * What is to be said of the number of nodes that a NodePool's budgets let go: which of them is in force for how long, or
 * why they cannot be read. Empty when there is nothing but the number.
 */
export function budgetRemark(pool: NodePool, request: Parameters<typeof allowedDisruptions>[1]): string {
  const { reason, total, nowMs } = request;
  try {
    const allowed = allowedDisruptions(pool, request);
    const budgets = budgetsOf(pool);
    const position = budgets.findIndex(
      (budget) => isFor(budget, reason) && budgetValue(budget, total, nowMs) === allowed,
    );
    const endMs = budgets[position] && windowEndMs(budgets[position], nowMs);
    return endMs === undefined ? '' : `by budgets[${position}] until ${timestamp(endMs)}`;
  } catch (error) {
    return messageOf(error);
  }
}

/** How a NodePool stands against its budgets for one reason. */
export interface Allowance {
  readonly total: number;
  /** Nodes that are away already, whatever the reason. */
  readonly disrupting: number;
  /** What the budgets say for this many nodes; 0 when one of them cannot be read. */
  readonly allowed: number;
  /** How many more may go. */
  readonly remaining: number;
}

/** The allowance of every pool. Nodes that are not initialised, or whose instance is going, count for nothing. */
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

/** Of each NodePool, the nodes that count, and those of them that are away. */
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

/** What is wrong with the pools' budgets, one sentence per pool. */
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

/** Predicts the number of nodes that a NodePool's budgets allow over time, and warns about unusual budgets. */

import type { NodePool } from '#api/objects';
import { parseDuration } from '#api/values';
import { messageOf, timestamp } from '#lib';
import type { StateNode } from '../../model.ts';
import type { DisruptionReason } from '../reasons.ts';
import { knownRollout, type Rollout, rolloutRemedy, rolloutText } from '../rollout/rollout.ts';
import {
  allowances,
  type Budget,
  budgetName,
  budgetsOf,
  isBudgetActive,
  isFor,
  UNLIMITED,
  valueInForce,
} from './budgets.ts';
import { nextHitMs } from './hits.ts';
import { nextTurnMs } from './windows.ts';

/** Budgets of a NodePool and their current use. This type is a public format: the operator serves it at `/debug/budgets`. */
export interface PoolBudgets {
  readonly nodePool: string;
  readonly budgets: readonly Budget[];
  /** Number of nodes to which percentages apply. */
  readonly nodes: number;
  /** Number of these nodes that are already unavailable, for any reason. */
  readonly disrupting: number;
  /** Replacement of drifted nodes in stages. Absent without a policy and without drifted nodes. */
  readonly rollout?: Rollout;
}

/** Time span. This type is a public format. */
interface Span {
  /** RFC 3339. */
  readonly from: string;
  /** RFC 3339. Absent if the value does not change until the end of the calendar. */
  readonly until?: string;
  /** Number of existing nodes that may be unavailable at a time. */
  readonly allowed: number | 'unlimited';
}

/** Calendar for one reason. This type is a public format. */
interface ReasonCalendar {
  readonly reason: DisruptionReason;
  /** Spans in order. Adjacent spans have different values. */
  readonly spans: readonly Span[];
  /** RFC 3339. Next time at which the budgets allow a disruption, if they allow none now. Absent if no such time is known. */
  readonly nextOpening?: string;
}

/** Warning about a budget. This type is a public format. Codes never change their meaning. */
interface BudgetWarning {
  /**
   * `unreadable`: a budget is not valid, and no node may be disrupted. `never-opens`: no node may be disrupted for the listed
   * reasons within the predicted time. `always-zero`: a budget never allows a disruption. `never-in-force`: its schedule never
   * hits. `too-many-hits`: its schedule hits too often to be followed to the end. `rollout`: drifted nodes wait for the stages of
   * their rollout.
   */
  readonly code: 'unreadable' | 'never-opens' | 'always-zero' | 'never-in-force' | 'too-many-hits' | 'rollout';
  readonly text: string;
  /** Position in the list of the NodePool's budgets. */
  readonly budget?: number;
}

/** Calendar of a NodePool. This type is a public format. */
export interface PoolCalendar extends Omit<PoolBudgets, 'budgets'> {
  readonly reasons: readonly ReasonCalendar[];
  readonly warnings: readonly BudgetWarning[];
}

const REASONS: readonly DisruptionReason[] = ['Empty', 'Drifted', 'Underutilized'];
const DAY_MS = 86_400_000;
/**
 * Maximum number of hits of one schedule. Sufficient for a hit in every minute of a week. This takes most of a second.
 */
export const MOST_HITS = 10_080;
/** Precision of the search. Schedules hit at whole minutes. */
const PRECISION_MS = 1_000;
/** Time to search for an opening after the end of the calendar. Schedules repeat after a year, except for 29 February. */
const LOOK_AHEAD_MS = 366 * DAY_MS;
/** Maximum number of hits of one schedule after the end of the calendar. */
const LOOK_AHEAD_HITS = 1_000;

/** Returns the use of the NodePools' budgets, sorted by name. */
export function poolBudgets(
  nodes: readonly StateNode[],
  pools: readonly NodePool[],
  nowMs: number,
): readonly PoolBudgets[] {
  const standing = allowances(nodes, pools, { reason: 'Empty', nowMs });
  return pools
    .map((pool) => {
      const { name } = pool.metadata;
      const { total = 0, disrupting = 0 } = standing.get(name) ?? {};
      const rollout = knownRollout(pool);
      return { nodePool: name, budgets: budgetsOf(pool), nodes: total, disrupting, ...(rollout && { rollout }) };
    })
    .sort((a, b) => (a.nodePool < b.nodePool ? -1 : 1));
}

/** Returns the disruptions that a NodePool's budgets allow between two times. */
export function calendarOf({ budgets, ...standing }: PoolBudgets, period: Window): PoolCalendar {
  try {
    const outlook = outlookOf(budgets, period);
    const reasons = REASONS.map((reason) => reasonCalendar(reason, outlook, standing.nodes));
    return { ...standing, reasons, warnings: [...rolloutWarnings(standing), ...warningsOf(outlook)] };
  } catch (error) {
    const spans: readonly Span[] = [{ from: timestamp(period.fromMs), allowed: 0 }];
    const text = `${messageOf(error)}; none of its nodes can be disrupted until this is corrected`;
    return {
      ...standing,
      reasons: REASONS.map((reason) => ({ reason, spans })),
      warnings: [{ code: 'unreadable', text }],
    };
  }
}

function rolloutWarnings({ nodePool, rollout }: Omit<PoolBudgets, 'budgets'>): readonly BudgetWarning[] {
  if (rollout === undefined || rollout.room === undefined) return [];
  const remedy = rollout.stage === 'Halted' ? `; ${rolloutRemedy(nodePool)}` : '';
  return [{ code: 'rollout', text: `${rolloutText(rollout)}${remedy}` }];
}

/** Time from `fromMs`, inclusive, to `toMs`, exclusive. */
interface Window {
  readonly fromMs: number;
  readonly toMs: number;
}

interface Windows {
  /** Windows in order, without overlap. The first may begin before the requested period, and the last may end after it. */
  readonly windows: readonly Window[];
  /** Time until which the windows are known. Earlier than the end of the requested period if the schedule hits too often. */
  readonly knownToMs: number;
}

/** Budget with its active windows. */
interface Timetable extends Windows {
  readonly budget: Budget;
}

interface Timetables {
  readonly period: Window;
  readonly timetables: readonly Timetable[];
}

interface Outlook extends Timetables {
  /**
   * Returns the timetables for the time after the period. Walking a schedule takes time, so the result is computed at most once,
   * for all reasons.
   */
  readonly later: () => Timetables;
}

/** @throws Error if a budget is not valid */
function outlookOf(budgets: readonly Budget[], period: Window): Outlook {
  const timetables = budgets.map((budget) => ({ budget, ...windowsOf(budget, period) }));
  let later: Timetables | undefined;
  return {
    period,
    timetables,
    later: () => {
      later ??= laterThan({ period, timetables });
      return later;
    },
  };
}

function laterThan({ period, timetables }: Timetables): Timetables {
  const fromMs = Math.min(period.toMs, ...timetables.map(({ knownToMs }) => knownToMs));
  const later = { fromMs, toMs: fromMs + LOOK_AHEAD_MS };
  return {
    period: later,
    timetables: timetables.map(({ budget }) => ({ budget, ...windowsOf(budget, later, LOOK_AHEAD_HITS) })),
  };
}

interface Step {
  readonly fromMs: number;
  readonly allowed: number;
}

/**
 * Returns the allowed number for a reason over time, as steps with different adjacent values. The steps end at the earliest end
 * of a timetable.
 */
function stepsOf(reason: DisruptionReason, { timetables, period }: Timetables, total: number): readonly Step[] {
  const own = timetables.filter(({ budget }) => isFor(budget, reason));
  const toMs = Math.min(period.toMs, ...own.map(({ knownToMs }) => knownToMs));
  const changes = own
    .flatMap(({ budget, windows }) => {
      const value = valueInForce(budget, total);
      return windows.flatMap(({ fromMs, toMs: endMs }) => [
        { atMs: Math.max(fromMs, period.fromMs), value, delta: 1 },
        { atMs: endMs, value, delta: -1 },
      ]);
    })
    .filter(({ atMs }) => atMs < toMs)
    .sort((a, b) => a.atMs - b.atMs);
  const inForce = new Map<number, number>();
  const steps: Step[] = [{ fromMs: period.fromMs, allowed: UNLIMITED }];
  for (const { atMs, value, delta } of changes) {
    inForce.set(value, (inForce.get(value) ?? 0) + delta);
    const allowed = Math.min(UNLIMITED, ...[...inForce].flatMap(([each, count]) => (count > 0 ? [each] : [])));
    if (steps.at(-1)?.fromMs === atMs) steps.pop();
    if (steps.at(-1)?.allowed !== allowed) steps.push({ fromMs: atMs, allowed });
  }
  return steps;
}

function reasonCalendar(reason: DisruptionReason, outlook: Outlook, total: number): ReasonCalendar {
  const steps = stepsOf(reason, outlook, total);
  const spans = steps.map(({ fromMs, allowed }, at): Span => {
    const next = steps[at + 1];
    return {
      from: timestamp(fromMs),
      ...(next === undefined ? {} : { until: timestamp(next.fromMs) }),
      allowed: allowed === UNLIMITED ? 'unlimited' : allowed,
    };
  });
  if (steps[0]?.allowed !== 0) return { reason, spans };
  const opening = steps.find(isOpen) ?? stepsOf(reason, outlook.later(), total).find(isOpen);
  return { reason, spans, ...(opening === undefined ? {} : { nextOpening: timestamp(opening.fromMs) }) };
}

const isOpen = ({ allowed }: Step): boolean => allowed > 0;

/**
 * Number of nodes with which warnings are computed. With this number, each percentage above zero allows at least one disruption,
 * so a NodePool without nodes does not cause a warning.
 */
const MANY_NODES = 100;

function warningsOf(outlook: Outlook): readonly BudgetWarning[] {
  const ofBudgets = outlook.timetables.flatMap((timetable, at) => warningsOn(timetable, at, outlook.period));
  const closed = REASONS.filter((reason) => {
    const { spans, nextOpening } = reasonCalendar(reason, outlook, MANY_NODES);
    return spans.every(({ allowed }) => allowed === 0) && nextOpening === undefined;
  });
  if (closed.length === 0) return ofBudgets;
  const text = `no node can ever be disrupted for reason ${closed.join(', ')}; change the budgets to allow disruption at some time`;
  return [...ofBudgets, { code: 'never-opens', text }];
}

function warningsOn({ budget, windows, knownToMs }: Timetable, at: number, period: Window): readonly BudgetWarning[] {
  const { schedule, outside } = budget;
  const found: BudgetWarning[] = [];
  if (outside !== undefined) {
    if (windows.length > 0 || nextTurnMs(outside, period.fromMs) !== undefined) return [];
    const text = `${budgetName(budget, at)} for reason ${budget.reasons?.join(', ')} are always open, so they have no effect`;
    return [{ code: 'never-in-force', text }];
  }
  const isZero = valueInForce(budget, MANY_NODES) === 0;
  if (schedule === undefined && isZero) {
    const text = `budgets[${at}] never allows disruption, because it has nodes "${budget.nodes}" and no schedule`;
    found.push({ code: 'always-zero', budget: at, text });
  }
  if (schedule !== undefined && windows.length === 0 && nextHitMs(schedule, period.toMs) === Number.POSITIVE_INFINITY) {
    const text = `budgets[${at}] is never active, because its schedule "${schedule}" never matches`;
    found.push({ code: 'never-in-force', budget: at, text });
  }
  if (knownToMs < period.toMs) {
    const text = `the schedule of budgets[${at}] starts too often to be computed beyond ${timestamp(knownToMs)}`;
    found.push({ code: 'too-many-hits', budget: at, text });
  }
  return found;
}

/**
 * Returns the windows between two times in which a budget is active.
 * @throws Error if the schedule or the duration is not valid
 */
export function windowsOf(budget: Budget, { fromMs, toMs }: Window, mostHits = MOST_HITS): Windows {
  const { schedule, duration, outside } = budget;
  if (outside !== undefined) return closedTimes(budget, outside, { fromMs, toMs }, mostHits);
  const isInForce = isBudgetActive(budget, fromMs);
  if (schedule === undefined || duration === undefined) return { windows: [{ fromMs, toMs }], knownToMs: toMs };
  const lengthMs = parseDuration(duration);
  const windows: Window[] = [];
  let hitMs = isInForce ? lastHitMs(schedule, fromMs, lengthMs) : nextHitMs(schedule, fromMs);
  for (let hits = 0; hitMs < toMs; hits++) {
    if (hits === mostHits) return { windows, knownToMs: hitMs };
    const last = windows.at(-1);
    // adjacent windows count as one
    if (last !== undefined && hitMs <= last.toMs) windows[windows.length - 1] = { ...last, toMs: hitMs + lengthMs };
    else windows.push({ fromMs: hitMs, toMs: hitMs + lengthMs });
    hitMs = nextHitMs(schedule, hitMs);
  }
  return { windows, knownToMs: toMs };
}

/** Returns the times between two times in which all windows are closed. */
function closedTimes(
  budget: Budget,
  hours: NonNullable<Budget['outside']>,
  { fromMs, toMs }: Window,
  mostTurns: number,
): Windows {
  const windows: Window[] = [];
  let isClosed = isBudgetActive(budget, fromMs);
  let sinceMs = fromMs;
  for (let turns = 0; sinceMs < toMs; turns++) {
    if (turns === mostTurns) return { windows, knownToMs: sinceMs };
    const turnMs = Math.min(nextTurnMs(hours, sinceMs) ?? toMs, toMs);
    if (isClosed) windows.push({ fromMs: sinceMs, toMs: turnMs });
    isClosed = !isClosed;
    sinceMs = turnMs;
  }
  return { windows, knownToMs: toMs };
}

/** Returns the last hit up to a time, by a binary search over next hits. There must be a hit less than `withinMs` ago. */
function lastHitMs(schedule: string, nowMs: number, withinMs: number): number {
  let [earliest, latest] = [nowMs - withinMs, nowMs];
  while (latest - earliest > PRECISION_MS) {
    const middle = (earliest + latest) / 2;
    if (nextHitMs(schedule, middle) <= nowMs) earliest = middle;
    else latest = middle;
  }
  return nextHitMs(schedule, earliest);
}

/** Ahead of time: how many nodes a NodePool's budgets let go, from when to when, and what is odd about the budgets. */

import type { NodePool } from '../../../api/nodepool.ts';
import { messageOf } from '../../../lib/error-message.ts';
import { timestamp } from '../../../lib/times.ts';
import type { StateNode } from '../../model.ts';
import type { DisruptionReason } from '../reasons.ts';
import { allowances, type Budget, budgetsOf, isFor, UNLIMITED, valueInForce } from './budgets.ts';
import { nextHitMs } from './hits.ts';
import { type Window, type Windows, windowsOf } from './windows.ts';

/** A NodePool's budgets, and how it stands against them. Of public form: the operator serves it at `/debug/budgets`. */
export interface PoolBudgets {
  readonly nodePool: string;
  readonly budgets: readonly Budget[];
  /** Nodes that the shares of budgets are computed of. */
  readonly nodes: number;
  /** Of these, nodes that are away already, whatever the reason. */
  readonly disrupting: number;
}

/** Of public form. */
export interface Span {
  /** RFC 3339. */
  readonly from: string;
  /** RFC 3339. Absent where nothing changes for as long as the calendar looks ahead. */
  readonly until?: string;
  /** How many nodes may be away at a time, of the nodes that there are. */
  readonly allowed: number | 'unlimited';
}

/** Of public form. */
export interface ReasonCalendar {
  readonly reason: DisruptionReason;
  /** Neighbours differ in what they allow. */
  readonly spans: readonly Span[];
  /** RFC 3339. When the budgets let a node go again, where they let none go now; absent when no such time is known. */
  readonly nextOpening?: string;
}

/** Of public form; codes are never used for something else. */
interface BudgetWarning {
  /**
   * `unreadable`: a budget cannot be read, and none of the nodes may go. `never-opens`: no node may go for the reasons
   * named, for as far as one can see. `always-zero`: a budget lets none go, for ever. `never-in-force`: its schedule never
   * hits. `too-many-hits`: its schedule hits too often to be followed to the end.
   */
  readonly code: 'unreadable' | 'never-opens' | 'always-zero' | 'never-in-force' | 'too-many-hits';
  readonly text: string;
  /** Position among the NodePool's budgets. */
  readonly budget?: number;
}

/** Of public form. */
export interface PoolCalendar extends Omit<PoolBudgets, 'budgets'> {
  readonly reasons: readonly ReasonCalendar[];
  readonly warnings: readonly BudgetWarning[];
}

const REASONS: readonly DisruptionReason[] = ['Empty', 'Drifted', 'Underutilized'];
const DAY_MS = 86_400_000;
/** For an opening beyond the end of the calendar: schedules repeat after a year, those of 29 February aside. */
const LOOK_AHEAD_MS = 366 * DAY_MS;
/** Of one schedule beyond the end of the calendar. */
const LOOK_AHEAD_HITS = 1_000;

/** How NodePools stand against their budgets, in name order. */
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
      return { nodePool: name, budgets: budgetsOf(pool), nodes: total, disrupting };
    })
    .sort((a, b) => (a.nodePool < b.nodePool ? -1 : 1));
}

/** What a NodePool's budgets let go between two times. */
export function calendarOf({ budgets, ...standing }: PoolBudgets, period: Window): PoolCalendar {
  try {
    const outlook = outlookOf(budgets, period);
    const reasons = REASONS.map((reason) => reasonCalendar(reason, outlook, standing.nodes));
    return { ...standing, reasons, warnings: warningsOf(outlook) };
  } catch (error) {
    const spans: readonly Span[] = [{ from: timestamp(period.fromMs), allowed: 0 }];
    const text = `${messageOf(error)}; until it is corrected, none of its nodes may go`;
    return {
      ...standing,
      reasons: REASONS.map((reason) => ({ reason, spans })),
      warnings: [{ code: 'unreadable', text }],
    };
  }
}

/** A budget with the windows in which it is in force. */
interface Timetable extends Windows {
  readonly budget: Budget;
}

interface Timetables {
  readonly period: Window;
  readonly timetables: readonly Timetable[];
}

interface Outlook extends Timetables {
  /** The time after the period. Walking a schedule takes its time: it is done once for all reasons, if at all. */
  readonly later: () => Timetables;
}

/** @throws Error when a budget cannot be read */
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

/** What a reason is allowed from when on; neighbours differ. Ends where one of the timetables does. */
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

/** Of as many nodes, a share that is not nothing lets at least one go: a NodePool without nodes is not closed for good. */
const MANY_NODES = 100;

function warningsOf(outlook: Outlook): readonly BudgetWarning[] {
  const ofBudgets = outlook.timetables.flatMap((timetable, at) => warningsOn(timetable, at, outlook.period));
  const closed = REASONS.filter((reason) => {
    const { spans, nextOpening } = reasonCalendar(reason, outlook, MANY_NODES);
    return spans.every(({ allowed }) => allowed === 0) && nextOpening === undefined;
  });
  if (closed.length === 0) return ofBudgets;
  const text = `no node may ever go for reason ${closed.join(', ')}: open a window in which the budgets let one go`;
  return [...ofBudgets, { code: 'never-opens', text }];
}

function warningsOn({ budget, windows, knownToMs }: Timetable, at: number, period: Window): readonly BudgetWarning[] {
  const { schedule } = budget;
  const found: BudgetWarning[] = [];
  const isZero = valueInForce(budget, MANY_NODES) === 0;
  if (schedule === undefined && isZero) {
    const text = `budgets[${at}] lets no node go, for ever: it has nodes "${budget.nodes}" and no schedule`;
    found.push({ code: 'always-zero', budget: at, text });
  }
  if (schedule !== undefined && windows.length === 0 && nextHitMs(schedule, period.toMs) === Number.POSITIVE_INFINITY) {
    const text = `budgets[${at}] is never in force: its schedule "${schedule}" never hits`;
    found.push({ code: 'never-in-force', budget: at, text });
  }
  if (knownToMs < period.toMs) {
    const text = `budgets[${at}] hits too often to be followed beyond ${timestamp(knownToMs)}`;
    found.push({ code: 'too-many-hits', budget: at, text });
  }
  return found;
}

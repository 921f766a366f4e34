/** Computes the allowed disruptions of a NodePool minute by minute, without a library for schedules. */
import type { NodePool } from '#api/objects';
import { claimIs, durationOf, type Facts } from './facts.ts';
import type { Budget } from './kinds.ts';

const MINUTE = 60_000;
const SHORTCUTS: Readonly<Record<string, string>> = { '@hourly': '0 * * * *', '@daily': '0 0 * * *' };

/** Matches a field of a schedule: `*`, numbers, ranges, lists, steps. */
function matches(field: string, value: number): boolean {
  return field.split(',').some((part) => {
    const [range = '', step = '1'] = part.split('/');
    const [from = '', to = from] = range.split('-');
    const start = range === '*' ? 0 : Number(from);
    return (range === '*' || (value >= start && value <= Number(to))) && (value - start) % Number(step) === 0;
  });
}

/** Reports whether the schedule, in UTC, matches that minute. */
function hits(schedule: string, ms: number): boolean {
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = (SHORTCUTS[schedule] ?? schedule).split(' ');
  const date = new Date(ms);
  const onDay = matches(day, date.getUTCDate());
  const onWeekday = matches(weekday, date.getUTCDay());
  const isDay = day === '*' || weekday === '*' ? onDay && onWeekday : onDay || onWeekday;
  const inHour = matches(minute, date.getUTCMinutes()) && matches(hour, date.getUTCHours());
  return inHour && isDay && matches(month, date.getUTCMonth() + 1);
}

/** Reports whether a match lies after `now - duration`, and not after now. */
function isOpen({ schedule, duration }: Budget, nowMs: number): boolean {
  if (schedule === undefined || duration === undefined) return true;
  for (let ms = nowMs - (nowMs % MINUTE); ms > nowMs - durationOf(duration); ms -= MINUTE)
    if (hits(schedule, ms)) return true;
  return false;
}

/** Returns the number of further disruptions that the NodePool allows for the reason. */
export function remaining({ machines, nowMs }: Facts, pool: NodePool, reason: string): number {
  const counted = machines.filter(
    (machine) =>
      machine.labels['karpenter.sh/nodepool'] === pool.metadata.name &&
      machine.claim !== undefined &&
      machine.initialized &&
      !claimIs(machine, 'InstanceTerminating'),
  );
  const away = counted.filter(
    ({ node, leaving }) =>
      leaving || !(node?.status?.conditions ?? []).some(({ type, status }) => type === 'Ready' && status === 'True'),
  );
  const budgets: readonly Budget[] = pool.spec.disruption?.budgets ?? [{ nodes: '10%' }];
  const limits = budgets
    .filter((budget) => budget.reasons === undefined || (budget.reasons as readonly string[]).includes(reason))
    .filter((budget) => isOpen(budget, nowMs))
    .map(({ nodes }) =>
      nodes.endsWith('%') ? Math.ceil((counted.length * Number(nodes.slice(0, -1))) / 100) : Number(nodes),
    );
  return Math.max(0, Math.min(2_147_483_647, ...limits) - away.length);
}

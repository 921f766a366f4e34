/** Renders a calendar of disruption budgets as text. */
import type { PoolCalendar } from '../../engine/disruption/budgets/calendar.ts';
import { counted, table } from './table.ts';
import { indented, terminalWidth } from './wrap.ts';

const HEADINGS = ['REASONS', 'FROM', 'UNTIL', 'MAY BE AWAY'];

interface Calendar {
  readonly from: string;
  readonly until: string;
  readonly nodePools: readonly PoolCalendar[];
}

/** @param timeZone time zone of the displayed times */
export function calendarText({ from, until, nodePools }: Calendar, timeZone: string): string {
  const clock = clockOf(timeZone);
  const title = `From ${clock(from)} to ${clock(until)}, ${timeZone}; schedules of budgets are in UTC`;
  const pools = nodePools.map((pool) => poolText(pool, clock));
  return `${[title, ...(pools.length === 0 ? ['no NodePools found'] : pools)].join('\n\n')}\n`;
}

type Clock = (time: string) => string;

/** Returns a formatter for times: `Wed 2026-06-03 14:00`. Seconds are shown if they are not zero. */
function clockOf(timeZone: string): Clock {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    weekday: 'short',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  });
  return (time) => {
    const parts = Object.fromEntries(format.formatToParts(new Date(time)).map(({ type, value }) => [type, value]));
    const seconds = parts.second === '00' ? '' : `:${parts.second}`;
    return `${parts.weekday} ${parts.year}-${parts.month}-${parts.day} ${parts.hour}:${parts.minute}${seconds}`;
  };
}

function poolText({ nodePool, nodes, disrupting, reasons, warnings }: PoolCalendar, clock: Clock): string {
  const title = `NodePool ${nodePool}: ${counted(nodes, 'node')}, ${disrupting} not ready or being deleted`;
  const groups = [...Map.groupBy(reasons, ({ spans, nextOpening }) => JSON.stringify({ spans, nextOpening })).values()];
  const rows = groups.flatMap((group) => groupRows(group, groups.length === 1, clock));
  const openings = groups.flatMap((group) => openingText(group, groups.length === 1, clock));
  const width = terminalWidth();
  const warned = warnings.map(({ text }) => indented(`warning: ${text}`, '  ', width));
  return [title, table(HEADINGS, rows), ...openings, ...warned].join('\n');
}

const namesOf = (group: PoolCalendar['reasons'], isAll: boolean): string =>
  isAll ? 'all' : group.map(({ reason }) => reason).join(', ');

/** Returns the rows of reasons with equal spans. */
function groupRows(group: PoolCalendar['reasons'], isAll: boolean, clock: Clock): readonly (readonly string[])[] {
  return (group[0]?.spans ?? []).map(({ from, until, allowed }, at) => [
    at === 0 ? namesOf(group, isAll) : '',
    clock(from),
    until === undefined ? '' : clock(until),
    allowed === 'unlimited' ? 'any number' : counted(allowed, 'node'),
  ]);
}

function openingText(group: PoolCalendar['reasons'], isAll: boolean, clock: Clock): readonly string[] {
  const [{ spans = [], nextOpening } = {}] = group;
  if (spans[0]?.allowed !== 0) return [];
  const reasons = isAll ? 'all reasons' : namesOf(group, isAll);
  return [
    `no disruption allowed now for ${reasons}; ${nextOpening === undefined ? 'no later time is known' : `allowed again at ${clock(nextOpening)}`}`,
  ];
}

/**
 * Command `karpenter explain budgets`. Shows the number of nodes that the budgets of NodePools allow to be disrupted, by
 * time.
 */
import { Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '#api/values';
import { calendarOf, type PoolBudgets, type PoolCalendar, poolBudgets } from '#engine/disruption';
import { timestamp, tryRun } from '#lib';
import { type Example, withExamples } from './describe.ts';
import { worldOf } from './objects/snapshot.ts';
import { askLeader } from './operator-or-cluster.ts';
import { notAmong } from './render/known.ts';
import { type Format, outputOption, printAs } from './render/output.ts';
import { counted, table } from './render/table.ts';
import { indented, terminalWidth } from './render/wrap.ts';
import { manifestsOf, nowOption, whatIfOption, writeNotes } from './scenario.ts';
import { refuseTwoSources, type SourceFlags, sourceOf, withSource } from './source.ts';

/** Calendar in a public format. */
export interface BudgetCalendar {
  /** Time in RFC 3339 format. */
  readonly from: string;
  /** Time in RFC 3339 format. */
  readonly until: string;
  readonly nodePools: readonly PoolCalendar[];
}

const DAY_MS = 86_400_000;
const MOST_DAYS = 366;

/**
 * Parses `7d`, or a Kubernetes duration such as `36h`.
 *
 * @throws InvalidArgumentError
 */
export function period(text: string): number {
  const days = /^(\d{1,3})d$/.exec(text)?.[1];
  const ms = days === undefined ? tryRun(() => parseDuration(text)) : Number(days) * DAY_MS;
  if (ms === undefined || !(ms > 0) || ms > MOST_DAYS * DAY_MS)
    throw new InvalidArgumentError(`Expected a duration of at most ${MOST_DAYS}d, for example 7d or 36h.`);
  return ms;
}

/** @param fallback default of the option */
export const periodOption = (flags: string, description: string, fallback = '7d'): Option =>
  new Option(flags, description).argParser(period).default(period(fallback), fallback);

/** @throws InvalidArgumentError */
function timeZone(text: string): string {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone;
  } catch {
    throw new InvalidArgumentError('Expected the name of a time zone, for example UTC or Europe/Berlin.');
  }
}

/**
 * Reads NodePools and the current state of their budgets from manifests.
 *
 * @throws InputError with the document and the field
 */
export async function budgetsIn(
  given: { readonly filename: readonly string[]; readonly whatIf?: readonly string[] },
  nowMs: number,
): Promise<{ readonly found: readonly PoolBudgets[]; readonly notes: readonly string[] }> {
  const { allPools, nodes, notes } = await worldOf(manifestsOf({ ...given, nowMs }), {
    instanceTypes: () => [],
    nowMs,
  });
  const nodePools = allPools.map(({ nodePool }) => nodePool);
  return { found: poolBudgets(nodes, nodePools, nowMs), notes };
}

interface Flags extends SourceFlags {
  readonly whatIf?: readonly string[];
  readonly next: number;
  readonly timeZone: string;
  readonly now?: number;
  readonly output: Format;
}

async function poolsFor(flags: Flags, nowMs: number): Promise<readonly PoolBudgets[]> {
  if (flags.filename.length === 0) return askLeader(flags, '/debug/budgets');
  const { found, notes } = await budgetsIn(flags, nowMs);
  writeNotes(notes);
  return found;
}

function choosePools(name: string | undefined, pools: readonly PoolBudgets[], where: string): readonly PoolBudgets[] {
  const found = name === undefined ? pools : pools.filter(({ nodePool }) => nodePool === name);
  if (name === undefined || found.length > 0) return found;
  throw new Error(notAmong('NodePool', name, { known: pools.map(({ nodePool }) => nodePool), where }));
}

const EXAMPLES: readonly Example[] = [
  {
    what: 'the next week for every NodePool, from the operator in the cluster of the kubeconfig',
    command: 'karpenter explain budgets',
  },
  {
    what: 'the next two weeks for one NodePool, in local time, from a file',
    command: 'karpenter explain budgets default --next 14d --time-zone Europe/Berlin -f now.yaml',
  },
  {
    what: 'with changed budgets',
    command: 'karpenter explain budgets -f now.yaml --what-if nodepool.yaml',
  },
  {
    what: 'next time at which drifted nodes can be disrupted',
    command: `karpenter explain budgets -o json | jq '.nodePools[].reasons[] | select(.reason == "Drifted") | .nextOpening'`,
  },
];

export function budgetsCommand(): Command {
  const command = new Command('budgets')
    .description('Show how many nodes the disruption budgets of NodePools allow to be disrupted, by time and reason')
    .argument('[nodepool]', 'name of the NodePool (default: all NodePools)');
  return withExamples(withSource(command), EXAMPLES)
    .addOption(periodOption('--next <duration>', 'period to show, for example 7d or 36h'))
    .addOption(
      new Option('--time-zone <name>', 'time zone of the table, for example Europe/Berlin; schedules are always in UTC')
        .argParser(timeZone)
        .default('UTC'),
    )
    .addOption(whatIfOption())
    .addOption(nowOption())
    .addOption(outputOption())
    .action(async (name: string | undefined, flags: Flags) => {
      refuseTwoSources(command, flags);
      if (flags.whatIf !== undefined && flags.filename.length === 0)
        command.error('error: --what-if needs -f with the manifests to change');
      const fromMs = flags.now ?? Date.now();
      const toMs = fromMs + flags.next;
      const pools = choosePools(name, await poolsFor(flags, fromMs), sourceOf(flags));
      const calendar: BudgetCalendar = {
        from: timestamp(fromMs),
        until: timestamp(toMs),
        nodePools: pools.map((pool) => calendarOf(pool, { fromMs, toMs })),
      };
      await printAs(flags.output, calendar, (found) => calendarText(found, flags.timeZone));
    });
}

/** Renders a calendar of disruption budgets as text. */
const HEADINGS = ['REASONS', 'FROM', 'UNTIL', 'MAY BE AWAY'];

interface Calendar {
  readonly from: string;
  readonly until: string;
  readonly nodePools: readonly PoolCalendar[];
}

/** @param timeZone time zone of the displayed times */
function calendarText({ from, until, nodePools }: Calendar, timeZone: string): string {
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
  const openings =
    nodes === 0
      ? ['it has no nodes to disrupt']
      : groups.flatMap((group) => openingText(group, groups.length === 1, clock));
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

/**
 * Command `karpenter explain budgets`. Shows the number of nodes that the budgets of NodePools allow to be disrupted, by
 * time.
 */
import { Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '../api/duration.ts';
import { calendarOf, type PoolBudgets, type PoolCalendar, poolBudgets } from '../engine/disruption/budgets/calendar.ts';
import { timestamp } from '../lib/times.ts';
import { type Example, withExamples } from './describe.ts';
import { worldOf } from './objects/snapshot.ts';
import { askOperator, DEFAULT_SERVER } from './operator.ts';
import { calendarText } from './render/calendar.ts';
import { notAmong } from './render/known.ts';
import { type Format, outputOption, printAs } from './render/output.ts';
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
  const ms = days === undefined ? readDuration(text) : Number(days) * DAY_MS;
  if (ms === undefined || !(ms > 0) || ms > MOST_DAYS * DAY_MS)
    throw new InvalidArgumentError(`Expected a duration of at most ${MOST_DAYS}d, for example 7d or 36h.`);
  return ms;
}

function readDuration(text: string): number | undefined {
  try {
    return parseDuration(text);
  } catch {
    return undefined;
  }
}

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
  const { allPools, snapshot, notes } = await worldOf(manifestsOf({ ...given, nowMs }), {
    instanceTypes: () => [],
    nowMs,
  });
  const nodePools = allPools.map(({ nodePool }) => nodePool);
  return { found: poolBudgets(snapshot.nodes, nodePools, nowMs), notes };
}

interface Flags extends SourceFlags {
  readonly whatIf?: readonly string[];
  readonly next: number;
  readonly timeZone: string;
  readonly now?: number;
  readonly output: Format;
}

async function poolsFor(flags: Flags, nowMs: number): Promise<readonly PoolBudgets[]> {
  if (flags.filename.length === 0) return askOperator(flags.server ?? DEFAULT_SERVER, '/debug/budgets');
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
  { what: 'the next week for every NodePool, from the operator', command: 'karpenter explain budgets' },
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
    .addOption(
      new Option('--next <duration>', 'period to show, for example 7d or 36h')
        .argParser(period)
        .default(7 * DAY_MS, '7d'),
    )
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

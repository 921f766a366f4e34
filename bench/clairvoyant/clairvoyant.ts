/**
 * Compares the cost of traces with policies that know the future, from the fewest constraints to the most:
 *
 *   npm run bench -- clairvoyant --traces FOLDER [--only NAME] [--cpu-seconds 120] [--results FILE] [--write]
 *
 * `--only`, `--results` and `--write` are as for `life`. `--cpu-seconds` limits the search for each trace. If the
 * pods of a trace choose their nodes, or request other resources than CPU and memory, this trace is reported and left out.
 */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { PARTS } from '#cli/testing';
import { messageOf } from '#lib';
import { type Replay, replay } from '#replay/run';
import { bootMs, bootOfInstances } from '#replay/testing';
import type { Trace } from '#replay/trace';
import { DEFAULT_WORLD } from '#replay/world-model';
import { PAGE } from '../life/life.ts';
import { setsFor } from '../life/settings.ts';
import { withTable } from '../life/table.ts';
import { resultsIn, sourcesOf } from '../life/traces.ts';
import { fixedPods, readDemand } from './demand.ts';
import { lowerBoundUsd, offersFor, worthFor } from './offers.ts';
import { packClairvoyantly, priceOfChains } from './packing.ts';
import { type Decision, type Outcome, rollOut } from './rollout.ts';

interface Cost {
  readonly usd: number;
  readonly evictions: number;
  readonly launches: number;
}

export interface ClairvoyantResult {
  readonly trace: string;
  /** Karpenter's way, and the operator with its defaults. */
  readonly replays: readonly Cost[];
  /** In the order of `POLICIES`. */
  readonly policies: readonly Cost[];
  /** Decisions of the policy with few evictions that differ from its rules. */
  readonly decisions: readonly Decision[];
}

type Replays = ClairvoyantResult['replays'];

const SETTINGS = ["Karpenter's way", 'default'];
/** Policies that know the future, from the fewest constraints to the most. */
const POLICIES = [
  'lower bound',
  'free choice, no moves',
  'kube-scheduler, any evictions',
  'kube-scheduler, few evictions',
  'kube-scheduler, no evictions',
];
const [BEGIN, END] = ['<!-- clairvoyant -->', '<!-- /clairvoyant -->'];
/** Few evictions are at most this share of those of Karpenter's way. */
const EVICTED_SHARE = 0.15;
/** Prices of an eviction. Higher prices keep evictions for the moves that save most. */
const EVICTION_PRICES = [0.01, 0.05, 0.3];
/** Launches over which boot times are averaged for the policy that chooses nodes freely. */
const MEAN_OF = 1_000;

/** The free choice and the three policies with kube-scheduler have equal shares of the CPU time. */
const PARTS_OF_TIME = 4;
const UNPAID_SECONDS = (bootOfInstances(DEFAULT_WORLD).startDelayMs ?? 0) / 1000;
const bootSeconds = (launch: number): number => bootMs(DEFAULT_WORLD, launch) / 1000;

/** Returns the costs of all policies. */
export async function comparePolicies(
  name: string,
  trace: Trace,
  cpuSeconds: number,
  replays: () => Promise<Replays>,
): Promise<ClairvoyantResult> {
  const demand = await readDemand(trace, DEFAULT_WORLD.podStartSeconds);
  const offers = await offersFor(setsFor('none')[0]?.objects ?? [], demand.daemons);
  const pods = fixedPods(demand);
  const played = await replays();
  const [{ evictions = 0 } = {}] = played;
  const { seconds } = demand;
  const boot = Array.from({ length: MEAN_OF }, (_, n) => bootSeconds(n)).reduce((sum, one) => sum + one / MEAN_OF, 0);
  const bound = await lowerBoundUsd(demand, pods, offers);
  const search = { offers, seconds, boot, unpaid: UNPAID_SECONDS, cpuSeconds: cpuSeconds / PARTS_OF_TIME };
  const chains = packClairvoyantly(pods, { ...search, iterations: Number.MAX_SAFE_INTEGER });
  const amount = { cpu: 0, memory: 0 };
  for (const { at, runs, until, cpu, memory } of pods) {
    const runningSeconds = Math.min(runs, until - at);
    amount.cpu += cpu * runningSeconds;
    amount.memory += memory * runningSeconds;
  }
  const world = { demand, offers, worth: worthFor(amount, offers), bootSeconds, unpaid: UNPAID_SECONDS };
  const outcomes: Outcome[] = [];
  for (const most of [0, Math.floor(EVICTED_SHARE * evictions), Number.POSITIVE_INFINITY]) {
    const evictionUsd = Number.isFinite(most) ? EVICTION_PRICES : EVICTION_PRICES.slice(0, 1);
    const outcome = rollOut(world, { evictions: most, evictionUsd, cpuSeconds: cpuSeconds / PARTS_OF_TIME });
    // a policy may do without the evictions that it is allowed
    const [before = outcome] = outcomes;
    outcomes.unshift(before.life.usd < outcome.life.usd ? before : outcome);
  }
  const policies = [
    { usd: bound, evictions: 0, launches: 0 },
    { usd: priceOfChains(chains), evictions: 0, launches: chains.length },
    ...outcomes.map(({ life }) => ({ usd: life.usd, evictions: life.evictions, launches: life.launches })),
  ];
  return { trace: name, replays: played, policies, decisions: outcomes[1]?.decisions ?? [] };
}

/** Returns the table. Costs are compared with the first setting. */
export function clairvoyantTable(results: readonly ClairvoyantResult[]): string {
  const columns = results.map(({ trace, replays, policies }) => ({ trace, costs: [...replays, ...policies] }));
  const together = SETTINGS.concat(POLICIES).map((_, at) => ({
    usd: columns.reduce((sum, { costs }) => sum + (costs[at]?.usd ?? 0), 0),
    evictions: columns.reduce((sum, { costs }) => sum + (costs[at]?.evictions ?? 0), 0),
  }));
  const all = columns.length > 1 ? [...columns, { trace: 'together', costs: together }] : columns;
  const cell = (costs: readonly Omit<Cost, 'launches'>[], at: number): string => {
    const { usd = 0, evictions = 0 } = costs[at] ?? {};
    const relative = at === 0 ? '' : ` (${(usd / (costs[0]?.usd ?? 0)).toFixed(3)})`;
    return `$${usd.toFixed(2)}${relative}${evictions === 0 ? '' : `, ${evictions} evictions`}`;
  };
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const rows = [...SETTINGS, ...POLICIES].map((policy, at) =>
    line([policy, ...all.map(({ costs }) => cell(costs, at))]),
  );
  return [line(['', ...all.map(({ trace }) => trace)]), `|---|${'---|'.repeat(all.length)}`, ...rows].join('\n');
}

async function playSettings(trace: Trace, play: Replay): Promise<Replays> {
  const sets = setsFor('none').filter(({ name }) => SETTINGS.includes(name));
  const { runs } = await play({ trace, world: DEFAULT_WORLD, sets, parallel: sets.length });
  return runs.map(({ cost, evictions, nodes }) => ({
    usd: cost.effectiveUsd,
    evictions,
    launches: nodes.bought,
  }));
}

export async function clairvoyantBenchmark(args: readonly string[], play: Replay = replay): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      traces: { type: 'string' },
      only: { type: 'string', default: '' },
      'cpu-seconds': { type: 'string', default: '120' },
      results: { type: 'string' },
      write: { type: 'boolean', default: false },
    },
  });
  const cpuSeconds = Number(values['cpu-seconds']);
  if (!(cpuSeconds > 0)) throw new Error(`--cpu-seconds must be a positive number, not "${values['cpu-seconds']}"`);
  const earlier = resultsIn<ClairvoyantResult>(values.results);
  const results: ClairvoyantResult[] = [];
  const folder = values.traces ?? process.env.LIFE_TRACES;
  // most generated traces have constraints that the policies do not support
  const sources = sourcesOf({ folder, only: values.only }).filter(({ source }) => !source.startsWith('generate:'));
  if (folder === undefined) throw new Error('there are no traces; use --traces with a folder of *.jsonl or *.jsonl.gz');
  if (sources.length === 0)
    throw new Error(`no trace in ${folder} has a name that begins with "${values.only}"; correct --traces or --only`);
  for (const { name, source } of sources) {
    const known = earlier.find(({ trace }) => trace === name);
    const result = known ?? (await resultOf(name, source, cpuSeconds, play));
    if (result === undefined) continue;
    results.push(result);
    if (known === undefined && values.results !== undefined)
      appendFileSync(values.results, `${JSON.stringify(result)}\n`);
  }
  const table = clairvoyantTable(results);
  process.stdout.write(`${table}\n`);
  if (values.write) writeFileSync(PAGE, withTable(readFileSync(PAGE, 'utf8'), table, BEGIN, END));
}

/** Returns undefined, and reports the reason, if the policies cannot play the trace. */
async function resultOf(
  name: string,
  source: string,
  cpuSeconds: number,
  play: Replay,
): Promise<ClairvoyantResult | undefined> {
  const trace = await PARTS.openTrace(source);
  try {
    return await comparePolicies(name, trace, cpuSeconds, () => playSettings(trace, play));
  } catch (error) {
    process.stderr.write(`${name} is left out: ${messageOf(error)}\n`);
    return undefined;
  }
}

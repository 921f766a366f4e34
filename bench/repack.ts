/**
 * Measures the possible savings of a repack across many nodes, in addition to consolidation. Replays traces with the
 * defaults, and searches every hour for the set of nodes whose removal saves most:
 *
 *   npm run bench -- repack [--traces FOLDER] [--only NAME] [--minutes 60] [--work 200]
 *
 * `--traces` and `--only` are as for `life`. `--minutes` is the interval, and `--work` the number of sets that are tried for each
 * search. The set may have any number of nodes, regardless of budgets. Its pods move to the remaining nodes and to new nodes.
 */
import { parseArgs } from 'node:util';
import { PARTS } from '#cli/testing';
import { Snapshots } from '#controllers/testing';
import {
  type Candidate,
  type Command,
  described,
  type Method,
  type MethodInput,
  passInput,
  prepare,
  Simulator,
  simulateOn,
} from '#engine/disruption';
import { pseudoRandom } from '#engine/model';
import { byWaste, costOf, multiNode, nodeUsdPerHour, savingsOf, singleNode, swap, withWorth } from '#engine/testing';
import { silent } from '#observe/logger';
import { DEFAULT_EVICTION_PRICE } from '#process/settings';
import { CLUSTER, fitToAccount, openWorld, play, type ReplayOperator, VirtualClock } from '#replay/testing';
import type { Trace } from '#replay/trace';
import { DEFAULT_WORLD } from '#replay/world-model';
import { setsFor } from './life/settings.ts';
import { sourcesOf } from './life/traces.ts';

const MINUTE_MS = 60_000;
const SETTLING_MS = MINUTE_MS;
/** New nodes are packed as in a swap. */
const PACKING = { sparesQuietNodes: true, packing: 'cheapest', packingWork: 1_000_000 } as const;
const SIZES = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48];
/** Largest number of nodes that a step of the search adds or removes. */
const MOST_CHANGES = 3;

export interface Moment {
  readonly minutes: number;
  readonly nodes: number;
  readonly usdPerHour: number;
  /** Price of new nodes for all pods. Undefined if a pod cannot move. */
  readonly scratchUsdPerHour: number | undefined;
  /** Set of nodes with the highest savings. */
  readonly cheapest: Found;
  /** Set of nodes with the highest benefit beyond the price of the move. */
  readonly best: Found;
  /** The same for the set that the operator would choose now. */
  readonly chosen: Found;
}

interface Found {
  readonly nodes: number;
  readonly pods: number;
  readonly savingsUsdPerHour: number;
  /** Benefit minus price, in USD. */
  readonly netUsd: number;
}

const NONE: Found = { nodes: 0, pods: 0, savingsUsdPerHour: 0, netUsd: 0 };

type Move = Pick<Command, 'candidates' | 'replacements'>;

function foundOf(move: Move, input: MethodInput): Found {
  const priced = withWorth(move, { ...input, showsPrices: true });
  const { benefitUsd = 0, priceUsd = 0, pods = 0 } = ('worth' in priced && priced.worth) || {};
  const { length: nodes } = move.candidates;
  return { nodes, pods, savingsUsdPerHour: savingsOf(move), netUsd: benefitUsd - priceUsd };
}

async function moveOf(candidates: readonly Candidate[], { simulate }: MethodInput): Promise<Move | undefined> {
  const simulation = await simulate(candidates, PACKING);
  return simulation === undefined || simulation.stranded.size > 0
    ? undefined
    : { candidates, replacements: simulation.claims };
}

/**
 * Searches for the set of nodes with the highest score by adding and removing nodes. Begins with the first nodes, in several
 * sizes.
 * @param findMove returns undefined if a pod of the set finds no node
 */
export async function bestSet<Node>(
  inOrder: readonly Node[],
  findMove: (set: readonly Node[]) => Promise<Found | undefined>,
  { work, scoreOf }: { readonly work: number; readonly scoreOf: (found: Found) => number },
): Promise<Found> {
  let best: { readonly set: ReadonlySet<Node>; readonly found: Found } = { set: new Set(), found: NONE };
  const evaluate = async (set: readonly Node[]): Promise<void> => {
    const found = set.length === 0 ? undefined : await findMove(set);
    if (found !== undefined && scoreOf(found) > scoreOf(best.found)) best = { set: new Set(set), found };
  };
  const sizes = [...SIZES.filter((size) => size < inOrder.length), inOrder.length];
  for (const size of sizes) await evaluate(inOrder.slice(0, size));
  const random = pseudoRandom(1);
  for (let tried = sizes.length; tried < work && inOrder.length > 0; tried += 1) {
    const changed = new Set<Node>();
    const changes = 1 + Math.floor(random() * MOST_CHANGES);
    for (let change = 0; change < changes; change += 1)
      changed.add(inOrder[Math.floor(random() * inOrder.length)] as Node);
    const { set } = best;
    await evaluate(inOrder.filter((node) => set.has(node) !== changed.has(node)));
  }
  return best.found;
}

/** Returns the set that the operator would choose now, within budgets. */
async function chosenBy(methods: readonly Method[], pass: Parameters<typeof prepare>[1]): Promise<Found> {
  for (const method of methods) {
    const { input, candidates } = await prepare(method, pass);
    const [command] = candidates.length === 0 ? [] : (await method.decide(input)).commands;
    if (command !== undefined) return foundOf(command, input);
  }
  return NONE;
}

async function measure({ deps }: ReplayOperator, minutes: number, work: number): Promise<Moment> {
  const { simulation, ...cluster } = await new Snapshots(deps, { providerIds: new Set() }).current(silent);
  const { snapshot, nodePools, solve } = simulation;
  const simulator = new Simulator(snapshot, { nodePools, solve: { ...solve, elapsedMs: () => 0 } });
  const pass = passInput(cluster, {
    ...{ nowMs: deps.clock.now(), spotToSpot: false, evictionUsd: DEFAULT_EVICTION_PRICE },
    ...{ simulate: simulateOn(simulator), elapsedMs: () => 0 },
  });
  const { input } = await prepare(swap, { ...pass, showsPrices: true });
  const { candidates } = input;
  const nodes = cluster.nodes.flatMap((node) => described(node, pass.pools) ?? []);
  const inOrder = [...pass.pools.values()].flatMap((pool) =>
    byWaste(
      candidates.filter(({ nodePool }) => nodePool === pool.nodePool),
      pool,
    ).map(({ candidate }) => candidate),
  );
  const scratch = await moveOf(nodes, input);
  const findMove = async (set: readonly Candidate[]): Promise<Found | undefined> => {
    const move = await moveOf(set, input);
    return move && foundOf(move, input);
  };
  return {
    minutes,
    nodes: nodes.length,
    usdPerHour: costOf(nodes),
    scratchUsdPerHour: scratch?.replacements.reduce((sum, claim) => sum + nodeUsdPerHour(claim), 0),
    cheapest: await bestSet(inOrder, findMove, { work, scoreOf: ({ savingsUsdPerHour }) => savingsUsdPerHour }),
    best: await bestSet(inOrder, findMove, { work, scoreOf: ({ netUsd }) => netUsd }),
    chosen: await chosenBy([multiNode, singleNode, swap], pass),
  };
}

interface Search {
  readonly minutes: number;
  readonly work: number;
}

/** Replays the trace and measures the cluster at equal intervals. */
async function momentsOf({ header, events }: Trace, { minutes, work }: Search): Promise<readonly Moment[]> {
  const life = new AbortController();
  const { signal } = life;
  const startMs = Date.parse(header.start);
  const clock = new VirtualClock(startMs - SETTLING_MS);
  const world = await openWorld({ clock, model: DEFAULT_WORLD, startMs, stepSeconds: 3600, args: [], signal });
  const moments: Moment[] = [];
  const until = async (ms: number): Promise<void> => {
    for (let at = moments.length + 1; startMs + at * minutes * MINUTE_MS <= ms; at += 1) {
      await clock.runUntil(startMs + at * minutes * MINUTE_MS, signal);
      moments.push(await measure(world.operator, at * minutes, work));
    }
    await clock.runUntil(ms, signal);
  };
  try {
    for (const apply of setsFor('none')[0]?.objects ?? [])
      await play(world.client, { at: 0, apply: fitToAccount(apply, CLUSTER) });
    for await (const event of events()) {
      await until(startMs + event.at * 1000);
      await play(world.client, event);
    }
    await until(startMs + header.seconds * 1000);
  } finally {
    life.abort();
  }
  return moments;
}

const sumOf = <T>(all: readonly T[], of: (one: T) => number): number => all.reduce((sum, one) => sum + of(one), 0);

/** Returns the line of a trace. Shares are shares of the price of the nodes, or of this price in the interval between moments. */
export function repackLine(trace: string, moments: readonly Moment[], minutes: number): object {
  const usdPerHour = sumOf(moments, (moment) => moment.usdPerHour);
  const movable = moments.filter(({ scratchUsdPerHour }) => scratchUsdPerHour !== undefined);
  const share = (part: number, whole = usdPerHour): number => Number((part / whole).toFixed(4));
  const inInterval = (usdPerHour * minutes) / 60;
  return {
    ...{ workload: `repack-${trace}`, moments: moments.length },
    nodes: Number((sumOf(moments, ({ nodes }) => nodes) / moments.length).toFixed(1)),
    scratch: share(
      sumOf(movable, (moment) => moment.usdPerHour - (moment.scratchUsdPerHour ?? 0)),
      sumOf(movable, (moment) => moment.usdPerHour),
    ),
    savings: share(sumOf(moments, ({ cheapest }) => cheapest.savingsUsdPerHour)),
    movedPods: Number((sumOf(moments, ({ cheapest }) => cheapest.pods) / moments.length).toFixed(1)),
    netOfSavings: share(
      sumOf(moments, ({ cheapest }) => cheapest.netUsd),
      inInterval,
    ),
    net: share(
      sumOf(moments, ({ best }) => best.netUsd),
      inInterval,
    ),
    netPods: Number((sumOf(moments, ({ best }) => best.pods) / moments.length).toFixed(1)),
    netOfChosen: share(
      sumOf(moments, ({ chosen }) => chosen.netUsd),
      inInterval,
    ),
  };
}

/** Yields one line for each trace. @throws Error if an option is unknown or not valid */
export async function* repackLines(args: readonly string[]): AsyncGenerator<object> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      traces: { type: 'string' },
      only: { type: 'string', default: '' },
      minutes: { type: 'string', default: '60' },
      work: { type: 'string', default: '200' },
    },
  });
  const [minutes, work] = [Number(values.minutes), Number(values.work)];
  if (!(minutes > 0 && work > 0)) throw new Error('--minutes and --work must be positive numbers');
  for (const { name, source } of sourcesOf({ folder: values.traces, only: values.only })) {
    const trace = await PARTS.openTrace(source);
    const moments = await momentsOf(trace, { minutes, work });
    for (const moment of moments) process.stderr.write(`${JSON.stringify(moment)}\n`);
    yield repackLine(name, moments, minutes);
  }
}

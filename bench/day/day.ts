/**
 * Memory of the operator during a simulated day: a separate process with its threads, bundled and started with the
 * flags of the image. Fifteen times an hour, the types that were launched last are sold out for the three minutes of
 * the operator's cache, an overlay changes prices, and nodes are added and removed.
 */
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { imageEnv, imageOptionsFor } from '../../test/support/image.ts';
import buildBundle, { bundled } from '../../test/support/operator/bundle.ts';
import { type OperatorProcess, runOperator } from '../../test/support/operator/runner.ts';
import { type DayWorld, startDay } from './world.ts';

const HOUR_MS = 3_600_000;

export interface Day {
  readonly nodes: number;
  readonly pods: number;
  /** Additional NodePools with separate NodeClasses. */
  readonly morePools?: number;
  readonly hours: number;
  /** Memory limit that the operator assumes for its container. V8 keeps garbage up to its own limit. */
  readonly limitMb: number;
  /** Simulated seconds per second of real time. */
  readonly factor: number;
}

export interface DayLine extends Day {
  readonly workload: string;
  /** Highest resident size after and during the launch of the nodes, and averages of the second and the last hour. */
  readonly rssMb: number;
  readonly setUpMb: number;
  readonly secondHourMb: number;
  readonly lastHourMb: number;
  readonly growth: number;
  /** Resident size after a rest at the end of the second and the last hour. */
  readonly secondRestMb: number;
  readonly lastRestMb: number;
  /** CPU time of the operator's process per hour, averaged over the hours after the first. */
  readonly cpuSecondsPerHour: number;
  /** Highest number of series in a scrape. */
  readonly series: number;
  /** Nodes that were launched during the day. */
  readonly nodesBought: number;
  readonly realSeconds: number;
}

const DAYS: readonly Day[] = [
  { nodes: 3, pods: 20, hours: 24, limitMb: 512, factor: 360 },
  { nodes: 3, pods: 20, hours: 3, limitMb: 512, factor: 240, morePools: 20 },
  { nodes: 500, pods: 5_000, hours: 3, limitMb: 512, factor: 120 },
  { nodes: 5_000, pods: 50_000, hours: 3, limitMb: 1_536, factor: 60 },
];

export async function* dayLines(isWanted: (workload: string) => boolean): AsyncGenerator<object> {
  if (isWanted('day')) for (const day of DAYS) yield await dayLine(day);
  if (isWanted('idle')) for (const day of IDLE) yield await idleLine(day);
}

/** Flags with which the image starts Node in a container with this limit. */
const flagsFor = (limitMb: number): readonly string[] => [
  ...imageOptionsFor(limitMb * 2 ** 20),
  ...(process.env.DAY_FLAGS?.split(' ') ?? []),
];

async function rssMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s*(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
}

/**
 * CPU time of all threads: fields 14 and 15 are hundredths of a second in user and kernel mode. The name before them
 * may contain spaces.
 */
async function cpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number);
  return ((user ?? 0) + (system ?? 0)) / 100;
}

interface Sample {
  readonly hour: number;
  readonly mb: number;
  readonly cpuSeconds: number;
  readonly series: number;
  readonly isRested?: boolean;
}

type Reading = Pick<Sample, 'mb' | 'cpuSeconds'>;

const mean = (samples: readonly Sample[]): number =>
  samples.reduce((sum, { mb }) => sum + mb, 0) / Math.max(1, samples.length);
const highest = (samples: readonly Sample[]): number => samples.reduce((most, { mb }) => Math.max(most, mb), 0);

function cpuAfter(hour: number, samples: readonly Sample[]): number {
  const from = samples.find((sample) => sample.hour >= hour);
  return (samples.at(-1)?.cpuSeconds ?? 0) - (from?.cpuSeconds ?? 0);
}

export async function dayLine(day: Day): Promise<DayLine> {
  const startedMs = performance.now();
  return inWorld(day, async (world, { setUp, ...watch }) => {
    const { samples, bought } = await live(world, day, watch);
    const meanOf = (hour: number, isRested = false): number =>
      mean(samples.filter((sample) => Math.floor(sample.hour) === hour && (sample.isRested ?? false) === isRested));
    const [second, last] = [meanOf(1), meanOf(day.hours - 1)];
    return {
      workload: `day-${sizeOf(day)}`,
      ...day,
      rssMb: Math.round(highest(samples)),
      setUpMb: Math.round(setUp),
      secondHourMb: Math.round(second),
      lastHourMb: Math.round(last),
      growth: Number((last / (second || 1)).toFixed(3)),
      secondRestMb: Math.round(meanOf(1, true)),
      lastRestMb: Math.round(meanOf(day.hours - 1, true)),
      cpuSecondsPerHour: Number((cpuAfter(1, samples) / Math.max(1, day.hours - 1)).toFixed(2)),
      series: Math.max(...samples.map(({ series }) => series)),
      nodesBought: bought,
      realSeconds: Math.round((performance.now() - startedMs) / 1000),
    };
  });
}

const IDLE: readonly Day[] = [
  { nodes: 3, pods: 20, hours: 2, limitMb: 512, factor: 240 },
  { nodes: 3, pods: 20, hours: 2, limitMb: 512, factor: 120, morePools: 20 },
];

/** Returns the CPU seconds that the operator uses in each hour if the cluster does not change. */
const idleLine = (day: Day): Promise<object> =>
  inWorld(day, async ({ clock }, { sample }) => {
    const hours: number[] = [];
    await clock.sleep(IDLE_AFTER_MS);
    for (let hour = 0; hour < day.hours; hour++) {
      const before = await sample();
      const startMs = clock.now();
      await clock.sleep(HOUR_MS);
      const usedS = (await sample()).cpuSeconds - before.cpuSeconds;
      hours.push(Number(((usedS * HOUR_MS) / (clock.now() - startMs)).toFixed(2)));
    }
    return { workload: `idle-${sizeOf(day)}`, cpuSecondsPerHour: hours };
  });

/** Simulated time until the work of the launches has ended. */
const IDLE_AFTER_MS = 600_000;

const sizeOf = ({ nodes, pods, morePools }: Day): string =>
  `${nodes}-${pods}${morePools ? `-${morePools + 1}-pools` : ''}`;

/** Runs the work with a new operator, after all nodes of the day exist. */
async function inWorld<T>(
  day: Day,
  work: (world: DayWorld, watch: Watch & { readonly setUp: number }) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'karpenter-day-'));
  const world = await startDay(day.factor);
  let operator: OperatorProcess | undefined;
  try {
    const kubeconfig = join(folder, 'kubeconfig');
    await writeFile(kubeconfig, world.kubeconfig());
    const env = {
      ...OPERATOR_ENV,
      ...world.env(),
      MEMORY_LIMIT: String(day.limitMb * 2 ** 20),
      KUBECONFIG: kubeconfig,
    };
    // bundled like the image, because sources and their compiled forms stay in memory
    buildBundle();
    const program = { file: bundled('process'), nodeOptions: flagsFor(day.limitMb) };
    operator = await runOperator(world.clock, env, [], program);
    const running = operator;
    const sample = async (): Promise<Reading> => {
      if (running.end !== undefined) throw new Error(`the operator ${running.end}\n${running.noise.join('\n')}`);
      return { mb: await rssMb(running.pid), cpuSeconds: await cpuSeconds(running.pid) };
    };
    const setUp = await settle(world, day, sample);
    const result = await work(world, { setUp, metricsUrl: running.metricsUrl, sample });
    for (const line of running.log) report(JSON.stringify(line));
    return result;
  } finally {
    await operator?.kill();
    await world.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

const OPERATOR_ENV = {
  ...imageEnv(),
  DISABLE_LEADER_ELECTION: 'true',
  METRICS_PORT: '0',
  HEALTH_PROBE_PORT: '0',
  FEATURE_GATES: 'NodeOverlay=true',
  LOG_LEVEL: process.env.DAY_LOG ?? 'error',
  // Time runs fast in this world.
  KUBE_CLIENT_QPS: '2000',
  KUBE_CLIENT_BURST: '4000',
};

type Sampler = () => Promise<Reading>;

/** Waits until all nodes and their pods exist. */
async function settle(world: DayWorld, { nodes, pods, morePools = 0 }: Day, sample: Sampler): Promise<number> {
  let most = 0;
  await world.addPools(morePools);
  await world.wait(nodes);
  let reportedMs = 0;
  await until(world, `${nodes} nodes`, async () => {
    most = Math.max(most, (await sample()).mb);
    if (performance.now() - reportedMs > REPORT_MS) {
      report(`${world.nodes()} of ${nodes} nodes, ${most.toFixed(0)} MB`);
      reportedMs = performance.now();
    }
    return world.nodes() >= nodes;
  });
  await world.run(Math.max(0, pods - nodes));
  return Math.max(most, (await sample()).mb);
}

const REPORT_MS = 10_000;
/** Reports progress of a run of half an hour. */
const report = (text: string): void => void process.stderr.write(`${text}\n`);

interface Watch {
  readonly metricsUrl: string;
  readonly sample: Sampler;
}

/** Number of rounds per hour in which nodes are added and removed. */
const ROUNDS = 15;
/** Number of nodes that are added and removed in each round. */
const PASSING = 2;
/** Reports whether the operator rests after this round: the last one of the second and of the last hour. */
const isBeforeRest = (round: number, hours: number): boolean => [2, hours].some((hour) => round === hour * ROUNDS - 1);
/**
 * V8 uses real time. It returns emptied pages to the system after 100 seconds without a full collection, for each
 * thread. An hour of a real cluster has many such minutes, but an hour of this world has none.
 */
const REST_MS = 300_000;
/** In simulated time. An event that does not occur within this time never occurs. */
const PATIENCE_MS = HOUR_MS;

/** Counts hours by their events, so that on a slow machine a day takes longer, with the same number of events. */
async function live(
  world: DayWorld,
  { hours }: Day,
  { metricsUrl, sample }: Watch,
): Promise<{ readonly samples: readonly Sample[]; readonly bought: number }> {
  const { clock, aws } = world;
  const samples: Sample[] = [];
  const nodes = world.nodes();
  let bought = 0;
  const stop = aws.instances.subscribe(({ state }) => {
    if (state === 'pending') bought++;
  });
  for (let round = 0; round < hours * ROUNDS; round++) {
    const endMs = clock.now() + HOUR_MS / ROUNDS;
    const look = async (): Promise<void> => {
      const series = await scrape(metricsUrl);
      samples.push({ hour: round / ROUNDS, series, ...(await sample()) });
    };
    sellOut(aws);
    await world.reprice(round);
    const passing = await world.wait(PASSING);
    await until(world, `nodes for ${passing.join(', ')}`, () => world.nodes() >= nodes + PASSING);
    await look();
    await world.end(passing);
    await until(world, `end of what is more than ${nodes} nodes`, () => world.nodes() <= nodes);
    await look();
    await clock.sleep(Math.max(0, endMs - clock.now()));
    report(
      `hour ${(round / ROUNDS).toFixed(1)} of ${hours}: ${world.nodes()} nodes, ${samples.at(-1)?.mb.toFixed(0)} MB`,
    );
    if (!isBeforeRest(round, hours)) continue;
    const factor = clock.speed(1);
    await pause(REST_MS);
    clock.speed(factor);
    samples.push({ hour: round / ROUNDS, series: 0, isRested: true, ...(await sample()) });
    report(`rested: ${samples.at(-1)?.mb.toFixed(0)} MB`);
  }
  stop();
  return { samples, bought };
}

/**
 * Returns the number of series. Uses a new connection, because Node may close an idle one at the same time. A scrape
 * that fails on a busy machine is skipped and returns no number.
 */
async function scrape(url: string): Promise<number> {
  const request = get(`${url}/metrics`, { agent: false });
  const failed = (error: unknown): void => report(`scrape: ${String(error)}`);
  request.on('error', failed);
  try {
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    const text = String(Buffer.concat(await response.toArray()));
    return Number(/^karpenter_metrics_series (\d+)$/m.exec(text)?.[1] ?? 0);
  } catch (error) {
    failed(error);
    return 0;
  }
}

/** @throws Error that names the missing state */
async function until(world: DayWorld, what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const { clock } = world;
  const startedMs = clock.now();
  while (!(await holds())) {
    if (clock.now() - startedMs > PATIENCE_MS)
      throw new Error(`no ${what} within an hour: there are ${world.nodes()} nodes`);
    await pause(20);
  }
}

/** Makes the types that were launched last unavailable. */
function sellOut(aws: DayWorld['aws']): void {
  aws.faults.clear();
  const types = new Set(
    aws.instances
      .list()
      .slice(-3)
      .map(({ type }) => type),
  );
  for (const instanceType of types) aws.faults.add({ kind: 'capacity', instanceType });
}

/**
 * What the operator takes of memory in the course of a scaled day: a process of its own with its threads, bundled and
 * started with the flags of its image. Fifteen times an hour the types that were bought last are sold out, for the
 * three minutes for which the operator remembers that, an overlay changes prices, and nodes come and go.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { imageEnv, imageOptionsFor } from '../../support/image.ts';
import { type OperatorProcess, runOperator } from '../../support/operator/runner.ts';
import { type DayWorld, startDay } from './world.ts';

const ROOT = join(import.meta.dirname, '../../..');
const HOUR_MS = 3_600_000;

export interface Day {
  readonly nodes: number;
  readonly pods: number;
  /** NodePools besides the first, with NodeClasses of their own. */
  readonly morePools?: number;
  readonly hours: number;
  /** What the operator takes for its container's limit: V8 keeps garbage for as long as it may. */
  readonly limitMb: number;
  /** Seconds of the world in one of real time. */
  readonly factor: number;
}

export interface DayLine extends Day {
  readonly workload: string;
  /** Highest, once the nodes are there; while they are bought; on average in the second hour and in the last. */
  readonly rssMb: number;
  readonly setUpMb: number;
  readonly secondHourMb: number;
  readonly lastHourMb: number;
  readonly growth: number;
  /** After a rest at the end of each. */
  readonly secondRestMb: number;
  readonly lastRestMb: number;
  /** Processor time of the operator's process in an hour, on average of those after the first. */
  readonly cpuSecondsPerHour: number;
  /** Most that a scrape had. */
  readonly series: number;
  /** Nodes that came in the course of the day. */
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

/** As the image starts Node in a container with this limit. */
const flagsFor = (limitMb: number): readonly string[] => [
  ...imageOptionsFor(limitMb * 2 ** 20),
  ...(process.env.DAY_FLAGS?.split(' ') ?? []),
];

/** Bundled as the image's, because sources and their compiled forms stay in memory. */
async function bundled(outdir: string): Promise<string> {
  execFileSync(process.execPath, ['build.ts', outdir, 'test/support/operator/process.ts'], { cwd: ROOT });
  await writeFile(join(outdir, 'package.json'), '{"type":"module"}');
  return join(outdir, 'operator/main.js');
}

async function rssMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s*(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
}

/** Of all threads, as hundredths of a second in user and kernel mode are fields 14 and 15; the name before them may have spaces. */
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

/** Time of the world until the work of the launches has ended. */
const IDLE_AFTER_MS = 600_000;

const sizeOf = ({ nodes, pods, morePools }: Day): string =>
  `${nodes}-${pods}${morePools ? `-${morePools + 1}-pools` : ''}`;

/** Runs the work with an operator of its own, once all nodes of the day are there. */
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
    const file = await bundled(join(folder, 'dist'));
    operator = await runOperator(world.clock, env, [], { file, nodeOptions: flagsFor(day.limitMb) });
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
  // time is short in this world
  KUBE_CLIENT_QPS: '2000',
  KUBE_CLIENT_BURST: '4000',
};

type Sampler = () => Promise<Reading>;

/** Until all nodes are there, and the pods on them. */
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
/** What a run of half an hour is doing. */
const report = (text: string): void => void process.stderr.write(`${text}\n`);

interface Watch {
  readonly metricsUrl: string;
  readonly sample: Sampler;
}

/** Times in an hour that nodes come and go. */
const ROUNDS = 15;
/** Nodes that come, and go again, each time. */
const PASSING = 2;
/** Rounds after which the operator rests: the last ones of the second hour and of the last. */
const isBeforeRest = (round: number, hours: number): boolean => [2, hours].some((hour) => round === hour * ROUNDS - 1);
/**
 * V8's clock runs no faster than real time. It keeps pages that it has emptied, and gives them back to the system after 100
 * seconds without a collection of the whole heap, thread by thread: minutes as an hour of such a cluster has many, and an
 * hour of this world none.
 */
const REST_MS = 300_000;
/** Of the world's time. What is to happen happens within this, or never. */
const PATIENCE_MS = HOUR_MS;

/**
 * Hours are counted by what happens in them, so that a slow machine takes longer for a day and not less happens in it.
 */
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
 * Answers how many series there are. On a connection of its own: Node may be closing the last one just then. One that fails
 * on a busy machine is left out, and has none.
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

/** @throws Error that names what has not happened */
async function until(world: DayWorld, what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const { clock } = world;
  const startedMs = clock.now();
  while (!(await holds())) {
    if (clock.now() - startedMs > PATIENCE_MS)
      throw new Error(`no ${what} within an hour: there are ${world.nodes()} nodes`);
    await pause(20);
  }
}

/** Nothing is left of the types that were bought last. */
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

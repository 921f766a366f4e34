/** Generated results of replays, of any length, that look like real results. */

import type { LifeAmounts, NodeEvent, ReplayResult, ReplayRun, ReplaySeries } from '#replay/run';
import { compareLives, lifeFigures } from '#replay/testing';

const DAY = 86_400;

export interface Sample {
  readonly days?: number;
  readonly stepSeconds?: number;
  readonly names?: readonly string[];
  readonly events?: number;
}

/** Pods by time of day: few at night, many at noon, fewer on weekends, with reproducible noise. */
const load = (seconds: number): number => {
  const noon = 1 - Math.cos((2 * Math.PI * seconds) / DAY);
  const weekend = Math.floor(seconds / DAY) % 7 >= 5 ? 0.5 : 1;
  return (120 + 160 * noon * weekend) * (1 + 0.04 * Math.sin(seconds / 977) + 0.03 * Math.sin(seconds / 4_321));
};

function seriesOf(rows: number, stepSeconds: number, thrift: number): ReplaySeries {
  const at = (of: (pods: number, seconds: number) => number): readonly number[] =>
    Array.from({ length: rows }, (_, row) => of(load(row * stepSeconds), row * stepSeconds));
  const nodes = at((pods) => Math.ceil((pods / 12) * thrift));
  return {
    stepSeconds,
    usdPerHour: nodes.map((count) => count * 0.107),
    nodes,
    spotNodes: nodes.map((count) => Math.floor(count * 0.7)),
    runningPods: at((pods) => Math.round(pods)),
    waitingPods: at((_, seconds) => (seconds % 7_200 < stepSeconds * 2 ? 6 : 0)),
    cpuRequested: at((pods) => pods * 0.5),
    cpuAllocatable: nodes.map((count) => count * 7.9),
    memoryRequested: at((pods) => pods * 1.5),
    memoryAllocatable: nodes.map((count) => count * 29.2),
  };
}

const TYPES = ['m7g.2xlarge', 'c7g.2xlarge', 'r6g.xlarge', 'm6a.2xlarge', 'c6i.4xlarge'];

const logOf = (events: number, seconds: number): readonly NodeEvent[] =>
  Array.from({ length: events }, (_, index) => {
    const isBought = index % 2 === 0;
    const what =
      index % 41 === 40 ? 'interrupted' : index % 97 === 96 ? 'launch failed' : isBought ? 'bought' : 'given back';
    return {
      at: Math.floor((seconds * index) / events),
      what,
      nodePool: index % 5 === 0 ? 'batch' : 'default',
      name: `default-${(index * 2_654_435_761).toString(36).slice(-5)}`,
      instanceType: TYPES[index % TYPES.length] ?? '',
      zone: `us-west-2${'abc'[index % 3]}`,
      capacityType: index % 10 < 7 ? 'spot' : 'on-demand',
      usdPerHour: 0.1 + (index % 7) / 50,
      ...(what === 'given back' && { reason: index % 4 === 1 ? 'Empty' : 'Underutilized' }),
    };
  });

/** @param thrift 1 for a run with full costs, less for a run with a fraction of the costs */
export function sampleRun(name: string, thrift: number, sample: Sample = {}): ReplayRun {
  const { days = 7, stepSeconds = 300, events = 240 } = sample;
  const seconds = days * DAY;
  const series = seriesOf(Math.ceil(seconds / stepSeconds), stepSeconds, thrift);
  const usd = series.usdPerHour.reduce((sum, rate) => sum + (rate * stepSeconds) / 3600, 0);
  return {
    name,
    settings: thrift === 1 ? ['--packing=compatible', '--consolidation=compatible'] : [],
    playedSeconds: seconds,
    isComplete: true,
    cost: {
      instancesUsd: usd * 0.96,
      extrasUsd: usd * 0.04,
      surplusCreditsUsd: 0,
      effectiveUsd: usd,
      byCapacityType: { spot: usd * 0.6, 'on-demand': usd * 0.4 },
      byNodePool: { default: usd * 0.8, batch: usd * 0.2 },
    },
    waiting: {
      pods: 12_345,
      p50: 38.2,
      p95: 71 * (2 - thrift),
      p99: 140,
      longest: 1_234,
      podHours: 160,
      stillWaiting: 0,
      upTo: [1, 5, 10, 30, 60, 120, 300, 1_234].map((at, index) => ({
        seconds: at,
        pods: Math.round(12_345 * (1 - (1 - index / 7) ** (1 + thrift))),
      })),
    },
    evictions: Math.round(1_000 * (1.8 - thrift)),
    redone: { pods: 12, podHours: 3.4, usd: 0.56 },
    failedJobs: { jobs: 1, pods: 7 },
    nodes: {
      bought: 310,
      givenBack: 291,
      most: Math.max(...series.nodes),
      average: series.nodes.reduce((sum, count) => sum + count, 0) / series.nodes.length,
      byReason: { Empty: 120, Underutilized: 150, Interrupted: 21 },
      hoursByType: Object.fromEntries(TYPES.map((type, index) => [type, Math.round((900 * thrift) / (index + 1))])),
    },
    interruptions: { count: 21, survived: 20, capacityErrors: 7 },
    idle: { cpu: 0.31 * thrift, memory: 0.42 * thrift },
    series,
    log: logOf(events, seconds),
    complaints:
      thrift === 1
        ? [
            {
              message: 'Cannot launch',
              count: 7,
              example: 'nodeClaim=default-abcde no capacity for m7g.2xlarge in us-west-2a',
            },
          ]
        : [],
    took: { seconds: 42.3, rssBytes: 512 * 2 ** 20 },
  };
}

export function sampleResult(sample: Sample = {}): ReplayResult {
  const { days = 7, names = ['compatible', 'ours'] } = sample;
  return {
    trace: {
      name: 'web-service',
      start: '2026-03-02T00:00:00Z',
      seconds: days * DAY,
      source: 'generated web-service seed 7',
    },
    world: { region: 'us-west-2', seed: 1, says: ['interruptions: 5 % of spot nodes per day'] },
    runs: names.map((name, index) => sampleRun(name, 1 - 0.12 * index, sample)),
  };
}

/** Result of a stopped replay, whose last run played a third of the trace. */
export function stoppedResult(): ReplayResult {
  const result = sampleResult();
  const [first, last] = result.runs;
  if (first === undefined || last === undefined) throw new Error('there are two runs');
  const playedSeconds = Math.floor(result.trace.seconds / 3);
  const cut = Object.fromEntries(
    Object.entries(last.series).map(([name, column]) => [
      name,
      typeof column === 'number' ? column : column.slice(0, Math.ceil(playedSeconds / last.series.stepSeconds)),
    ]),
  ) as unknown as ReplaySeries;
  return { ...result, runs: [first, { ...last, playedSeconds, isComplete: false, series: cut }] };
}

/**
 * Eight lives of two sets. The second set costs less in each life, and evicts more pods in half of them.
 *
 * @param figuresOfSecond figures of the second set in all lives
 */
export function livesResult(figuresOfSecond: Partial<LifeAmounts> = {}): ReplayResult {
  const { runs, ...result } = sampleResult({ days: 1 });
  const sets = runs.map((run, index) => ({
    name: run.name,
    lives: Array.from({ length: 8 }, (_, life) => {
      const figures = lifeFigures(run, life + 1);
      const noise = 1 + 0.05 * Math.sin(life);
      const evictions = 900 + (life % 2 === 0 ? 10 : -10) * index + life;
      return { ...figures, usd: figures.usd * noise, evictions, ...(index > 0 && figuresOfSecond) };
    }),
  }));
  return {
    ...result,
    runs: runs.map((run) => ({ ...run, life: 1 })),
    lives: { count: 8, sets: compareLives(sets), failures: [], repeated: [] },
  };
}

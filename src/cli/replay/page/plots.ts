/** Prepares the plots of a replay's page. */
import type { ReplayResult, ReplaySeries, WaitingSummary } from '#replay/run';
import { type Downsampling, downsample, rowsPerPoint } from '../downsample.ts';
import { waitedPods } from '../figures.ts';
import type { Plot, PlotLine, Unit } from './plot.ts';
import { timeTicks, waitTicks } from './scale.ts';

/** Maximum number of points of a line. Lower if a page has many runs. */
const MOST_POINTS = 600;
const ALL_POINTS = 3600;

interface Shown {
  readonly label?: string;
  readonly isDashed?: boolean;
  readonly keep?: Downsampling;
  readonly of: (series: ReplaySeries) => readonly number[];
}

interface Declared {
  readonly id: string;
  readonly title: string;
  readonly unit: Unit;
  readonly note?: string;
  readonly shown: readonly Shown[];
}

const difference = (all: readonly number[], part: readonly number[]): readonly number[] =>
  all.map((value, index) => value - (part[index] ?? 0));

function cumulate({ usdPerHour, stepSeconds }: ReplaySeries): readonly number[] {
  let sum = 0;
  return usdPerHour.map((usd) => {
    const before = sum;
    sum += (usd * stepSeconds) / 3600;
    return before;
  });
}

const PLOTS: readonly Declared[] = [
  { id: 'rate', title: 'USD per hour', unit: 'usd', shown: [{ of: ({ usdPerHour }) => usdPerHour }] },
  { id: 'spent', title: 'USD spent', unit: 'usd', shown: [{ keep: 'most', of: cumulate }] },
  {
    id: 'nodes',
    title: 'Nodes',
    unit: 'count',
    shown: [
      { label: 'on-demand', of: ({ nodes, spotNodes }) => difference(nodes, spotNodes) },
      { label: 'spot', isDashed: true, of: ({ spotNodes }) => spotNodes },
    ],
  },
  { id: 'running', title: 'Pods running', unit: 'count', shown: [{ of: ({ runningPods }) => runningPods }] },
  {
    id: 'waiting',
    title: 'Pods waiting for a node',
    unit: 'count',
    note: 'maximum in the interval of a point',
    shown: [{ keep: 'most', of: ({ waitingPods }) => waitingPods }],
  },
  {
    id: 'cpu',
    title: 'CPU, cores',
    unit: 'cores',
    shown: [
      { label: 'allocatable', of: ({ cpuAllocatable }) => cpuAllocatable },
      { label: 'requested', isDashed: true, of: ({ cpuRequested }) => cpuRequested },
    ],
  },
  {
    id: 'memory',
    title: 'Memory, GiB',
    unit: 'gib',
    shown: [
      { label: 'allocatable', of: ({ memoryAllocatable }) => memoryAllocatable },
      { label: 'requested', isDashed: true, of: ({ memoryRequested }) => memoryRequested },
    ],
  },
];

interface Drawn {
  readonly plots: readonly Plot[];
  /** Seconds per point of the series. */
  readonly stepSeconds: number;
}

export function timePlots({ runs, trace }: ReplayResult): Drawn {
  const rows = Math.max(0, ...runs.map(({ series }) => series.nodes.length));
  const each = rowsPerPoint(rows, Math.min(MOST_POINTS, Math.floor(ALL_POINTS / Math.max(1, runs.length))));
  const stepSeconds = each * (runs[0]?.series.stepSeconds ?? 1);
  const placeOf = (seconds: number): number => Math.min(1, seconds / Math.max(1, trace.seconds));
  const axis = {
    places: Array.from({ length: Math.ceil(rows / each) }, (_, index) => placeOf(index * stepSeconds)),
    ticks: timeTicks(Date.parse(trace.start), trace.seconds).map(({ at, label }) => ({ at: placeOf(at), label })),
  };
  const plots = PLOTS.map(({ shown, ...plot }) => ({
    ...plot,
    ...axis,
    lines: shown.flatMap(({ of, keep, ...line }) =>
      runs.map(({ series }, run): PlotLine => ({ ...line, run, values: downsample(of(series), each, keep) })),
    ),
  }));
  return { plots, stepSeconds };
}

/**
 * Returns the shares of a run's pods by maximum waiting time. Uses four percentiles if the replay has no
 * distribution.
 */
function sharesOf(waiting: WaitingSummary): readonly (readonly [number, number])[] {
  const { upTo, p50, p95, p99, longest } = waiting;
  const pods = waitedPods(waiting);
  if (pods === 0) return [];
  if (upTo !== undefined) return upTo.map(({ seconds, pods: count }) => [seconds, count / pods]);
  return [
    [p50, 0.5],
    [p95, 0.95],
    [p99, 0.99],
    [longest, 1],
  ];
}

/** Plots the shares of pods by waiting time on a logarithmic axis. Returns undefined if no pod was bound. */
export function waitPlot({
  runs,
}: ReplayResult): { readonly plot: Plot; readonly seconds: readonly number[] } | undefined {
  const shares = runs.map(({ waiting }) => sharesOf(waiting));
  const seconds = [...new Set(shares.flat().map(([at]) => at))].sort((a, b) => a - b);
  const longest = seconds.at(-1);
  if (longest === undefined) return undefined;
  const ticks = waitTicks(longest);
  const [first, last] = [ticks[0]?.at ?? 1, ticks.at(-1)?.at ?? 10];
  const placeOf = (at: number): number =>
    Math.min(1, Math.max(0, Math.log(Math.max(at, first) / first) / Math.log(last / first)));
  const plot: Plot = {
    id: 'waits',
    title: 'Pods by waiting time',
    unit: 'share',
    note: 'share of pods that waited at most this long',
    isStepped: true,
    places: seconds.map(placeOf),
    ticks: ticks.map(({ at, label }) => ({ at: placeOf(at), label })),
    lines: shares.map((own, run) => ({ run, values: own.length === 0 ? [] : seconds.map((at) => shareAt(own, at)) })),
  };
  return { plot, seconds };
}

const shareAt = (shares: readonly (readonly [number, number])[], seconds: number): number =>
  shares.findLast(([at]) => at <= seconds)?.[1] ?? 0;

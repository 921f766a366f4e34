/** Data for the page's script: the values of the plots, for tooltips, and the log. */
import type { ReplayResult } from '../../../replay/result.ts';
import type { Log } from './log.ts';
import { BOX, type Plot } from './plot.ts';

interface PageData {
  readonly startMs: number;
  readonly seconds: number;
  readonly runs: readonly string[];
  readonly box: typeof BOX;
  readonly plots: readonly PlotData[];
  readonly log: Log;
}

interface PlotData {
  readonly id: string;
  readonly unit: Plot['unit'];
  /**
   * Seconds between two points if the axis shows time. Otherwise `at` contains the value in seconds and the place of
   * each point.
   */
  readonly step?: number;
  readonly at?: readonly (readonly [seconds: number, place: number])[];
  readonly lines: readonly (readonly [run: number, label: string, values: readonly number[]])[];
}

const FIGURES = 4;
const short = (value: number): number => (Number.isInteger(value) ? value : Number(value.toPrecision(FIGURES)));

const linesOf = ({ lines }: Plot): PlotData['lines'] =>
  lines.map(({ run, label = '', values }) => [run, label, values.map(short)]);

export function pageData(
  { trace, runs }: ReplayResult,
  { plots, stepSeconds }: { readonly plots: readonly Plot[]; readonly stepSeconds: number },
  waits: { readonly plot: Plot; readonly seconds: readonly number[] } | undefined,
  log: Log,
): PageData {
  const ofTime = plots.map((plot) => ({ id: plot.id, unit: plot.unit, step: stepSeconds, lines: linesOf(plot) }));
  const ofWaits = waits && {
    id: waits.plot.id,
    unit: waits.plot.unit,
    at: waits.seconds.map((seconds, index) => [short(seconds), short(waits.plot.places[index] ?? 0)] as const),
    lines: linesOf(waits.plot),
  };
  return {
    startMs: Date.parse(trace.start),
    seconds: trace.seconds,
    runs: runs.map(({ name }) => name),
    box: BOX,
    plots: [...ofTime, ...(ofWaits === undefined ? [] : [ofWaits])],
    log,
  };
}

/** Data for the page's script: the values of the plots, for tooltips, and the log. */
import type { BOX, Unit } from './plot.ts';

export interface PageData {
  readonly startMs: number;
  readonly seconds: number;
  readonly runs: readonly string[];
  readonly box: typeof BOX;
  readonly plots: readonly PlotData[];
  readonly log: Log;
}

export interface PlotData {
  readonly id: string;
  readonly unit: Unit;
  /**
   * Seconds between two points if the axis shows time. Otherwise `at` contains the value in seconds and the place of
   * each point.
   */
  readonly step?: number;
  readonly at?: readonly (readonly [seconds: number, place: number])[];
  readonly lines: readonly (readonly [run: number, label: string, values: readonly number[]])[];
}

/** Time in seconds, run, indexes of words in {@link Log.words}, name, and price. */
export type LogEntry = readonly [at: number, run: number, words: readonly number[], name: string, usdPerHour: number];

export interface Log {
  /** Repeated texts: kinds of events, NodePools, instance types, zones, capacity types, reasons. */
  readonly words: readonly string[];
  /** Events in order of time. */
  readonly entries: readonly LogEntry[];
  /** Number of events of all runs, including omitted events. */
  readonly total: number;
}

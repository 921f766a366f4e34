/** Nodes that were bought and given back, as the page's script reads them: short, because there can be thousands. */
import type { NodeEvent, ReplayRun } from '../../../replay/result.ts';

/** Of all runs together; a month of fifty nodes has about so many. */
const MOST_EVENTS = 4_000;

/** Time in seconds, then places of the words in {@link Log.words}, and the price last: of run, what, pool, name and so on. */
export type LogEntry = readonly [at: number, run: number, words: readonly number[], name: string, usdPerHour: number];

export interface Log {
  /** What events repeat: kinds of events, NodePools, types, zones, capacity types, reasons. */
  readonly words: readonly string[];
  /** In the order of time. */
  readonly entries: readonly LogEntry[];
  /** Of all runs, those left out included. */
  readonly total: number;
}

/** Each run has as many of its first events as the others; what they leave is not shown. */
export function logOf(runs: readonly ReplayRun[]): Log {
  const each = Math.floor(MOST_EVENTS / Math.max(1, runs.length));
  const places = new Map<string, number>();
  const placeOf = (word: string): number => {
    const known = places.get(word) ?? places.size;
    places.set(word, known);
    return known;
  };
  const entryOf = (run: number, event: NodeEvent): LogEntry => {
    const { at, what, name, nodePool, instanceType, zone, capacityType, reason = '', usdPerHour } = event;
    const words = [what, nodePool, instanceType, zone, capacityType, reason].map(placeOf);
    return [Math.round(at), run, words, name, Number(usdPerHour.toFixed(4))];
  };
  const entries = runs
    .flatMap(({ log }, run) => log.slice(0, each).map((event) => entryOf(run, event)))
    .sort(([a, runA], [b, runB]) => a - b || runA - runB);
  return { words: [...places.keys()], entries, total: runs.reduce((sum, { log }) => sum + log.length, 0) };
}

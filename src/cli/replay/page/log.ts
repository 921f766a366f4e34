/** Log of launched and terminated nodes in a compact form, because there may be thousands. */
import type { NodeEvent, ReplayRun } from '../../../replay/result.ts';

/** Maximum number of events of all runs together. This is enough for a month of fifty nodes. */
const MOST_EVENTS = 4_000;

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

/** Builds the log. All runs have the same maximum number of events, and later events are omitted. */
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

/** Options of generators. The same options result in the same trace, byte for byte. */
import type { TraceEvent } from '../trace.ts';
import type { TimeSpan } from './calendar.ts';

export interface GeneratorOptions extends TimeSpan {
  readonly seed: number;
  /** Average number of running pods over the trace, without pods of DaemonSets. */
  readonly pods: number;
}

/** Part of a trace: streams of events, each in order of time. */
export type Streams = readonly Iterable<TraceEvent>[];

/** Names of services and teams. Further names get a number. */
const WORDS =
  'cart catalog checkout search profile login payments orders shipping inventory pricing reviews feed media notify maps chat billing ads quota gateway ranking audit export import geo offers wallet tax fraud refunds support'.split(
    ' ',
  );

/** Returns the name for an index. */
export function nameAt(index: number): string {
  const word = WORDS[index % WORDS.length] ?? 'service';
  const round = Math.floor(index / WORDS.length);
  return round === 0 ? word : `${word}-${round + 1}`;
}

/** Rounds seconds to one decimal place. This is enough for a trace. */
export const tenths = (seconds: number): number => Math.round(seconds * 10) / 10;

export const within = (value: number, least: number, most: number): number => Math.max(least, Math.min(most, value));

/** What generators are given. The same options make the same trace, byte for byte. */
import type { TraceEvent } from '../trace.ts';
import type { Span } from './calendar.ts';

export interface GeneratorOptions extends Span {
  readonly seed: number;
  /** Pods that run at the same time, on average over the trace; those of DaemonSets are not counted. */
  readonly pods: number;
}

/** A part of a trace: streams of events, each in the order of time. */
export type Streams = readonly Iterable<TraceEvent>[];

/** Names of services and teams; further ones get a number. */
const WORDS =
  'cart catalog checkout search profile login payments orders shipping inventory pricing reviews feed media notify maps chat billing ads quota gateway ranking audit export import geo offers wallet tax fraud refunds support'.split(
    ' ',
  );

/** A name for each index. */
export function nameAt(index: number): string {
  const word = WORDS[index % WORDS.length] ?? 'service';
  const round = Math.floor(index / WORDS.length);
  return round === 0 ? word : `${word}-${round + 1}`;
}

/** Seconds with one digit after the point: as much as a trace needs. */
export const tenths = (seconds: number): number => Math.round(seconds * 10) / 10;

export const within = (value: number, least: number, most: number): number => Math.max(least, Math.min(most, value));

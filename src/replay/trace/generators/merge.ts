/** Merges streams of events that are sorted by time. */
import { EarliestFirst } from '#lib';
import type { TraceEvent } from '../trace.ts';

interface Head {
  readonly event: TraceEvent;
  readonly stream: Iterator<TraceEvent>;
  /** Index of this stream. For events at the same time, the event of the earlier stream comes first. */
  readonly index: number;
}

const isBefore = (a: Head, b: Head): boolean =>
  a.event.at < b.event.at || (a.event.at === b.event.at && a.index < b.index);

/** Yields all events in order of time. At most one event of each stream is in memory. */
export function* mergeStreams(streams: readonly Iterable<TraceEvent>[]): Generator<TraceEvent> {
  const heads = new EarliestFirst<Head>(isBefore);
  const pull = (stream: Iterator<TraceEvent>, index: number): void => {
    const { done, value } = stream.next();
    if (done !== true) heads.push({ event: value, stream, index });
  };
  for (const [index, stream] of streams.entries()) pull(stream[Symbol.iterator](), index);
  for (let head = heads.pop(); head !== undefined; head = heads.pop()) {
    yield head.event;
    pull(head.stream, head.index);
  }
}

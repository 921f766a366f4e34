/** Reports the ages of watches as a metric and as a debug view. */
import type { Sample } from '#observe/metrics';
import type { Informers } from './client.ts';

type Watches = Pick<Informers, 'watches'>;

const seconds = (ms: number): number => Math.round(ms / 100) / 10;

/** Item of `/debug/watches`. The format is public. */
interface WatchView {
  readonly resource: string;
  /** Time since the watch last delivered an event, a bookmark or its end. */
  readonly ageSeconds: number;
  /** True if voluntary disruption pauses because of this watch. */
  readonly stale: boolean;
}

/** Returns the watches, the oldest sign of life first. */
export const watchViews = (informers: Watches): readonly WatchView[] =>
  informers
    .watches()
    .map(({ resource, ageMs, isStale }) => ({ resource, ageSeconds: seconds(ageMs), stale: isStale }))
    .sort((a, b) => b.ageSeconds - a.ageSeconds);

/** Returns the age of the oldest watch of each resource. A resource has a watch for each of its versions that is read. */
export const watchAges = (informers: Watches): readonly Sample[] =>
  [...Map.groupBy(informers.watches(), ({ resource }) => resource)].map(([resource, watches]) => ({
    labels: { resource },
    value: seconds(Math.max(...watches.map(({ ageMs }) => ageMs))),
  }));

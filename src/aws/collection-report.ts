/** Reports objects that garbage collection does not delete: in the log, as events about the cluster, and as a metric. */
import type { KubeObject } from '#api/objects';
import type { EventRecorder } from '#kube/reconcilers';
import { timestamp } from '#lib';
import type { Clock } from '#lib/clock';
import { eventOf } from '#observe/events';
import type { Logger } from '#observe/logger';
import { lastingText } from './errors.ts';
import { GARBAGE_COLLECTION_HELD, GARBAGE_COLLECTION_REFUSED, INSTANCES_OF_ANOTHER_CLUSTER } from './events.ts';
import type { AwsMetrics } from './metrics.ts';

const LISTED_IDS = 5;

const listIds = (ids: readonly string[]): string => {
  const more = ids.length - LISTED_IDS;
  const some = ids.slice(0, LISTED_IDS).join(', ');
  return more > 0 ? `${some} and ${more} other(s)` : some;
};

interface CollectionReportOptions {
  readonly events: EventRecorder;
  readonly metrics: Pick<AwsMetrics, 'collectionHeld'>;
  readonly clock: Clock;
  /** Object of the events. */
  readonly about: KubeObject;
}

/** Plurals of the metric's values of the label `resource`. */
const PLURALS = { instance: 'instances', instance_profile: 'instance profiles' } as const;

interface Held {
  readonly resource: keyof typeof PLURALS;
  readonly ids: readonly string[];
  readonly total: number;
  readonly share: number;
  readonly waitMs: number;
}

interface Refusal {
  readonly id: string;
  readonly error: unknown;
  /** Milliseconds until the next attempt. */
  readonly waitMs: number;
}

export class CollectionReport {
  readonly #options: CollectionReportOptions;

  constructor(options: CollectionReportOptions) {
    this.#options = options;
  }

  held({ resource, ids, total, share, waitMs }: Held, log: Logger): void {
    const { events, metrics, clock, about } = this.#options;
    metrics.collectionHeld.set({ resource, reason: 'share' }, ids.length);
    if (ids.length === 0) return;
    const plural = PLURALS[resource];
    const until = timestamp(clock.now() + waitMs);
    log.warn('holding garbage collection, too many objects have no NodeClaim', {
      resource,
      ids: listIds(ids),
      count: ids.length,
      total,
      share,
      until,
      remedy: 'see KarpenterGarbageCollectionHeld in docs/runbook.md before the time in "until"',
    });
    const message = GARBAGE_COLLECTION_HELD.message({ count: ids.length, total, plural, until, ids: listIds(ids) });
    events.publish(eventOf(GARBAGE_COLLECTION_HELD, about, { message, dedupe: [resource] }));
  }

  /** Reports objects whose deletion failed, each with the answer of AWS and the time of the next attempt. */
  refused(resource: keyof typeof PLURALS, refusals: readonly Refusal[]): void {
    const { events, clock, about } = this.#options;
    for (const { id, error, waitMs } of refusals) {
      const again = timestamp(clock.now() + waitMs);
      const message = GARBAGE_COLLECTION_REFUSED.message(PLURALS[resource], id, lastingText(error), again);
      events.publish(eventOf(GARBAGE_COLLECTION_REFUSED, about, { message, dedupe: [resource, id] }));
    }
  }

  /** Sets the number of objects that wait for another attempt after a refusal. */
  waiting(resource: keyof typeof PLURALS, count: number): void {
    this.#options.metrics.collectionHeld.set({ resource, reason: 'refused' }, count);
  }

  foreign(resource: keyof typeof PLURALS, ids: readonly string[], log: Logger): void {
    const { events, metrics, about } = this.#options;
    metrics.collectionHeld.set({ resource, reason: 'identity' }, ids.length);
    if (ids.length === 0) return;
    const plural = PLURALS[resource];
    log.warn('ignoring objects of another cluster with the same name', {
      resource,
      ids: listIds(ids),
      count: ids.length,
      remedy: 'see KarpenterInstancesOfAnotherCluster in docs/runbook.md; give each cluster a unique name',
    });
    const message = INSTANCES_OF_ANOTHER_CLUSTER.message(ids.length, plural, listIds(ids));
    events.publish(eventOf(INSTANCES_OF_ANOTHER_CLUSTER, about, { message, dedupe: [resource] }));
  }
}

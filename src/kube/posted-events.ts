/**
 * Events of this process on the API server. A repetition increases the count of an existing event instead of creating another
 * event.
 */
import { hash } from 'node:crypto';
import { EVENT } from '../api/kinds.ts';
import type { KubeEvent } from '../api/kubernetes.ts';
import type { Timepiece } from '../lib/clock.ts';
import { TtlCache } from '../lib/ttl-cache.ts';
import { isNotFound, type KubeClient, type Ref } from './client.ts';

/** Maximum number of events in the cache. Other Kubernetes clients use the same limit. */
const MOST_REMEMBERED = 4_096;
/** Lifetime of cache entries. By default, API servers delete an event one hour after its last write. */
const KEPT_MS = 60 * 60_000;

interface Posted {
  readonly ref: Ref;
  readonly count: number;
}

export class PostedEvents {
  readonly #client: Pick<KubeClient, 'create' | 'patch'>;
  readonly #posted: TtlCache<string, Posted>;

  constructor(client: Pick<KubeClient, 'create' | 'patch'>, clock: Timepiece) {
    this.#client = client;
    this.#posted = new TtlCache(clock, KEPT_MS, { most: MOST_REMEMBERED });
  }

  /** Creates the event, or increases its count if the same event was already posted for the object. @throws ApiError */
  async post(event: KubeEvent): Promise<void> {
    const key = identityOf(event);
    const before = this.#posted.get(key);
    if (before !== undefined && (await this.#repeat(before, event))) {
      this.#posted.set(key, { ...before, count: before.count + 1 });
      return;
    }
    await this.#client.create(EVENT, event);
    const { name, namespace } = event.metadata;
    this.#posted.set(key, { ref: { name, namespace }, count: 1 });
  }

  /** Increases the count of an event. Returns false if the event has expired in the meantime. */
  async #repeat({ ref, count }: Posted, { lastTimestamp }: KubeEvent): Promise<boolean> {
    try {
      await this.#client.patch(EVENT, ref, { count: count + 1, lastTimestamp });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }
}

function identityOf({ involvedObject, type, reason, message }: KubeEvent): string {
  const { kind, namespace, name, uid } = involvedObject;
  // short keys, because the cache holds thousands of them
  return hash('sha1', [kind, namespace, name, uid, type, reason, message].join('\n'), 'base64');
}

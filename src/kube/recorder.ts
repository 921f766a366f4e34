/**
 * Posts Kubernetes events. Drops repetitions within a time window, counts later repetitions, enforces rate limits, and never
 * blocks its callers.
 */

import { hash } from 'node:crypto';
import { EVENT, type KubeEvent, type KubeObject } from '#api/objects';
import { defined, timestamp } from '#lib';
import { type Clock, type Limiter, limiter, monotonicMs, type Timepiece, TtlCache } from '#lib/clock';
import { EVENT_WINDOW_MS } from '#observe/events';
import type { Logger } from '#observe/logger';
import { ApiError, isNotFound, type KubeClient, type Ref } from './client.ts';
import type { EventNote, EventRecorder } from './events.ts';

interface RecorderOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  /** Source of the events. Default `karpenter`. */
  readonly component?: string;
}

interface PostingRecorder extends EventRecorder {
  /** Accepts no further events. Resolves when the pending events are posted, or after `graceMs`. */
  stop(graceMs?: number): Promise<void>;
}

const MOST_KEYS = 50_000;
/** Maximum number of lasting events whose repetitions are counted. */
const MOST_STREAKS = 8_192;
/** Maximum time between repetitions of a lasting event, so that it does not expire. */
const LASTING_MS = 45 * 60_000;
/** Number of concurrent posts. At most `MOST_WAITING` events wait; further events are dropped, because events are best effort. */
const WORKERS = 4;
const MOST_WAITING = 1_000;
/** Maximum length of a name on the API server. The name of the object itself may be this long. */
const LONGEST_NAME = 253;
/** Maximum length of a message on the API server. Longer messages are truncated. */
export const LONGEST_MESSAGE = 1_024;
/** Namespace for events of objects without a namespace. */
const CLUSTER_NAMESPACE = 'default';

export const eventRecorder = (options: RecorderOptions): PostingRecorder => new Recorder(options);

interface Waiting {
  readonly event: KubeEvent;
  /** Key that identifies repetitions. */
  readonly key: string | undefined;
}

/** Uninterrupted repetitions of a lasting event. */
interface Streak {
  readonly message: string;
  readonly count: number;
  /** Time of the last repetition, by `monotonicMs`. */
  readonly atMs: number;
}

class Recorder implements PostingRecorder {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #component: string;
  /** Events whose repetitions are dropped during the time window. */
  readonly #seen: TtlCache<string, true>;
  readonly #streaks: TtlCache<string, Streak>;
  readonly #buckets = new Map<string, Limiter>();
  readonly #posted: PostedEvents;
  readonly #waiting: Waiting[] = [];
  #posting = 0;
  #failures = 0;
  #serial = 0;
  #isStopped = false;
  #onIdle: (() => void) | undefined;

  constructor({ client, clock, log, component = 'karpenter' }: RecorderOptions) {
    this.#clock = clock;
    this.#log = log;
    this.#component = component;
    this.#seen = new TtlCache(clock, EVENT_WINDOW_MS, { most: MOST_KEYS });
    this.#streaks = new TtlCache(clock, KEPT_MS, { most: MOST_STREAKS });
    this.#posted = new PostedEvents(client, clock);
  }

  publish(...notes: readonly EventNote[]): void {
    for (const note of notes) {
      const key = keyOf(note);
      if (this.#isStopped || !this.#isWanted(note, key)) continue;
      if (this.#waiting.length >= MOST_WAITING) {
        this.#failures += 1;
        this.#forget(key);
        continue;
      }
      this.#serial += 1;
      const facts = { nowMs: this.#clock.now(), serial: this.#serial, component: this.#component };
      this.#waiting.push({ event: eventOf(note, facts), key });
      if (this.#posting < WORKERS) void this.#drain();
    }
  }

  async stop(graceMs = 2_000): Promise<void> {
    this.#isStopped = true;
    if (this.#posting === 0) return;
    const flushed = new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
    const giveUp = new AbortController();
    await Promise.race([flushed, this.#clock.sleep(graceMs, giveUp.signal)]);
    giveUp.abort();
  }

  #isWanted(note: EventNote, key: string | undefined): boolean {
    const { windowMs, limit } = note;
    if (key !== undefined) {
      if (this.#seen.get(key) || (note.isLasting && this.#isKnown(note, key))) return false;
      this.#seen.set(key, true, windowMs);
    }
    if (limit === undefined) return true;
    const { name, qps, burst } = limit;
    const bucket = this.#buckets.get(name) ?? limiter(this.#clock, qps, burst);
    this.#buckets.set(name, bucket);
    return bucket.tryTake();
  }

  /**
   * Returns true if a lasting event is not due again. Its time to the next repetition doubles while its message is the same, so
   * that a cluster without changes has few writes.
   */
  #isKnown({ message, windowMs = EVENT_WINDOW_MS }: EventNote, key: string): boolean {
    const streak = this.#streaks.get(key);
    const isSame = streak?.message === message;
    const nowMs = monotonicMs(this.#clock);
    if (isSame && nowMs - streak.atMs < Math.min(LASTING_MS, windowMs * 2 ** streak.count)) return true;
    this.#streaks.set(key, { message, count: isSame ? streak.count + 1 : 1, atMs: nowMs });
    return false;
  }

  /** Lets the next repetition of an event be posted, because this one was not. */
  #forget(key: string | undefined): void {
    if (key === undefined) return;
    this.#seen.delete(key);
    this.#streaks.delete(key);
  }

  async #drain(): Promise<void> {
    this.#posting += 1;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) await this.#post(next);
    this.#posting -= 1;
    if (this.#posting === 0) this.#onIdle?.();
  }

  async #post({ event, key }: Waiting): Promise<void> {
    try {
      await this.#posted.post(event);
      if (this.#failures > 0) this.#log.info('recording events again', { dropped: this.#failures });
      this.#failures = 0;
    } catch (error) {
      // The namespace or this object is being deleted, so the event is no longer needed.
      if (isNotFound(error) || isTerminating(error)) return;
      if (!isRejection(error)) this.#forget(key);
      this.#failures += 1;
      if (this.#failures === 1) this.#log.error('failed recording event', { reason: event.reason, error });
    }
  }
}

const isTerminating = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 403 && error.message.includes('being terminated');

/** Returns true if the API server does not accept this event, so that a repetition would be rejected as well. */
const isRejection = (error: unknown): boolean =>
  error instanceof ApiError && error.status >= 400 && error.status < 500 && ![401, 429].includes(error.status);

const keyOf = ({ reason, dedupe }: EventNote): string | undefined =>
  dedupe && `${reason.toLowerCase()}-${dedupe.join('-')}`;

function eventOf(
  note: EventNote,
  { nowMs, serial, component }: { nowMs: number; serial: number; component: string },
): KubeEvent {
  const { metadata, kind, apiVersion }: KubeObject = note.object;
  const namespace = metadata.namespace ?? CLUSTER_NAMESPACE;
  const time = timestamp(nowMs);
  // a unique name: the time and a number within this process
  const suffix = `${nowMs.toString(16)}${serial.toString(16).padStart(4, '0')}`;
  const prefix = metadata.name.slice(0, LONGEST_NAME - suffix.length - 1).replace(/[^a-z0-9]$/, '');
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${prefix}.${suffix}`, namespace },
    involvedObject: {
      apiVersion,
      kind,
      name: metadata.name,
      ...defined({ namespace: metadata.namespace, uid: metadata.uid }),
    },
    reason: note.reason,
    message: note.message.slice(0, LONGEST_MESSAGE),
    type: note.type,
    count: 1,
    firstTimestamp: time,
    lastTimestamp: time,
    source: { component },
    reportingComponent: component,
  };
}

/** Maximum number of events in the cache. Other Kubernetes clients use the same limit. */
const MOST_REMEMBERED = 4_096;
/** Lifetime of cache entries. By default, API servers delete an event one hour after its last write. */
const KEPT_MS = 60 * 60_000;

interface Posted {
  readonly ref: Ref;
  readonly count: number;
}

/** Events of this process on the API server. A repetition increases the count of an existing event. */
class PostedEvents {
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

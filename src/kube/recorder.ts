/**
 * Posts Kubernetes events: drops repetitions within a window, counts later ones, keeps to rates, and never holds its
 * callers up.
 */
import { LRUCache } from 'lru-cache';
import type { KubeEvent, KubeObject } from '../api/kubernetes.ts';
import { EVENT_WINDOW_MS } from '../observe/events/declaration.ts';
import type { Logger } from '../observe/logger.ts';
import { ApiError, isNotFound, type KubeClient } from './client.ts';
import { type Clock, monotonicMs } from './clock.ts';
import type { EventNote, EventRecorder } from './events.ts';
import { type Limiter, limiter } from './limiter.ts';
import { PostedEvents } from './posted-events.ts';

export interface RecorderOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  /** Source of the events. Default `karpenter`. */
  readonly component?: string;
}

export interface PostingRecorder extends EventRecorder {
  /** Takes no more notes; resolves when those in hand are posted, or after `graceMs`. */
  stop(graceMs?: number): Promise<void>;
}

const MOST_KEYS = 50_000;
/** Posts at a time, and notes that may wait; more are dropped, since events are a courtesy. */
const WORKERS = 4;
const MOST_WAITING = 1_000;
/** Longest name that the API server takes; the object's own may be as long. */
const LONGEST_NAME = 253;
/** Longest message that the API server takes. */
const LONGEST_MESSAGE = 1_024;
/** Events of objects without a namespace live here. */
const CLUSTER_NAMESPACE = 'default';

export function eventRecorder({ client, clock, log, component = 'karpenter' }: RecorderOptions): PostingRecorder {
  /** Key → until when, by `monotonicMs`, repetitions are dropped. Not the cache's own expiry: that reads the real clock. */
  const seen = new LRUCache<string, number>({ max: MOST_KEYS });
  const buckets = new Map<string, Limiter>();
  const posted = new PostedEvents(client);
  const waiting: KubeEvent[] = [];
  let posting = 0;
  let failures = 0;
  let serial = 0;
  let isStopped = false;
  let onIdle: (() => void) | undefined;

  const isWanted = (note: EventNote): boolean => {
    if (note.dedupe !== undefined) {
      const key = `${note.reason.toLowerCase()}-${note.dedupe.join('-')}`;
      if ((seen.get(key) ?? Number.NEGATIVE_INFINITY) > monotonicMs(clock)) return false;
      seen.set(key, monotonicMs(clock) + (note.windowMs ?? EVENT_WINDOW_MS));
    }
    if (note.limit === undefined) return true;
    const { name, qps, burst } = note.limit;
    const bucket = buckets.get(name) ?? limiter(clock, qps, burst);
    buckets.set(name, bucket);
    return bucket.tryTake();
  };

  const post = async (event: KubeEvent): Promise<void> => {
    try {
      await posted.post(event);
      if (failures > 0) log.info('recording events again', { dropped: failures });
      failures = 0;
    } catch (error) {
      // the namespace or its object is going away; the event went with it
      if (isNotFound(error) || isTerminating(error)) return;
      failures += 1;
      if (failures === 1) log.error('failed recording event', { reason: event.reason, error });
    }
  };

  const drain = async (): Promise<void> => {
    posting += 1;
    for (let event = waiting.shift(); event !== undefined; event = waiting.shift()) await post(event);
    posting -= 1;
    if (posting === 0) onIdle?.();
  };

  return {
    publish: (...notes) => {
      for (const note of notes) {
        if (isStopped || !isWanted(note)) continue;
        if (waiting.length >= MOST_WAITING) {
          failures += 1;
          continue;
        }
        serial += 1;
        waiting.push(eventOf(note, { nowMs: clock.now(), serial, component }));
        if (posting < WORKERS) void drain();
      }
    },
    stop: async (graceMs = 2_000) => {
      isStopped = true;
      if (posting === 0) return;
      const flushed = new Promise<void>((resolve) => {
        onIdle = resolve;
      });
      const giveUp = new AbortController();
      await Promise.race([flushed, clock.sleep(graceMs, giveUp.signal)]);
      giveUp.abort();
    },
  };
}

const isTerminating = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 403 && error.message.includes('being terminated');

function eventOf(
  note: EventNote,
  { nowMs, serial, component }: { nowMs: number; serial: number; component: string },
): KubeEvent {
  const { metadata, kind, apiVersion }: KubeObject = note.object;
  const namespace = metadata.namespace ?? CLUSTER_NAMESPACE;
  const time = new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z');
  // a name that no other event has: the time, and a number within this process
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
      ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
      ...(metadata.uid !== undefined && { uid: metadata.uid }),
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

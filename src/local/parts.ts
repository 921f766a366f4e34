/** Dependencies of every part of the local control plane. */
import { EVENT, type KubeEvent, type KubeObject } from '#api/objects';
import { timestamp } from '#lib';
import type { Clock } from '#lib/clock';
import type { Caches } from './cache.ts';
import { isGone, type ObjectClient } from './client.ts';

export interface Parts {
  readonly client: ObjectClient;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  log(message: string): void;
  readonly caches: Caches;
  /** If true, no events are created, because no client reads them. */
  readonly silent?: boolean;
}

/** Publishes an event of one component. A repeated event increases the count. */
export type Report = (about: KubeObject, type: 'Normal' | 'Warning', reason: string, message: string) => void;

export function eventReporter(
  component: string,
  { client, clock, signal, log, silent = false }: Omit<Parts, 'caches'>,
): Report {
  if (silent) return () => {};
  interface Seen {
    name: string;
    count: number;
  }
  const seen = new Map<string, Seen>();
  let serial = 0;

  const send = async (about: KubeObject, type: 'Normal' | 'Warning', reason: string, message: string) => {
    const { name, namespace = 'default', uid } = about.metadata;
    const key = [about.kind, uid ?? name, type, reason, message].join('\n');
    const now = timestamp(clock.now());
    const before = seen.get(key);
    if (before) {
      before.count += 1;
      const patch = { count: before.count, lastTimestamp: now };
      try {
        await client.patch(EVENT, { namespace, name: before.name }, patch);
        return;
      } catch (error) {
        // The event may have expired, and is then created again.
        if (!isGone(error)) throw error;
      }
    }
    serial += 1;
    const event: KubeEvent = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace, name: `${name}.${(clock.now() * 1000 + (serial % 1000)).toString(16)}` },
      involvedObject: {
        apiVersion: about.apiVersion,
        kind: about.kind,
        name,
        ...(about.metadata.namespace ? { namespace } : {}),
        ...(uid ? { uid } : {}),
      },
      reason,
      message,
      type,
      count: 1,
      firstTimestamp: now,
      lastTimestamp: now,
      source: { component },
      reportingComponent: component,
    };
    seen.set(key, { name: event.metadata.name, count: 1 });
    if (seen.size > 5_000) seen.delete(seen.keys().next().value ?? '');
    await client.create(EVENT, event);
  };

  return (about, type, reason, message) => {
    send(about, type, reason, message).catch((error: unknown) => {
      if (!signal.aborted) log(`event ${reason} of ${about.metadata.name}: ${String(error)}`);
    });
  };
}

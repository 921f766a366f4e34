/** Runs work under a lease. */

import { NODE_CLAIM } from '#api/objects';
import type { Clock } from '#lib/clock';
import { errorText, type Logger } from '#observe/logger';
import type { Informers, KubeReader } from './client.ts';
import { openFence } from './fence.ts';
import { connect } from './http.ts';
import { electLeader, type LeaseOptions } from './lease.ts';
import { eventRecorder } from './recorder.ts';

export interface LeadOptions
  extends Required<Pick<LeaseOptions, 'clock' | 'leadership' | 'log' | 'metrics' | 'name' | 'namespace'>> {
  /** Default: the cluster of this process. */
  readonly kubeconfig: string | undefined;
  readonly userAgent: string;
}

interface LeadersWork {
  /** Runs until the signal aborts. */
  readonly work: () => Promise<void>;
  /** Writes the remaining data after the work has ended. */
  readonly leaving: () => Promise<void>;
}

/**
 * Runs the work while the lease is held. After a stop, releases the lease when the work in progress has finished. After the loss
 * of the lease, abandons the work in progress, and the fence rejects its writes.
 * @param working ends the work; this function aborts it if the lease is lost
 */
export async function lead(
  { kubeconfig, userAgent, ...leaseOf }: LeadOptions,
  working: AbortController,
  { work, leaving }: LeadersWork,
): Promise<'stopped' | 'lease lost'> {
  const { clock, log } = leaseOf;
  const releasing = new AbortController();
  // The election has its own client, so that load on the operator's client cannot cost the lease, and because the election must
  // write while the fence of the operator is closed.
  const client = connect({ kubeconfig, clock, userAgent, log, longestRetryAfterMs: 1_000, fence: openFence() });
  const events = eventRecorder({ client, clock, log });
  const election = electLeader({ ...leaseOf, client, events, signal: releasing.signal });
  const ended = election.ended.finally(() => working.abort());
  const stopped = new Promise<void>((resolve) => {
    if (working.signal.aborted) resolve();
    working.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await Promise.race([election.elected, stopped]);
  if (!working.signal.aborted) {
    const worked = work().then(() => (leaseOf.leadership.isOpen ? leaving() : undefined));
    await Promise.race([worked, ended]);
    worked.catch(() => undefined);
  }
  releasing.abort();
  const end = await ended;
  await events.stop(EVENTS_MS);
  client.close();
  return end === 'lost' ? 'lease lost' : 'stopped';
}

/** Time for the last event, in milliseconds. A process that lost its lease must end within a second. */
const EVENTS_MS = 300;

interface CatchUpOptions {
  readonly client: KubeReader;
  readonly informers: Informers;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

const RETRY_MS = 500;
/** Number of tries between two log lines. This many tries take 10 seconds. */
const REPORTED_TRIES = 20;

/**
 * Resolves if the cache shows every NodeClaim of the API server, or if the signal aborts. The watch of a standby replica may lag
 * behind the lease, and a leader with an old cache would launch nodes again for pods that have nodes of the previous leader.
 */
export async function catchUp({ client, informers, clock, log, signal }: CatchUpOptions): Promise<void> {
  const store = informers.store(NODE_CLAIM);
  for (let tries = 1; !signal.aborted; tries += 1) {
    let reason: string;
    try {
      await informers.synced(signal);
      const present = await client.listAll(NODE_CLAIM);
      const missing = present.filter(({ metadata }) => store.get(metadata)?.metadata.uid !== metadata.uid);
      if (missing.length === 0) return;
      reason = `the cache does not contain NodeClaim "${missing[0]?.metadata.name}" (${missing.length} missing in total)`;
    } catch (error) {
      reason = errorText(error);
    }
    if (signal.aborted) return;
    if (tries % REPORTED_TRIES === 0) log.info('waiting for the cache to contain all NodeClaims', { reason });
    await clock.sleep(RETRY_MS, signal);
  }
}

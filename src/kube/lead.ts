/** Runs work under a lease. */

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

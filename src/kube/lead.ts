/** Work under a lease. */

import { openFence } from './fence.ts';
import { connect } from './http.ts';
import { electLeader, type LeaseOptions } from './lease.ts';
import { eventRecorder } from './recorder.ts';

export interface LeadOptions
  extends Required<Pick<LeaseOptions, 'clock' | 'leadership' | 'log' | 'metrics' | 'name' | 'namespace'>> {
  /** Default: the cluster that the process runs in. */
  readonly kubeconfig: string | undefined;
  readonly userAgent: string;
}

interface LeadersWork {
  /** Goes on until it is told to end. */
  readonly work: () => Promise<void>;
  /** What is still to be written then. */
  readonly leaving: () => Promise<void>;
}

/**
 * Works while the lease is held. After a stop, the lease is released when the work in hand is finished. After its loss,
 * the work in hand is abandoned: the fence lets none of its writes through.
 * @param working ends the work; aborted from here when the lease is lost
 */
export async function lead(
  { kubeconfig, userAgent, ...leaseOf }: LeadOptions,
  working: AbortController,
  { work, leaving }: LeadersWork,
): Promise<'stopped' | 'lease lost'> {
  const { clock, log } = leaseOf;
  const releasing = new AbortController();
  // Own client: load on the operator's client must not cost the lease. It must write when the operator may not.
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

/** Time for the last event, in milliseconds: a process that lost its lease must end within a second. */
const EVENTS_MS = 300;

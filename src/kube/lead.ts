/** Work under a lease. */
import { connect } from './http.ts';
import { electLeader, type LeaseOptions } from './lease.ts';

export interface LeadOptions
  extends Required<Pick<LeaseOptions, 'clock' | 'events' | 'log' | 'metrics' | 'name' | 'namespace'>> {
  /** Default: the cluster that the process runs in. */
  readonly kubeconfig: string | undefined;
  readonly userAgent: string;
}

export interface LeadersWork {
  /** Goes on until it is told to end. */
  readonly work: () => Promise<void>;
  /** What is still to be written then. */
  readonly leaving: () => Promise<void>;
}

/**
 * Works while it holds the lease. The lease is released only when the work in hand is finished.
 * @param working ends the work; aborted from here when the lease is lost
 */
export async function lead(
  { kubeconfig, userAgent, ...leaseOf }: LeadOptions,
  working: AbortController,
  { work, leaving }: LeadersWork,
): Promise<'stopped' | 'lease lost'> {
  const { clock, log } = leaseOf;
  const releasing = new AbortController();
  // A client of its own, so that load on the other never costs the lease. It waits for no longer than renewals do.
  const client = connect({ kubeconfig, clock, userAgent, log, longestRetryAfterMs: 1_000 });
  const election = electLeader({ ...leaseOf, client, signal: releasing.signal });
  const stopped = new Promise<void>((resolve) => {
    if (working.signal.aborted) resolve();
    working.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await Promise.race([election.elected, stopped]);
  let isLost = false;
  void election.ended.then((end) => {
    isLost = end === 'lost';
    working.abort();
  });
  if (!working.signal.aborted) {
    await work();
    // who has lost the lease must not write over what its next holder writes
    if (!isLost) await leaving();
  }
  releasing.abort();
  const end = await election.ended;
  client.close();
  return end === 'lost' ? 'lease lost' : 'stopped';
}

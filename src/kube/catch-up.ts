/**
 * Waits for the caches of a new leader. The watch of a standby replica may lag behind the lease. A leader that works on an old
 * cache would launch nodes again for pods that already have nodes from the previous leader.
 */
import { NODE_CLAIM } from '../api/kinds.ts';
import type { Clock } from '../lib/clock.ts';
import { errorText } from '../observe/error-text.ts';
import type { Logger } from '../observe/logger.ts';
import type { Informers, KubeReader } from './client.ts';

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

/** Resolves if the cache shows every NodeClaim of the API server, or if the signal aborts. */
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

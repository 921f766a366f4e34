/** A few quick retries within one step, for writes that may conflict. */
import { isNotFound } from '#kube/client';
import type { Deps } from './deps.ts';

const ATTEMPTS = 4;
const FIRST_WAIT_MS = 10;
const FACTOR = 5;
const JITTER = 0.1;

/** Tries up to four times. Does not retry if the object no longer exists. */
export async function retryWrites<T>(
  { clock, random = Math.random }: Pick<Deps, 'clock' | 'random'>,
  work: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === ATTEMPTS || isNotFound(error)) throw error;
      await clock.sleep(FIRST_WAIT_MS * FACTOR ** (attempt - 1) * (1 + JITTER * random()));
    }
  }
}

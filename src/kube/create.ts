/** Creates an object exactly once over an unreliable connection. */
import { randomInt } from 'node:crypto';
import type { Kind } from '../api/kinds.ts';
import type { KubeObject } from '../api/kubernetes.ts';
import type { Clock } from '../lib/clock.ts';
import { backOffMs } from './backoff.ts';
import { ApiError, type KubeClient } from './client.ts';
import { NotPermitted } from './fence.ts';

/** Alphabet of generated names in the API server. It has no vowels and no characters that look alike. */
const LETTERS = 'bcdfghjklmnpqrstvwxz2456789';
const SUFFIX_LENGTH = 5;
const RETRY = { baseMs: 500, maxMs: 5_000 };
/** Maximum number of tries. They take about 40 seconds in total, so a restart of the API server can complete. */
const MOST_TRIES = 11;

const machineRandom = (): number => randomInt(LETTERS.length) / LETTERS.length;

/** Generates a name from `generateName` like the API server. `random` returns numbers in [0, 1). */
export const generatedName = (prefix: string, random: () => number = machineRandom): string =>
  prefix + Array.from({ length: SUFFIX_LENGTH }, () => LETTERS[Math.floor(random() * LETTERS.length)]).join('');

interface Creator {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Returns numbers in [0, 1). Default: the random numbers of the machine. */
  readonly random?: (() => number) | undefined;
}

/**
 * Creates an object with a generated name. The client chooses the name, so that it can retry the request if the response is lost.
 * If the first request succeeded, the function returns the object of this request and does not create another object.
 * @throws Error if the server refuses the request, if it does not respond to any retry, or if the signal aborts
 */
export async function createOnce<T extends KubeObject>(
  { client, clock, signal, random }: Creator,
  kind: Kind<T>,
  object: T,
): Promise<T> {
  const name = generatedName(object.metadata.generateName ?? '', random);
  const named = { ...object, metadata: { ...object.metadata, name } };
  for (let failures = 0; ; failures += 1) {
    try {
      return await client.create(kind, named);
    } catch (error) {
      if (failures > 0 && isThere(error)) return client.get(kind, { name, namespace: object.metadata.namespace });
      if (error instanceof NotPermitted || !mayHaveTakenEffect(error) || failures + 1 >= MOST_TRIES) throw error;
      await clock.sleep(backOffMs(RETRY, failures, random), signal);
      if (signal.aborted) throw error;
    }
  }
}

const isThere = (error: unknown): boolean => error instanceof ApiError && error.reason === 'AlreadyExists';

/**
 * Returns true if an object may exist after this error. A status below 500 shows that the server created no object. A broken
 * connection or a timeout of the server does not show this.
 */
const mayHaveTakenEffect = (error: unknown): boolean => !(error instanceof ApiError) || error.status >= 500;

/** Creating an object exactly once over a connection that may fail. */
import { randomInt } from 'node:crypto';
import type { Kind } from '../api/kinds.ts';
import type { KubeObject } from '../api/kubernetes.ts';
import type { Clock } from '../lib/clock.ts';
import { backOffMs } from './backoff.ts';
import { ApiError, type KubeClient } from './client.ts';
import { NotPermitted } from './fence.ts';

/** What the API server makes generated names of: no vowels and nothing that looks like another. */
const LETTERS = 'bcdfghjklmnpqrstvwxz2456789';
const SUFFIX_LENGTH = 5;
const RETRY = { baseMs: 500, maxMs: 5_000 };
/** Together about 40 seconds: an API server that is started again. */
const MOST_TRIES = 11;

const machineRandom = (): number => randomInt(LETTERS.length) / LETTERS.length;

/** A name as the API server would generate it from `generateName`. `random` answers numbers in [0, 1). */
export const generatedName = (prefix: string, random: () => number = machineRandom): string =>
  prefix + Array.from({ length: SUFFIX_LENGTH }, () => LETTERS[Math.floor(random() * LETTERS.length)]).join('');

interface Creator {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Numbers in [0, 1); the machine's own when left out. */
  readonly random?: (() => number) | undefined;
}

/**
 * Creates an object whose name is to be generated. The name is chosen here, so that the request can be sent again when
 * its answer is lost: if the first one took effect, the object that it made is the answer, and there is no second.
 * @throws Error when the server refuses, when it does not answer for longer than the retries take, or on abort
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

/** An answer below 500 says that nothing was made; a broken connection, or the server's own time-out, does not. */
const mayHaveTakenEffect = (error: unknown): boolean => !(error instanceof ApiError) || error.status >= 500;

/** Batches concurrent calls into one AWS request, and isolates the IDs that make such a request fail. */
import { type Clock, monotonicMs } from '#lib/clock';
import { codeOf, isExpired, isThrottled } from './errors.ts';
import type { AwsMetrics } from './metrics.ts';

interface BatcherOptions<I, O> {
  readonly name: string;
  readonly clock: Clock;
  /** Time without a call after which the window closes. */
  readonly idleMs: number;
  /** Maximum duration of the window. */
  readonly maxMs: number;
  /** Number of items of all buckets with which the window closes. */
  readonly maxItems: number;
  /** Items with equal keys share a request. */
  readonly bucket: (input: I) => string;
  /** Returns one settled result for each input, in order. If the function throws, all inputs fail. */
  readonly run: (inputs: readonly I[]) => Promise<readonly PromiseSettledResult<O>[]>;
  readonly metrics?: Pick<AwsMetrics, 'batchSeconds' | 'batchSize'>;
}

interface Waiting<I, O> {
  readonly input: I;
  readonly resolve: (output: O) => void;
  readonly reject: (error: unknown) => void;
}

const PARALLEL_CALLS = 100;

export class RequestBatcher<I, O> {
  readonly #options: BatcherOptions<I, O>;
  #waiting: Waiting<I, O>[] = [];
  #openedMs = 0;
  #cancelIdle: (() => void) | undefined;
  #cancelMax: (() => void) | undefined;

  constructor(options: BatcherOptions<I, O>) {
    this.#options = options;
  }

  add(input: I): Promise<O> {
    const { clock, idleMs, maxMs, maxItems } = this.#options;
    return new Promise((resolve, reject) => {
      this.#waiting.push({ input, resolve, reject });
      if (this.#waiting.length === 1) {
        this.#openedMs = monotonicMs(clock);
        this.#cancelMax = clock.after(maxMs, () => this.#flush());
      }
      this.#cancelIdle?.();
      if (this.#waiting.length >= maxItems) return this.#flush();
      this.#cancelIdle = clock.after(idleMs, () => this.#flush());
    });
  }

  #flush(): void {
    this.#cancelIdle?.();
    this.#cancelMax?.();
    const waiting = this.#waiting;
    this.#waiting = [];
    if (waiting.length === 0) return;
    const { name: batcher, clock, bucket, metrics } = this.#options;
    metrics?.batchSeconds.observe({ batcher }, (monotonicMs(clock) - this.#openedMs) / 1000);
    metrics?.batchSize.observe({ batcher }, waiting.length);
    const buckets = [...Map.groupBy(waiting, (each) => bucket(each.input)).values()];
    const worker = async (): Promise<void> => {
      for (let next = buckets.pop(); next !== undefined; next = buckets.pop()) await this.#runBucket(next);
    };
    for (let n = Math.min(PARALLEL_CALLS, buckets.length); n > 0; n--) void worker();
  }

  async #runBucket(bucket: readonly Waiting<I, O>[]): Promise<void> {
    try {
      const results = await this.#options.run(bucket.map((each) => each.input));
      bucket.forEach((each, at) => {
        const result = results[at];
        if (result === undefined)
          each.reject(new Error(`batcher ${this.#options.name} returned no result for a request`));
        else if (result.status === 'fulfilled') each.resolve(result.value);
        else each.reject(result.reason);
      });
    } catch (error) {
      for (const each of bucket) each.reject(error);
    }
  }
}

/** Returns results by instance ID. IDs that EC2 does not mention are missing. */
type Call<T> = (ids: readonly string[]) => Promise<ReadonlyMap<string, T>>;

type Answer<T> = { readonly value: T } | { readonly error: unknown };

/** Returns false if the error concerns all IDs: EC2 throttles, does not respond, or rejects the caller. */
function isAboutSomeIds(error: unknown): boolean {
  if (isThrottled(error) || isExpired(error) || codeOf(error) === 'AuthFailure') return false;
  return error instanceof Error && '$fault' in error && error.$fault === 'client';
}

async function ask<T>(ids: readonly string[], call: Call<T>, answers: Map<string, Answer<T>>): Promise<void> {
  try {
    for (const [id, value] of await call(ids)) answers.set(id, { value });
  } catch (error) {
    const named = new Set(String(error).match(/\bi-[0-9a-f]+\b/g));
    const blamed = ids.length === 1 || !isAboutSomeIds(error) ? ids : ids.filter((id) => named.has(id));
    for (const id of blamed) answers.set(id, { error });
    const rest = ids.filter((id) => !answers.has(id));
    if (rest.length === 0) return;
    if (blamed.length > 0) return ask(rest, call, answers);
    // The error contains no ID, so each half is requested separately.
    const half = rest.length >> 1;
    await Promise.all([ask(rest.slice(0, half), call, answers), ask(rest.slice(half), call, answers)]);
  }
}

/**
 * Requests many instances, although one instance can fail the request for all of them. Returns a result for each ID, in
 * order: its value, its error, or undefined if EC2 does not mention the ID even in a second request.
 */
export async function forMany<T>(
  ids: readonly string[],
  call: Call<T>,
): Promise<readonly PromiseSettledResult<T | undefined>[]> {
  const unique = [...new Set(ids)];
  const answers = new Map<string, Answer<T>>();
  await ask(unique, call, answers);
  const silent = unique.filter((id) => !answers.has(id));
  if (silent.length > 0 && unique.length > 1) await ask(silent, call, answers);
  return ids.map((id): PromiseSettledResult<T | undefined> => {
    const answer = answers.get(id);
    return answer !== undefined && 'error' in answer
      ? { status: 'rejected', reason: answer.error }
      : { status: 'fulfilled', value: answer?.value };
  });
}

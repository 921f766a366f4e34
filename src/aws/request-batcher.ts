/** Joins calls that come close together into one request to AWS. */
import { type Clock, monotonicMs } from '../lib/clock.ts';

interface BatcherOptions<I, O> {
  readonly name: string;
  readonly clock: Clock;
  /** The window closes after this much silence, */
  readonly idleMs: number;
  /** after this much time in all, */
  readonly maxMs: number;
  /** or with this many items over all buckets. */
  readonly maxItems: number;
  /** Items with equal keys share a call. */
  readonly bucket: (input: I) => string;
  /** Answers one settled result per input, in order. A throw is everybody's error. */
  readonly run: (inputs: readonly I[]) => Promise<readonly PromiseSettledResult<O>[]>;
  readonly observe?: (batcher: string, seconds: number, size: number) => void;
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
    const openMs = monotonicMs(this.#options.clock) - this.#openedMs;
    this.#options.observe?.(this.#options.name, openMs / 1000, waiting.length);
    const buckets = [...Map.groupBy(waiting, (each) => this.#options.bucket(each.input)).values()];
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
        if (result === undefined) each.reject(new Error(`batcher ${this.#options.name} left a request unanswered`));
        else if (result.status === 'fulfilled') each.resolve(result.value);
        else each.reject(result.reason);
      });
    } catch (error) {
      for (const each of bucket) each.reject(error);
    }
  }
}

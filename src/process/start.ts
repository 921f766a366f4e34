/** Limits the duration of the start of the process, ends it on an interrupt, and reports its progress. */
import { formatDuration } from '#api/values';
import type { Logger } from '#observe/logger';
import { StartError } from './start-error.ts';

/** Maximum duration of a start. A start that takes longer fails, and Kubernetes starts the container again. */
const LONGEST_MS = 10 * 60_000;
/** Interval between two reports. */
const PERIOD_MS = 10_000;

interface StartClock {
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  after(ms: number, fire: () => void): () => void;
}

interface StartReport {
  /** Returns descriptions of the remaining work; empty if the start is complete. */
  readonly waitingFor: () => Promise<readonly string[]>;
  readonly log: Logger;
  /** Ends the reports. */
  readonly until: AbortSignal;
}

export class Start {
  /** Aborts if this start is interrupted or takes too long. */
  readonly signal: AbortSignal;
  readonly #clock: StartClock;
  readonly #late = new AbortController();
  readonly #cancel: () => void;

  constructor(clock: StartClock, interrupt: AbortSignal | undefined) {
    this.#clock = clock;
    this.signal = interrupt === undefined ? this.#late.signal : AbortSignal.any([interrupt, this.#late.signal]);
    this.#cancel = clock.after(LONGEST_MS, () => {
      const cause = new Error(`the start takes longer than ${formatDuration(LONGEST_MS)}`);
      const remedy = 'correct the cause in the previous log lines; the container restarts automatically';
      this.#late.abort(new StartError('the start did not complete in time', { cause, remedy }));
    });
  }

  /** Returns the result of the work. @throws the reason of the signal if the signal aborts first */
  async unlessAborted<T>(work: Promise<T>): Promise<T> {
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const abort = (): void => reject(this.signal.reason);
    if (this.signal.aborted) abort();
    this.signal.addEventListener('abort', abort, { once: true });
    // work that loses the race may fail later
    work.catch(() => undefined);
    try {
      return await Promise.race([aborted, work]);
    } finally {
      this.signal.removeEventListener('abort', abort);
    }
  }

  /** Removes the limit on the duration of this start. */
  end(): void {
    this.#cancel();
  }

  /** Logs a line every ten seconds until this start is complete. */
  async report({ waitingFor, log, until }: StartReport): Promise<void> {
    const signal = AbortSignal.any([until, this.signal]);
    for (let afterMs = PERIOD_MS; ; afterMs += PERIOD_MS) {
      await this.#clock.sleep(PERIOD_MS, signal);
      if (signal.aborted) return;
      const waiting = await waitingFor();
      if (signal.aborted) return;
      const after = formatDuration(afterMs);
      if (waiting.length > 0) log.info('waiting for the start to complete', { 'waiting-for': waiting, after });
      else if (afterMs > PERIOD_MS) log.info('the start is complete', { after });
      if (waiting.length === 0) return;
    }
  }
}

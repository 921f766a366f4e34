/** Terminates an engine worker that does not respond in time, and reports its work at that time. */

import { messageOf } from '#lib';
import type { Clock } from '#lib/clock';
import { podOnBoard, type SharedBoard } from './progress-board.ts';

/** Public codes: values of a metric's label. */
export type EndReason = 'hung' | 'out-of-memory' | 'failed';

/** The unexpected end of an engine worker. */
export class EngineWorkerEnd extends Error {
  readonly worker: string;
  readonly reason: EndReason;
  /** Namespaced name of the pod in progress, if any. */
  readonly pod: string | undefined;

  constructor(
    worker: string,
    reason: EndReason,
    details: { readonly text: string; readonly pod?: string | undefined },
  ) {
    const { text, pod } = details;
    super(`The ${worker} worker ${text}${pod === undefined ? '' : `, while it worked on pod ${pod}`}`);
    this.name = 'EngineWorkerEnd';
    this.worker = worker;
    this.reason = reason;
    this.pod = pod;
  }
}

/** Returns the error for the end of a thread, with or without an error of the thread. */
export function endOf(worker: string, board: SharedBoard, error?: unknown): EngineWorkerEnd {
  const isMemory = error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
  const why = messageOf(error);
  return new EngineWorkerEnd(worker, isMemory ? 'out-of-memory' : 'failed', {
    text: error === undefined ? 'ended' : `ended: ${why}`,
    pod: podOnBoard(board),
  });
}

/**
 * Monitors requests that a thread processes sequentially. The time of each request starts after the response to the previous
 * request. `fire` is called once, for the first late request.
 */
export class Watchdog {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #fire: (mostMs: number) => void;
  /** Time limits of the pending requests, in their order. */
  readonly #waiting = new Map<number, number>();
  #cancel: (() => void) | undefined;

  constructor(clock: Pick<Clock, 'after'>, fire: (mostMs: number) => void) {
    this.#clock = clock;
    this.#fire = fire;
  }

  sent(job: number, mostMs: number): void {
    this.#waiting.set(job, mostMs);
    if (this.#waiting.size === 1) this.#arm();
  }

  answered(job: number): void {
    if (this.#waiting.delete(job)) this.#arm();
  }

  stop(): void {
    this.#waiting.clear();
    this.#arm();
  }

  #arm(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const [mostMs] = this.#waiting.values();
    if (mostMs !== undefined) this.#cancel = this.#clock.after(mostMs, () => this.#fire(mostMs));
  }
}

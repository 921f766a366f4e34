/** Tracks the time limits of a solve, for all pods and for each pod. Without a deadline, there is no limit. */
import type { EnginePod } from '../input.ts';
import type { PodRefusal, SolveOptions } from '../model.ts';

/** Part of the deadline that one pod may use, and that all heavy pods of a solve may use together. */
const SHARE = 1 / 20;

export class Pace {
  readonly #options: SolveOptions;
  readonly #now: (() => number) | undefined;
  readonly #deadlineMs: number;
  #podEndsMs = Number.POSITIVE_INFINITY;
  /** End of the time for heavy pods. The time starts with the first heavy pod. */
  #heavyEndsMs = Number.POSITIVE_INFINITY;

  constructor(options: SolveOptions) {
    const { deadlineMs, elapsedMs } = options;
    this.#options = options;
    this.#now = deadlineMs === undefined ? undefined : elapsedMs;
    this.#deadlineMs = deadlineMs ?? Number.POSITIVE_INFINITY;
  }

  /** Returns true if there is time for a pod. Callers must call this method before they try a pod, with heavy pods last. */
  hasTimeFor(pod: EnginePod, isHeavy: boolean): boolean {
    this.#options.working?.(pod);
    if (this.#now === undefined) return true;
    const nowMs = this.#now();
    this.#podEndsMs = nowMs + this.#deadlineMs * SHARE;
    if (isHeavy) this.#heavyEndsMs = Math.min(this.#heavyEndsMs, this.#podEndsMs);
    return nowMs < Math.min(this.#deadlineMs, this.#heavyEndsMs);
  }

  /** Returns true if the time for the current pod is over. */
  readonly isLateForPod = (): boolean =>
    this.#now !== undefined && this.#now() >= Math.min(this.#podEndsMs, this.#heavyEndsMs, this.#deadlineMs);

  /** Returns true if the time of the solve is over. */
  readonly isOver = (): boolean => this.#now !== undefined && this.#now() >= this.#deadlineMs;

  /** True if the current pod used its full share of the time, rather than only the rest of the deadline. */
  get hasHadItsShare(): boolean {
    return this.#now !== undefined && this.#now() >= this.#podEndsMs;
  }

  /** Returns true if there are more claims than the caller needs. */
  hasEnough(claims: number): boolean {
    return claims > (this.#options.mostClaims ?? Number.POSITIVE_INFINITY);
  }

  /** Refusal for a pod that used its share of the time. */
  get tooSlow(): PodRefusal {
    const seconds = Math.round(this.#deadlineMs * SHARE) / 1000;
    const remedy = 'reduce its affinity terms, spread constraints or tolerations';
    return { code: 'unsupported', text: `scheduling the pod took longer than ${seconds}s; ${remedy}` };
  }
}

/** How much time a solve has, for all pods and for each. Without a deadline there is no end to it. */
import type { EnginePod } from '../input.ts';
import type { PodRefusal, SolveOptions } from '../model.ts';

/** Part of the deadline that one pod may take, and that all heavy ones of a solve may take together. */
const SHARE = 1 / 20;

export class Pace {
  readonly #options: SolveOptions;
  readonly #now: (() => number) | undefined;
  readonly #deadlineMs: number;
  #podEndsMs = Number.POSITIVE_INFINITY;
  /** End of the time for heavy pods, from the first of them on. */
  #heavyEndsMs = Number.POSITIVE_INFINITY;

  constructor(options: SolveOptions) {
    const { deadlineMs, elapsedMs } = options;
    this.#options = options;
    this.#now = deadlineMs === undefined ? undefined : elapsedMs;
    this.#deadlineMs = deadlineMs ?? Number.POSITIVE_INFINITY;
  }

  /** To be called before a pod is tried, heavy ones last. Whether there is time for it. */
  hasTimeFor(pod: EnginePod, isHeavy: boolean): boolean {
    this.#options.working?.(pod);
    if (this.#now === undefined) return true;
    const nowMs = this.#now();
    this.#podEndsMs = nowMs + this.#deadlineMs * SHARE;
    if (isHeavy) this.#heavyEndsMs = Math.min(this.#heavyEndsMs, this.#podEndsMs);
    return nowMs < Math.min(this.#deadlineMs, this.#heavyEndsMs);
  }

  /** Whether the time of the pod that is being tried is over. */
  readonly isLateForPod = (): boolean =>
    this.#now !== undefined && this.#now() >= Math.min(this.#podEndsMs, this.#heavyEndsMs, this.#deadlineMs);

  /** Whether the time of the solve is over. */
  readonly isOver = (): boolean => this.#now !== undefined && this.#now() >= this.#deadlineMs;

  /** Whether the pod being tried has had its share, and not just the last of what there was. */
  get hasHadItsShare(): boolean {
    return this.#now !== undefined && this.#now() >= this.#podEndsMs;
  }

  /** Whether there are more claims than anybody is interested in. */
  hasEnough(claims: number): boolean {
    return claims > (this.#options.mostClaims ?? Number.POSITIVE_INFINITY);
  }

  /** For a pod that has had its share of the time. */
  get tooSlow(): PodRefusal {
    const seconds = Math.round(this.#deadlineMs * SHARE) / 1000;
    const remedy = 'give it fewer terms of affinity, spread constraints or tolerations';
    return { code: 'unsupported', text: `looking for a place took longer than ${seconds}s, ${remedy}` };
  }
}

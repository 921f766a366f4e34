/** Tracks the time limits of a solve: of all pods, of each namespace and of each pod. Without a deadline, there are none. */
import type { EnginePod } from '../input.ts';
import type { PodRefusal, SolveOptions } from '../model.ts';
import { namespaceOf } from '../pods.ts';

/** Part of the deadline that one pod may use, and that all heavy pods of a solve may use together. */
const SHARE = 1 / 20;
/** Time for each step besides the trial of pods, relative to the time for pods. */
const STEP = 1 / 2;

/**
 * `postpone`: the namespace of the pod has used its share of the round. `skip`: the time for heavy pods is over. `stop`: the time
 * for all pods is over.
 */
export type Turn = 'try' | 'postpone' | 'skip' | 'stop';

export class Pace {
  /** Refusal for a pod that used its share of the time. */
  readonly tooSlow: PodRefusal;
  readonly #options: SolveOptions;
  readonly #now: (() => number) | undefined;
  readonly #deadlineMs: number;
  #podEndsMs = Number.POSITIVE_INFINITY;
  /** End of the time for pods. The time starts with the first pod. */
  #placementEndsMs: number | undefined;
  /** End of the time for heavy pods. The time starts with the first heavy pod. */
  #heavyEndsMs = Number.POSITIVE_INFINITY;
  #isHeavy = false;
  /** Number of namespaces that share the time of the current round. */
  #namespaces = 1;
  /** Time that each namespace may use in the current round. Undefined before the first pod of the round. */
  #shareMs: number | undefined;
  readonly #usedMs = new Map<string, number>();
  #current: { readonly namespace: string; readonly sinceMs: number } | undefined;

  constructor(options: SolveOptions) {
    const { deadlineMs, elapsedMs } = options;
    this.#options = options;
    this.#now = deadlineMs === undefined ? undefined : elapsedMs;
    this.#deadlineMs = deadlineMs ?? Number.POSITIVE_INFINITY;
    const seconds = Math.round(this.#deadlineMs * SHARE) / 1000;
    const remedy = 'reduce its affinity terms, spread constraints or tolerations';
    this.tooSlow = { code: 'unsupported', text: `scheduling the pod took longer than ${seconds}s; ${remedy}` };
  }

  /** Starts a round, in which the namespaces of the pods have equal shares of the time that is left. */
  startRound(pods: readonly EnginePod[]): void {
    if (this.#now === undefined) return;
    this.#namespaces = new Set(pods.map(namespaceOf)).size;
    this.#shareMs = undefined;
    this.#current = undefined;
    this.#usedMs.clear();
  }

  /** Decides if a pod is tried now. Callers must call this method before they try a pod, with heavy pods last. */
  turnOf(pod: EnginePod, isHeavy: boolean): Turn {
    if (this.#now === undefined) {
      this.#options.working?.(pod);
      return 'try';
    }
    const nowMs = this.#now();
    const isShared = this.#namespaces > 1;
    if (isShared) this.#charge(nowMs);
    this.#placementEndsMs ??= nowMs + (this.#options.placementMs ?? Number.POSITIVE_INFINITY);
    const endsMs = Math.min(this.#deadlineMs, this.#placementEndsMs);
    if (nowMs >= endsMs) return 'stop';
    const namespace = namespaceOf(pod);
    if (isShared) {
      this.#shareMs ??= (endsMs - nowMs) / this.#namespaces;
      if ((this.#usedMs.get(namespace) ?? 0) >= this.#shareMs) return 'postpone';
    }
    this.#podEndsMs = nowMs + this.#deadlineMs * SHARE;
    this.#isHeavy = isHeavy;
    if (isHeavy) this.#heavyEndsMs = Math.min(this.#heavyEndsMs, this.#podEndsMs);
    if (isHeavy && nowMs >= this.#heavyEndsMs) return 'skip';
    this.#options.working?.(pod);
    if (isShared) this.#current = { namespace, sinceMs: nowMs };
    return 'try';
  }

  /** Counts the time since the start of the last pod for its namespace. */
  #charge(nowMs: number): void {
    if (this.#current === undefined) return;
    const { namespace, sinceMs } = this.#current;
    this.#usedMs.set(namespace, (this.#usedMs.get(namespace) ?? 0) + nowMs - sinceMs);
    this.#current = undefined;
  }

  /** Returns true if the time for the current pod is over. */
  readonly isLateForPod = (): boolean => {
    if (this.#now === undefined) return false;
    const heavyEndsMs = this.#isHeavy ? this.#heavyEndsMs : Number.POSITIVE_INFINITY;
    return this.#now() >= Math.min(this.#podEndsMs, heavyEndsMs, this.#placementEndsMs ?? 0, this.#deadlineMs);
  };

  /**
   * Starts a step besides the trial of pods. The returned function returns true when the time of the step or of the solve is
   * over.
   */
  startStep(): () => boolean {
    const now = this.#now;
    if (now === undefined) return () => false;
    const { placementMs } = this.#options;
    const endMs = placementMs === undefined ? this.#deadlineMs : now() + placementMs * STEP;
    return () => now() >= Math.min(endMs, this.#deadlineMs);
  }

  /** True if the current pod used its full share of the time, rather than only the rest of the deadline. */
  get hasHadItsShare(): boolean {
    return this.#now !== undefined && this.#now() >= this.#podEndsMs;
  }

  /** Returns true if there are more claims than the caller needs. */
  hasEnough(claims: number): boolean {
    return claims > (this.#options.mostClaims ?? Number.POSITIVE_INFINITY);
  }
}

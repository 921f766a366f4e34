/**
 * Claims without an instance. A launch under way is waited for: nobody knows the size and place of its instance yet.
 * A launch that failed and is tried again, or that takes long, is not: its claim is counted as it is, and the pods that
 * it was made for stay with it until it has an instance or is gone.
 */
import { getCondition } from '../api/conditions.ts';
import type { NodeClaim } from '../api/nodeclaim.ts';
import { monotonicMs, type Timepiece } from '../lib/clock.ts';

/** Longest time for which everybody waits for one launch. */
export const LONGEST_WAIT_MS = 60_000;
const NOT_TRIED = 'AwaitingReconciliation';

export interface OverdueClaim {
  readonly claim: NodeClaim;
  /** Namespaced names of the pods that it was made for; undefined for a claim that an earlier process made. */
  readonly pods: ReadonlySet<string> | undefined;
}

const hasFailed = (claim: NodeClaim): boolean => {
  const { status, reason = NOT_TRIED } = getCondition(claim, 'Launched') ?? {};
  return status !== undefined && status !== 'True' && reason !== NOT_TRIED;
};

export class UnlaunchedClaims {
  readonly #clock: Timepiece;
  /** By name, with the time since when it is known, by `monotonicMs`. */
  readonly #waiting = new Map<string, { readonly claim: NodeClaim; readonly sinceMs: number }>();
  /** By name of the claim, from its creation until it is launched or gone. */
  readonly #pods = new Map<string, ReadonlySet<string>>();

  constructor(clock: Timepiece) {
    this.#clock = clock;
  }

  /** Remembers what a claim was made for. */
  created(name: string, pods: readonly string[]): void {
    this.#pods.set(name, new Set(pods));
  }

  /** Takes in a claim without an instance, or a newer version of it. */
  put(claim: NodeClaim): void {
    const { name } = claim.metadata;
    const sinceMs = this.#waiting.get(name)?.sinceMs ?? monotonicMs(this.#clock);
    this.#waiting.set(name, { claim, sinceMs });
  }

  /** Forgets a claim that has an instance, or is gone. */
  forget(name: string): void {
    this.#waiting.delete(name);
    this.#pods.delete(name);
  }

  /** Whether a launch is under way that is worth waiting for. */
  get isAwaited(): boolean {
    return [...this.#waiting.values()].some((waiting) => !this.#isOverdue(waiting));
  }

  overdue(): readonly OverdueClaim[] {
    return [...this.#waiting.values()]
      .filter((waiting) => this.#isOverdue(waiting))
      .map(({ claim }) => ({ claim, pods: this.#pods.get(claim.metadata.name) }));
  }

  /** Namespaced names of the pods that stay with overdue claims: they are not to be bought for again. */
  podsOfOverdueClaims(): ReadonlySet<string> {
    const staying = this.overdue().filter(({ claim }) => claim.metadata.deletionTimestamp === undefined);
    return new Set(staying.flatMap(({ pods = [] }) => [...pods]));
  }

  #isOverdue({ claim, sinceMs }: { readonly claim: NodeClaim; readonly sinceMs: number }): boolean {
    return hasFailed(claim) || monotonicMs(this.#clock) - sinceMs >= LONGEST_WAIT_MS;
  }
}

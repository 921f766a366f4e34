/**
 * Delays further launch attempts of a NodeClaim after a failure. The queue's back-off is not sufficient: the failure is written
 * to the status of the NodeClaim, and the event of this write triggers the NodeClaim immediately.
 */
import type { NodeClaim } from '../../api/nodeclaim.ts';
import { backOffMs } from '../../kube/backoff.ts';
import type { BackOff, RateLimit } from '../../kube/reconciler.ts';
import { type Clock, monotonicMs } from '../../lib/clock.ts';
import { type Limiter, limiter } from '../../lib/limiter.ts';
import type { Deps } from '../deps.ts';

interface Failed {
  readonly uid: string | undefined;
  readonly failures: number;
  readonly notBeforeMs: number;
}

export class LaunchRetries {
  readonly #clock: Clock;
  readonly #random: (() => number) | undefined;
  readonly #backOff: BackOff;
  /** Shared by all NodeClaims. */
  readonly #limiter: Limiter;
  readonly #byName = new Map<string, Failed>();

  constructor({ clock, random }: Pick<Deps, 'clock' | 'random'>, backOff: BackOff, { qps, burst }: RateLimit) {
    this.#clock = clock;
    this.#random = random;
    this.#backOff = backOff;
    this.#limiter = limiter(clock, qps, burst);
  }

  /** Returns the milliseconds until the NodeClaim may be launched. The value is zero or less if it may be launched now. */
  restMs(claim: NodeClaim): number {
    const failed = this.#failed(claim);
    return failed === undefined ? 0 : failed.notBeforeMs - monotonicMs(this.#clock);
  }

  failed(claim: NodeClaim): void {
    const { uid, name } = claim.metadata;
    const failures = this.#failed(claim)?.failures ?? 0;
    const waitMs = Math.max(backOffMs(this.#backOff, failures, this.#random), this.#limiter.reserve());
    this.#byName.set(name, { uid, failures: failures + 1, notBeforeMs: monotonicMs(this.#clock) + waitMs });
  }

  /** Removes the entry. Must be called once the NodeClaim is launched or gone. */
  forget(name: string): void {
    this.#byName.delete(name);
  }

  #failed({ metadata }: NodeClaim): Failed | undefined {
    const failed = this.#byName.get(metadata.name);
    return failed?.uid === metadata.uid ? failed : undefined;
  }
}

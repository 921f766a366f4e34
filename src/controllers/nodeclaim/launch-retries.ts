/**
 * When a claim whose launch failed may be tried again. The queue's back-off alone does not hold it: what went wrong is
 * written into the claim's status, and the event of that write brings the claim back at once.
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
  /** Shared by all claims. */
  readonly #limiter: Limiter;
  readonly #byName = new Map<string, Failed>();

  constructor({ clock, random }: Pick<Deps, 'clock' | 'random'>, backOff: BackOff, { qps, burst }: RateLimit) {
    this.#clock = clock;
    this.#random = random;
    this.#backOff = backOff;
    this.#limiter = limiter(clock, qps, burst);
  }

  /** Milliseconds until the claim may be launched; zero or less when it may be now. */
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

  /** Once the claim is launched, or gone. */
  forget(name: string): void {
    this.#byName.delete(name);
  }

  #failed({ metadata }: NodeClaim): Failed | undefined {
    const failed = this.#byName.get(metadata.name);
    return failed?.uid === metadata.uid ? failed : undefined;
  }
}

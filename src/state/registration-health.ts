/** Outcomes of the last few registrations of each NodePool, by the pool's UID. Kept only in memory. */

type Health = 'unknown' | 'healthy' | 'unhealthy';

const RING = 4;
/**
 * Maximum share of failures. The divisor is the size of the ring, not the number of outcomes, because one failure after a restart
 * is not significant.
 */
const UNHEALTHY_SHARE = 0.5;

interface Outcome {
  readonly success: boolean;
  /** Subject of this outcome; undefined if the outcome is reported only once. */
  readonly of: string | undefined;
}

export class RegistrationHealth {
  readonly #rings = new Map<string, readonly Outcome[]>();

  status(poolUid: string): Health {
    return judge(this.#rings.get(poolUid) ?? []);
  }

  /** Returns the status after one additional outcome. */
  statusWith(poolUid: string, success: boolean, of?: string): Health {
    return judge(this.#with(poolUid, { success, of }));
  }

  /** Records an outcome. An outcome of the same subject is recorded only once, even if the reporting step is retried. */
  record(poolUid: string, success: boolean, of?: string): void {
    this.#rings.set(poolUid, this.#with(poolUid, { success, of }));
  }

  clear(poolUid: string): void {
    this.#rings.delete(poolUid);
  }

  #with(poolUid: string, outcome: Outcome): readonly Outcome[] {
    const ring = this.#rings.get(poolUid) ?? [];
    const { of, success } = outcome;
    const isKnown = of !== undefined && ring.some((known) => known.of === of && known.success === success);
    return isKnown ? ring : [...ring, outcome].slice(-RING);
  }
}

function judge(outcomes: readonly Outcome[]): Health {
  if (outcomes.length === 0) return 'unknown';
  return outcomes.filter(({ success }) => !success).length / RING >= UNHEALTHY_SHARE ? 'unhealthy' : 'healthy';
}

/** The outcomes of each NodePool's last few registrations, by the pool's UID. Kept in memory alone. */

type Health = 'unknown' | 'healthy' | 'unhealthy';

const RING = 4;
/** Failures divided by the ring's size, not by the outcomes in it: one failure after a restart proves nothing. */
const UNHEALTHY_SHARE = 0.5;

interface Outcome {
  readonly success: boolean;
  /** What it is the outcome of; undefined for one that nobody reports again. */
  readonly of: string | undefined;
}

export class RegistrationHealth {
  readonly #rings = new Map<string, readonly Outcome[]>();

  status(poolUid: string): Health {
    return judge(this.#rings.get(poolUid) ?? []);
  }

  /** What the status would be after one more outcome. */
  statusWith(poolUid: string, success: boolean, of?: string): Health {
    return judge(this.#with(poolUid, { success, of }));
  }

  /** The same outcome `of` the same thing is there once, however often the step that reports it is retried. */
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

/** The outcomes of each NodePool's last few registrations, by the pool's UID. Kept in memory alone. */

export type Health = 'unknown' | 'healthy' | 'unhealthy';

const RING = 4;
/** Failures divided by the ring's size, not by the outcomes in it: one failure after a restart proves nothing. */
const UNHEALTHY_SHARE = 0.5;

export class RegistrationHealth {
  readonly #rings = new Map<string, readonly boolean[]>();

  status(poolUid: string): Health {
    return judge(this.#rings.get(poolUid) ?? []);
  }

  /** What the status would be after one more outcome. */
  statusWith(poolUid: string, success: boolean): Health {
    return judge(this.#with(poolUid, success));
  }

  record(poolUid: string, success: boolean): void {
    this.#rings.set(poolUid, this.#with(poolUid, success));
  }

  clear(poolUid: string): void {
    this.#rings.delete(poolUid);
  }

  #with(poolUid: string, success: boolean): readonly boolean[] {
    return [...(this.#rings.get(poolUid) ?? []), success].slice(-RING);
  }
}

function judge(outcomes: readonly boolean[]): Health {
  if (outcomes.length === 0) return 'unknown';
  return outcomes.filter((success) => !success).length / RING >= UNHEALTHY_SHARE ? 'unhealthy' : 'healthy';
}

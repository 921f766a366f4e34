/** Zones that the operator must not use, because the cluster's traffic is shifted away from them. */
import type { Clock } from '#lib/clock';
import type { Shift, ShiftSource } from './client.ts';

/** Current zonal shifts. */
export interface ShiftedZones {
  /** Returns the end of the shift away from the zone, or undefined if the zone is not shifted. */
  until(zoneId: string): number | undefined;
  /** Returns the IDs of the shifted zones, sorted. */
  active(): readonly string[];
}

/** For clusters with zonal shift disabled. */
export const noShifts: ShiftedZones = { until: () => undefined, active: () => [] };

export class ZonalShifts implements ShiftedZones {
  readonly #source: ShiftSource;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #clusterArn: string;
  #known = new Map<string, Shift>();

  constructor(source: ShiftSource, clusterArn: string, clock: Pick<Clock, 'now'>) {
    this.#source = source;
    this.#clusterArn = clusterArn;
    this.#clock = clock;
  }

  /** A zone that an answer leaves out stays shifted until it expires, unless the answer is empty. */
  async poll(): Promise<void> {
    const shifts = await this.#source.shifts(this.#clusterArn);
    if (shifts.length === 0) this.#known = new Map();
    for (const shift of shifts) this.#known.set(shift.awayFrom, shift);
    for (const [zoneId, { expiresMs }] of this.#known) if (expiresMs <= this.#clock.now()) this.#known.delete(zoneId);
  }

  until(zoneId: string): number | undefined {
    const shift = this.#known.get(zoneId);
    return shift?.applied === true && shift.expiresMs > this.#clock.now() ? shift.expiresMs : undefined;
  }

  active(): readonly string[] {
    return [...this.#known.keys()].filter((zoneId) => this.until(zoneId) !== undefined).sort();
  }
}

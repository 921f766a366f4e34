/** What each NodePool has cost, hour by hour, for 35 days. */

/** USD per hour, on average over the samples of an hour. */
export interface PoolCost {
  readonly effective: number;
  readonly list: number;
  readonly idle: number;
  readonly daemonSets: number;
}

export interface CostHour {
  /** Its begin, milliseconds since the epoch. */
  readonly hourMs: number;
  /** Number of samples that its averages are of, one a minute. */
  readonly samples: number;
  readonly nodePools: ReadonlyMap<string, PoolCost>;
}

export const HOUR_MS = 3_600_000;
/** 35 days: a month and some days, to compare with. */
export const MOST_HOURS = 35 * 24;
/** NodePools that an hour keeps apart: the dearest. The others are summed up. */
export const MOST_POOLS = 30;
/** Name of the sum. No NodePool can be called so. */
export const OTHER_POOLS = '__others__';

const FREE: PoolCost = { effective: 0, list: 0, idle: 0, daemonSets: 0 };

const combined = (a: PoolCost, b: PoolCost, by: (a: number, b: number) => number): PoolCost => ({
  effective: by(a.effective, b.effective),
  list: by(a.list, b.list),
  idle: by(a.idle, b.idle),
  daemonSets: by(a.daemonSets, b.daemonSets),
});

export class CostHours {
  /** Oldest first. */
  #hours: CostHour[] = [];
  #changes = 0;

  /** Grows with each change. */
  get changes(): number {
    return this.#changes;
  }

  /** Oldest first; the last is not over. */
  get hours(): readonly CostHour[] {
    return this.#hours;
  }

  /** Enters what the NodePools cost now. */
  sample(nowMs: number, nodePools: ReadonlyMap<string, PoolCost>): void {
    this.#add({ hourMs: Math.floor(nowMs / HOUR_MS) * HOUR_MS, samples: 1, nodePools });
    this.#changes += 1;
  }

  /** Enters what an earlier process had seen, before or within the hours of this one. */
  restore(hours: readonly CostHour[]): void {
    for (const hour of hours) this.#add(hour);
  }

  #add(hour: CostHour): void {
    const at = this.#hours.findLastIndex(({ hourMs }) => hourMs <= hour.hourMs);
    const known = this.#hours[at];
    if (known?.hourMs === hour.hourMs) this.#hours[at] = merged(known, hour);
    else this.#hours.splice(at + 1, 0, { ...hour, nodePools: dearest(hour.nodePools) });
    // time may have been set back: what is kept is the number of hours
    this.#hours.splice(0, Math.max(0, this.#hours.length - MOST_HOURS));
  }
}

/** Averages by their numbers of samples; a NodePool that one of them lacks cost nothing then. */
function merged(a: CostHour, b: CostHour): CostHour {
  const samples = a.samples + b.samples;
  const names = new Set([...a.nodePools.keys(), ...b.nodePools.keys()]);
  const nodePools = new Map(
    [...names].map((name) => [
      name,
      combined(
        a.nodePools.get(name) ?? FREE,
        b.nodePools.get(name) ?? FREE,
        (one, other) => (one * a.samples + other * b.samples) / samples,
      ),
    ]),
  );
  return { hourMs: a.hourMs, samples, nodePools: dearest(nodePools) };
}

function dearest(nodePools: ReadonlyMap<string, PoolCost>): ReadonlyMap<string, PoolCost> {
  if (nodePools.size <= MOST_POOLS) return nodePools;
  const sorted = [...nodePools]
    .filter(([name]) => name !== OTHER_POOLS)
    .sort(([, a], [, b]) => b.effective - a.effective);
  const others = sorted
    .slice(MOST_POOLS - 1)
    .reduce((sum, [, cost]) => combined(sum, cost, (a, b) => a + b), nodePools.get(OTHER_POOLS) ?? FREE);
  return new Map([...sorted.slice(0, MOST_POOLS - 1), [OTHER_POOLS, others]]);
}

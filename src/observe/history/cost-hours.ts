/** Hourly cost of each NodePool, for 35 days. */

/** USD per hour, as an average over the observed part of an hour. */
export interface PoolCost {
  readonly effective: number;
  readonly list: number;
  readonly idle: number;
  readonly daemonSets: number;
  /** Part of the effective cost for surplus CPU. */
  readonly surplusCredits: number;
}

export interface CostHour {
  /** Start of this hour, in milliseconds since the epoch. */
  readonly hourMs: number;
  /** Observed part of the hour, in minutes. The averages are those of this part. */
  readonly minutes: number;
  readonly nodePools: ReadonlyMap<string, PoolCost>;
}

export const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** Maximum time that a sample stands for. The cost is unknown if a longer time has passed since the last sample. */
const LONGEST_MS = 10 * MINUTE_MS;
/** Number of hours that are kept: 35 days. This is a month and some days for comparison. */
export const MOST_HOURS = 35 * 24;
/** Maximum number of NodePools in one hour. The NodePools with the highest cost are kept separately; all others are summed up. */
export const MOST_POOLS = 30;
/** Name of the sum. It is not a valid name of a NodePool. */
export const OTHER_POOLS = '__others__';

const FREE: PoolCost = { effective: 0, list: 0, idle: 0, daemonSets: 0, surplusCredits: 0 };

const combineCosts = (a: PoolCost, b: PoolCost, by: (a: number, b: number) => number): PoolCost => ({
  effective: by(a.effective, b.effective),
  list: by(a.list, b.list),
  idle: by(a.idle, b.idle),
  daemonSets: by(a.daemonSets, b.daemonSets),
  surplusCredits: by(a.surplusCredits, b.surplusCredits),
});

/** Returns the observed part of an hour, from 0 to 1. Two processes may have observed the same time. */
export const hoursIn = (minutes: number): number => Math.min(1, minutes / 60);

export class CostHours {
  /** Oldest hour first. */
  #hours: CostHour[] = [];
  #changes = 0;
  #samples = 0;
  /** Time of the last sample. */
  #lastMs: number | undefined;
  /** Costs of the last sample, as a text. */
  #lastCosts = '';

  /** Increases if an hour begins or costs change. A longer observation of the same costs need not be stored soon. */
  get changes(): number {
    return this.#changes;
  }

  get samples(): number {
    return this.#samples;
  }

  /** Oldest hour first. The last hour is not complete. */
  get hours(): readonly CostHour[] {
    return this.#hours;
  }

  /**
   * Adds a sample of the current cost of the NodePools. It stands for the time since the last sample, so the first sample counts
   * for nothing.
   */
  sample(nowMs: number, nodePools: ReadonlyMap<string, PoolCost>): void {
    let fromMs = Math.max(this.#lastMs ?? nowMs, nowMs - LONGEST_MS);
    const isNewHour = Math.floor((this.#lastMs ?? 0) / HOUR_MS) !== Math.floor(nowMs / HOUR_MS);
    const costs = JSON.stringify([...nodePools]);
    if (isNewHour || costs !== this.#lastCosts) this.#changes += 1;
    this.#samples += 1;
    this.#lastMs = nowMs;
    this.#lastCosts = costs;
    while (fromMs < nowMs) {
      const hourMs = Math.floor(fromMs / HOUR_MS) * HOUR_MS;
      const toMs = Math.min(nowMs, hourMs + HOUR_MS);
      // if the time was set back, later hours make room for the present hour
      while (this.#hours.length >= MOST_HOURS && (this.#hours.at(-1)?.hourMs ?? 0) > hourMs) this.#hours.pop();
      this.#add({ hourMs, minutes: (toMs - fromMs) / MINUTE_MS, nodePools });
      fromMs = toMs;
    }
  }

  /** Adds the hours of an earlier process, before or within the hours of this process. */
  restore(hours: readonly CostHour[]): void {
    for (const hour of hours) this.#add(hour);
  }

  #add(hour: CostHour): void {
    const at = this.#hours.findLastIndex(({ hourMs }) => hourMs <= hour.hourMs);
    const known = this.#hours[at];
    if (known?.hourMs === hour.hourMs) this.#hours[at] = mergeHours(known, hour);
    else this.#hours.splice(at + 1, 0, { ...hour, nodePools: dearest(hour.nodePools) });
    // limits the number of hours instead of their age, because the time may have been set back
    this.#hours.splice(0, Math.max(0, this.#hours.length - MOST_HOURS));
  }
}

/** Averages two records of an hour, weighted by their length. A NodePool that is missing from a record has zero cost in it. */
function mergeHours(a: CostHour, b: CostHour): CostHour {
  const minutes = a.minutes + b.minutes;
  const names = new Set([...a.nodePools.keys(), ...b.nodePools.keys()]);
  const nodePools = new Map(
    [...names].map((name) => [
      name,
      combineCosts(
        a.nodePools.get(name) ?? FREE,
        b.nodePools.get(name) ?? FREE,
        (one, other) => (one * a.minutes + other * b.minutes) / minutes,
      ),
    ]),
  );
  return { hourMs: a.hourMs, minutes, nodePools: dearest(nodePools) };
}

function dearest(nodePools: ReadonlyMap<string, PoolCost>): ReadonlyMap<string, PoolCost> {
  if (nodePools.size <= MOST_POOLS) return nodePools;
  const sorted = [...nodePools]
    .filter(([name]) => name !== OTHER_POOLS)
    .sort(([, a], [, b]) => b.effective - a.effective);
  const others = sorted
    .slice(MOST_POOLS - 1)
    .reduce((sum, [, cost]) => combineCosts(sum, cost, (a, b) => a + b), nodePools.get(OTHER_POOLS) ?? FREE);
  return new Map([...sorted.slice(0, MOST_POOLS - 1), [OTHER_POOLS, others]]);
}

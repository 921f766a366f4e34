/** History of spot pools: decaying counts for a limited number of pools, with a text form that survives restarts. */
import { monotonicMs, type Timepiece } from '#lib/clock';
import { interruptionsPerHour, type PoolCounts } from './rate.ts';

/** Instance type in a zone. */
export interface SpotPool {
  readonly instanceType: string;
  readonly zone: string;
}

export const poolKey = ({ instanceType, zone }: SpotPool): string => `${instanceType}/${zone}`;

const HOUR_MS = 3_600_000;
/**
 * Half-lives of the counts. Capacity returns within hours, whereas pools with frequent interruptions remain so for
 * days.
 */
const HALF_LIFE_MS = { interruptions: 72 * HOUR_MS, capacityErrors: 6 * HOUR_MS, instanceHours: 72 * HOUR_MS };
const PARTS = ['interruptions', 'capacityErrors', 'instanceHours'] as const;

/** Minimum time between decays, so that a series of additions does not repeat them. */
const SOON_MS = 1_000;

/** Maximum number of pools. Pools with the least history are removed. */
const MOST_POOLS = 1_000;
/** Pools with lower counts are removed. */
const LEAST = 0.01;
/** Maximum plausible count in a stored text. */
const MOST_COUNT = 1e9;
/** Format of the names of types and zones in AWS. */
const NAME = /^[a-z0-9][a-z0-9.-]{0,63}$/;

type Counted = SpotPool & { -readonly [Part in keyof PoolCounts]: PoolCounts[Part] };

/** Stored form, version 1: counts at a point in time. */
interface Stored {
  readonly version: 1;
  /** RFC 3339. */
  readonly at: string;
  readonly pools: readonly (SpotPool & PoolCounts)[];
}

export class SpotPools {
  readonly #clock: Timepiece;
  #pools = new Map<string, Counted>();
  /** Time of the last decay, by `monotonicMs`. */
  #decayedMs: number;
  #changes = 0;
  #lateChanges = 0;
  /** Time of the last change that counts running time, by `monotonicMs`. */
  #ranMs: number;

  constructor(clock: Timepiece) {
    this.#clock = clock;
    this.#decayedMs = monotonicMs(clock);
    this.#ranMs = this.#decayedMs;
  }

  /** Increases with every event. Increases hourly with running time, because instances always run. */
  get changes(): number {
    return this.#changes;
  }

  /** Increases with every addition. */
  get lateChanges(): number {
    return this.#lateChanges;
  }

  /** Returns the current counts. */
  all(): readonly (SpotPool & PoolCounts)[] {
    this.#decay();
    return [...this.#pools.values()];
  }

  add(pool: SpotPool, more: Partial<PoolCounts>): void {
    this.#decay();
    this.#lateChanges++;
    const isEvent = more.interruptions !== undefined || more.capacityErrors !== undefined;
    const nowMs = monotonicMs(this.#clock);
    if (isEvent || nowMs - this.#ranMs >= HOUR_MS) {
      this.#changes++;
      this.#ranMs = nowMs;
    }
    this.#count(pool, more);
    if (this.#pools.size > MOST_POOLS) this.#dropSome();
  }

  #count({ instanceType, zone }: SpotPool, more: Partial<PoolCounts>): void {
    const key = poolKey({ instanceType, zone });
    const counted = this.#pools.get(key) ?? {
      instanceType,
      zone,
      interruptions: 0,
      capacityErrors: 0,
      instanceHours: 0,
    };
    for (const part of PARTS) counted[part] += more[part] ?? 0;
    this.#pools.set(key, counted);
  }

  #decay(): void {
    const nowMs = monotonicMs(this.#clock);
    if (nowMs - this.#decayedMs < SOON_MS) return;
    const factors = factorsOf(nowMs - this.#decayedMs);
    this.#decayedMs = nowMs;
    for (const [key, counted] of this.#pools) {
      for (const part of PARTS) counted[part] *= factors[part];
      if (PARTS.every((part) => counted[part] < LEAST)) this.#pools.delete(key);
    }
  }

  /**
   * Removes a tenth of the pools, so that the sort is not repeated for every new pool. Pools without events are
   * removed first.
   */
  #dropSome(): void {
    const inOrder = [...this.#pools].sort(
      ([, a], [, b]) => interruptionsPerHour(b) - interruptionsPerHour(a) || b.instanceHours - a.instanceHours,
    );
    this.#pools = new Map(inOrder.slice(0, 0.9 * MOST_POOLS));
  }

  /** Generates the complete text, and then shorter texts without the pools that are interrupted least. */
  *texts(): Generator<string> {
    const pools = this.all().toSorted((a, b) => interruptionsPerHour(b) - interruptionsPerHour(a));
    const at = new Date(this.#clock.now()).toISOString();
    for (let count = pools.length; ; count = Math.floor(count / 2)) {
      yield JSON.stringify({ version: 1, at, pools: pools.slice(0, count) } satisfies Stored);
      if (count === 0) return;
    }
  }

  /**
   * Adds the contents of a text to the counts, decayed by its age.
   * @throws Error if the text is invalid, without any addition
   */
  restore(text: string): void {
    const { at, pools } = readStored(text);
    // a time in the future results from a wrong clock and counts as now
    const factors = factorsOf(Math.max(0, this.#clock.now() - at));
    this.#decay();
    for (const pool of pools.slice(0, MOST_POOLS)) {
      this.#count(pool, {
        interruptions: pool.interruptions * factors.interruptions,
        capacityErrors: pool.capacityErrors * factors.capacityErrors,
        instanceHours: pool.instanceHours * factors.instanceHours,
      });
    }
    if (this.#pools.size > MOST_POOLS) this.#dropSome();
  }
}

const factorsOf = (elapsedMs: number): PoolCounts => ({
  interruptions: 0.5 ** (elapsedMs / HALF_LIFE_MS.interruptions),
  capacityErrors: 0.5 ** (elapsedMs / HALF_LIFE_MS.capacityErrors),
  instanceHours: 0.5 ** (elapsedMs / HALF_LIFE_MS.instanceHours),
});

function readStored(text: string): { readonly at: number; readonly pools: Stored['pools'] } {
  const stored = JSON.parse(text) as Partial<Stored> | null;
  if (stored?.version !== 1 || !Array.isArray(stored.pools))
    throw new Error('it is not a spot risk document of version 1');
  const at = typeof stored.at === 'string' ? Date.parse(stored.at) : Number.NaN;
  if (Number.isNaN(at)) throw new Error('at: it is not a time');
  for (const [position, pool] of stored.pools.entries()) checkPool(pool, `pools[${position}]`);
  return { at, pools: stored.pools };
}

/** Throws an error for an invalid entry. One invalid entry makes the whole text unreliable. */
function checkPool(pool: Partial<SpotPool & PoolCounts> | null, where: string): void {
  if (pool === null || typeof pool !== 'object') throw new Error(`${where}: it is not an object`);
  for (const field of ['instanceType', 'zone'] as const)
    if (typeof pool[field] !== 'string' || !NAME.test(pool[field]))
      throw new Error(`${where}.${field}: it is not a name`);
  for (const part of PARTS) {
    const count = pool[part];
    if (typeof count !== 'number' || !(count >= 0 && count <= MOST_COUNT))
      throw new Error(`${where}.${part}: it is not a count`);
  }
}

/**
 * Suspends the devices of new nodes whose driver did not publish the promised devices. Otherwise, the pods would stay pending,
 * and every solve would launch another node for them. If several instance types of a NodePool are suspended, so are its other
 * types, because each of them would get one more node.
 */
import { LRUCache } from 'lru-cache';
import type { SuspendedDriver } from '#engine/devices';
import { monotonicMs, type Timepiece } from '#lib/clock';

const MINUTE_MS = 60_000;
const SHORTEST_MS = 10 * MINUTE_MS;
const LONGEST_MS = 6 * 3_600_000;
/** Number of reported NodeClaims that are remembered for each place. */
const MOST_REPORTED = 100;
/** Number of suspended types from which on all types of a NodePool are suspended for a driver. */
const MOST_TYPES = 3;
/** Maximum number of places. The least recently used one is forgotten, which ends its suspension. */
const MOST_PLACES = 10_000;

/** Driver on the nodes of an instance type of a NodePool. */
export interface DevicePlace {
  readonly nodePool: string;
  readonly type: string;
  readonly driver: string;
}

interface Suspension {
  readonly untilMs: number;
  readonly shown: SuspendedDriver;
  readonly forMs: number;
  /** UIDs of NodeClaims that were reported. */
  readonly reported: ReadonlySet<string>;
}

const keyOf = ({ nodePool, type, driver }: DevicePlace): string => JSON.stringify([nodePool, type, driver]);
const poolKeyOf = ({ nodePool, driver }: DevicePlace): string => JSON.stringify([nodePool, driver]);

export class DeviceSuspensions {
  readonly #clock: Timepiece;
  readonly #suspensions = new LRUCache<string, Suspension>({ max: MOST_PLACES });
  /** Keys of suspended places by NodePool and driver. */
  readonly #byPool = new LRUCache<string, ReadonlySet<string>>({ max: MOST_PLACES });

  constructor(clock: Timepiece) {
    this.#clock = clock;
  }

  /** Returns the suspension of a place, or undefined if its devices are offered. Returns the same object until it changes. */
  of(place: DevicePlace): SuspendedDriver | undefined {
    if (this.#suspensions.size === 0) return undefined;
    return this.#active(keyOf(place))?.shown ?? this.#ofPool(poolKeyOf(place))?.shown;
  }

  #active(key: string): Suspension | undefined {
    const known = this.#suspensions.get(key);
    return known !== undefined && known.untilMs > monotonicMs(this.#clock) ? known : undefined;
  }

  /** Returns the suspension that, when it ends, offers the other types of a NodePool again. */
  #ofPool(poolKey: string): Suspension | undefined {
    const keys = this.#byPool.get(poolKey) ?? [];
    const active = [...keys].flatMap((key) => this.#active(key) ?? []);
    return active.sort((a, b) => a.untilMs - b.untilMs).at(-MOST_TYPES);
  }

  /**
   * Suspends the devices, each time for twice as long. A node that was launched before the suspension does not extend it. Returns
   * the remaining time in whole minutes, or undefined if the NodeClaim was reported before.
   */
  suspend(place: DevicePlace, claimUid: string, reason: string): number | undefined {
    const key = keyOf(place);
    const { forMs: lastMs = SHORTEST_MS / 2, reported: before = new Set<string>() } = this.#suspensions.get(key) ?? {};
    if (before.has(claimUid)) return undefined;
    const reported = new Set([...before, claimUid].slice(-MOST_REPORTED));
    const active = this.#active(key);
    if (active !== undefined) {
      this.#suspensions.set(key, { ...active, reported });
      return Math.ceil((active.untilMs - monotonicMs(this.#clock)) / MINUTE_MS) * MINUTE_MS;
    }
    const forMs = Math.min(2 * lastMs, LONGEST_MS);
    const untilMs = monotonicMs(this.#clock) + forMs;
    const until = new Date(this.#clock.now() + forMs).toISOString();
    this.#byPool.set(poolKeyOf(place), new Set([...(this.#byPool.get(poolKeyOf(place)) ?? []), key]));
    this.#suspensions.set(key, {
      untilMs,
      forMs,
      reported,
      shown: { driver: place.driver, until, reason },
    });
    return forMs;
  }

  /** Ends the suspension, because a node has the promised devices. */
  succeeded(place: DevicePlace): void {
    this.#suspensions.delete(keyOf(place));
  }
}

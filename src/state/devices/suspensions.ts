/**
 * Suspends the devices of new nodes whose driver did not publish the promised devices. Otherwise, the pods would stay pending,
 * and every solve would launch another node for them.
 */
import { LRUCache } from 'lru-cache';
import type { SuspendedDriver } from '../../engine/dra/template-types.ts';
import { monotonicMs, type Timepiece } from '../../lib/clock.ts';

const SHORTEST_MS = 10 * 60_000;
const LONGEST_MS = 6 * 3_600_000;
/** Number of reported NodeClaims that are remembered for each place. */
const MOST_REPORTED = 100;
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

export class DeviceSuspensions {
  readonly #clock: Timepiece;
  readonly #suspensions = new LRUCache<string, Suspension>({ max: MOST_PLACES });

  constructor(clock: Timepiece) {
    this.#clock = clock;
  }

  /** Returns the suspension of a place, or undefined if its devices are offered. Returns the same object until it changes. */
  of(place: DevicePlace): SuspendedDriver | undefined {
    const known = this.#suspensions.get(keyOf(place));
    return known !== undefined && known.untilMs > monotonicMs(this.#clock) ? known.shown : undefined;
  }

  /**
   * Suspends the devices, each time for twice as long. Returns the duration, or undefined if the NodeClaim was reported before.
   */
  suspend(place: DevicePlace, claimUid: string, reason: string): number | undefined {
    const key = keyOf(place);
    const { forMs: lastMs = SHORTEST_MS / 2, reported = new Set<string>() } = this.#suspensions.get(key) ?? {};
    if (reported.has(claimUid)) return undefined;
    const forMs = Math.min(2 * lastMs, LONGEST_MS);
    const untilMs = monotonicMs(this.#clock) + forMs;
    const until = new Date(this.#clock.now() + forMs).toISOString();
    this.#suspensions.set(key, {
      ...{ untilMs, forMs },
      shown: { driver: place.driver, until, reason },
      reported: new Set([...reported, claimUid].slice(-MOST_REPORTED)),
    });
    return forMs;
  }

  /** Ends the suspension, because a node has the promised devices. */
  succeeded(place: DevicePlace): void {
    this.#suspensions.delete(keyOf(place));
  }
}

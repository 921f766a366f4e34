/** Counters that partitions of devices share. A device that several claims use is charged once. */
import type { DevicePool } from './device-pool.ts';
import type { UseView } from './device-use.ts';
import type { PoolDevice } from './pool-device.ts';

export class CounterBudgets {
  readonly #use: UseView;
  /** Remaining amounts of the pools that were read. */
  readonly #left = new Map<DevicePool, Map<string, bigint>>();
  /** Pools with a counter below zero. As in kube-scheduler, they provide no further device with counters. */
  readonly #overdrawn = new Set<DevicePool>();
  /** Number of uses of this search by device. */
  readonly #own = new Map<PoolDevice, number>();

  constructor(use: UseView) {
    this.#use = use;
  }

  hasRoomFor(pool: DevicePool, device: PoolDevice): boolean {
    if (device.consumes.length === 0 || this.#isCharged(device)) return true;
    const left = this.#leftOf(pool);
    if (this.#overdrawn.has(pool)) return false;
    return device.consumes.every(({ counter, amount }) => (left.get(counter) ?? 0n) >= amount);
  }

  /** Charges a device. Returns a function that undoes the charge. */
  take(pool: DevicePool, device: PoolDevice): (() => void) | undefined {
    if (device.consumes.length === 0) return undefined;
    const isCharged = this.#isCharged(device);
    if (!isCharged) this.#charge(pool, device, 1n);
    this.#own.set(device, (this.#own.get(device) ?? 0) + 1);
    return () => {
      this.#own.set(device, (this.#own.get(device) ?? 0) - 1);
      if (!isCharged) this.#charge(pool, device, -1n);
    };
  }

  /** An exclusive device in use is only tried with administrative access, for which kube-scheduler charges it again. */
  #isCharged(device: PoolDevice): boolean {
    return device.look.isShared && (this.#use.holds(device) > 0 || (this.#own.get(device) ?? 0) > 0);
  }

  #charge(pool: DevicePool, { consumes }: PoolDevice, sign: bigint): void {
    const left = this.#leftOf(pool);
    for (const { counter, amount } of consumes) left.set(counter, (left.get(counter) ?? 0n) - sign * amount);
  }

  #leftOf(pool: DevicePool): Map<string, bigint> {
    let left = this.#left.get(pool);
    if (left === undefined) {
      left = new Map(pool.counters);
      for (const device of pool.consumers)
        if (this.#use.isInUse(device))
          for (const { counter, amount } of device.consumes) left.set(counter, (left.get(counter) ?? 0n) - amount);
      this.#left.set(pool, left);
      if ([...left.values()].some((amount) => amount < 0n)) this.#overdrawn.add(pool);
    }
    return left;
  }
}

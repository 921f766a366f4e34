/** Devices that are in use: exclusively, or shared with consumed capacity. */
import type { PoolDevice } from './pool-device.ts';

/** Allocation of one device. */
export interface DeviceGrant {
  readonly device: PoolDevice;
  /** Consumed capacity by name. Undefined for an exclusive device. */
  readonly consumed: ReadonlyMap<string, bigint> | undefined;
}

interface SharedUse {
  holds: number;
  readonly amounts: Map<string, bigint>;
}

/** Uses of devices, which can be added and removed. */
export class DeviceUse {
  /** Number of exclusive uses by device. */
  readonly exclusive = new Map<PoolDevice, number>();
  readonly shared = new Map<PoolDevice, SharedUse>();

  static of(grants: Iterable<DeviceGrant>): DeviceUse {
    const use = new DeviceUse();
    for (const grant of grants) use.add(grant);
    return use;
  }

  get isEmpty(): boolean {
    return this.exclusive.size === 0 && this.shared.size === 0;
  }

  add({ device, consumed }: DeviceGrant, sign: 1 | -1 = 1): void {
    if (consumed === undefined) this.addExclusive(device, sign);
    else this.addShared(device, consumed, sign);
  }

  addExclusive(device: PoolDevice, times: number): void {
    const left = (this.exclusive.get(device) ?? 0) + times;
    if (left === 0) this.exclusive.delete(device);
    else this.exclusive.set(device, left);
  }

  addShared(device: PoolDevice, consumed: ReadonlyMap<string, bigint>, sign: 1 | -1, holds = 1): void {
    let use = this.shared.get(device);
    if (use === undefined) {
      use = { holds: 0, amounts: new Map() };
      this.shared.set(device, use);
    }
    use.holds += sign * holds;
    for (const [name, amount] of consumed)
      use.amounts.set(name, (use.amounts.get(name) ?? 0n) + (sign === 1 ? amount : -amount));
    if (use.holds === 0) this.shared.delete(device);
  }

  /** Returns a function that restores the uses. */
  restorePoint(): () => void {
    const exclusive = [...this.exclusive];
    const shared = [...this.shared].map(
      ([device, { holds, amounts }]) => [device, { holds, amounts: new Map(amounts) }] as const,
    );
    return () => {
      this.exclusive.clear();
      for (const [device, times] of exclusive) this.exclusive.set(device, times);
      this.shared.clear();
      for (const [device, use] of shared) this.shared.set(device, use);
    };
  }

  /** Adds or removes all uses of another object. */
  addAll(other: DeviceUse, sign: 1 | -1): void {
    for (const [device, times] of other.exclusive) this.addExclusive(device, sign * times);
    for (const [device, { holds, amounts }] of other.shared) this.addShared(device, amounts, sign, holds);
  }
}

/**
 * Returns the uses that other nodes must assume for a node whose type is not decided: every published device that one of the
 * types uses, with the largest amount of any type.
 */
export function largestUse(byType: Iterable<DeviceUse>): DeviceUse {
  const largest = new DeviceUse();
  for (const { exclusive, shared } of byType) {
    for (const device of exclusive.keys())
      if (!device.isTemplate && !largest.exclusive.has(device)) largest.addExclusive(device, 1);
    for (const [device, use] of shared)
      if (!device.isTemplate) largest.shared.set(device, largerUse(largest.shared.get(device), use));
  }
  return largest;
}

function largerUse(known: SharedUse | undefined, { holds, amounts }: SharedUse): SharedUse {
  const all = new Map(known?.amounts);
  for (const [name, amount] of amounts) if (amount > (all.get(name) ?? 0n)) all.set(name, amount);
  return { holds: Math.max(known?.holds ?? 0, holds), amounts: all };
}

/** Use that counts, with -1 for a part of another use that does not count. */
export type UseLayer = readonly [use: DeviceUse, sign: 1 | -1];

/** Sum of several uses. */
export class UseView {
  readonly #layers: readonly UseLayer[];

  constructor(layers: readonly UseLayer[]) {
    this.#layers = layers.filter(([use]) => !use.isEmpty);
  }

  isTaken(device: PoolDevice): boolean {
    let times = 0;
    for (const [{ exclusive }, sign] of this.#layers) times += sign * (exclusive.get(device) ?? 0);
    return times > 0;
  }

  holds(device: PoolDevice): number {
    let holds = 0;
    for (const [{ shared }, sign] of this.#layers) holds += sign * (shared.get(device)?.holds ?? 0);
    return holds;
  }

  consumed(device: PoolDevice, name: string): bigint {
    let amount = 0n;
    for (const [{ shared }, sign] of this.#layers)
      amount += BigInt(sign) * (shared.get(device)?.amounts.get(name) ?? 0n);
    return amount;
  }

  isInUse(device: PoolDevice): boolean {
    return this.#layers.length > 0 && (this.isTaken(device) || this.holds(device) > 0);
  }
}

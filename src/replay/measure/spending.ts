/** What the instances of a replay cost, by the second from running until they shut down. */
import { NODEPOOL_LABEL } from '../../api/labels.ts';
import type { LocalInstance } from '../../local/aws/types.ts';

const HOUR_MS = 3_600_000;

/** USD per hour. */
export interface Rate {
  readonly instance: number;
  /** Volumes and public addresses. */
  readonly extras: number;
}

interface Account {
  readonly instance: LocalInstance;
  rate: Rate;
  sinceMs: number;
}

/** The price of an instance at this moment: spot prices move while it runs. */
export type RateOf = (instance: LocalInstance, atMs: number) => Rate;

export class SpendingMeter {
  readonly #rateOf: RateOf;
  readonly #open = new Map<string, Account>();
  readonly #byCapacityType = new Map<string, number>();
  readonly #byNodePool = new Map<string, number>();
  readonly #hoursByType = new Map<string, number>();
  #instancesUsd = 0;
  #extrasUsd = 0;
  #effectiveUsd = 0;
  /** At list prices, up to the last `settle`. */
  #settledUsd = 0;
  #nodeHours = 0;
  #most = 0;

  constructor(rateOf: RateOf) {
    this.#rateOf = rateOf;
  }

  started(instance: LocalInstance, nowMs: number): void {
    if (this.#open.has(instance.id)) return;
    const rate = this.#rateOf(instance, nowMs);
    this.#open.set(instance.id, { instance, rate, sinceMs: nowMs });
    this.#most = Math.max(this.#most, this.#open.size);
  }

  ended(instance: LocalInstance, nowMs: number): void {
    const account = this.#open.get(instance.id);
    if (account === undefined) return;
    this.#charge(account, nowMs);
    this.#open.delete(instance.id);
  }

  /**
   * Charges what has run up to now, and looks at the prices again.
   * @param paid what is paid of one dollar of list prices from the last call until now: commitments make it less
   */
  settle(nowMs: number, paid = 1): void {
    for (const account of this.#open.values()) {
      this.#charge(account, nowMs);
      account.rate = this.#rateOf(account.instance, nowMs);
    }
    const listUsd = this.#instancesUsd + this.#extrasUsd;
    this.#effectiveUsd += (listUsd - this.#settledUsd) * paid;
    this.#settledUsd = listUsd;
  }

  #charge(account: Account, nowMs: number): void {
    const { instance, rate, sinceMs } = account;
    const hours = Math.max(0, nowMs - sinceMs) / HOUR_MS;
    account.sinceMs = nowMs;
    const usd = hours * rate.instance;
    this.#instancesUsd += usd;
    this.#extrasUsd += hours * rate.extras;
    this.#nodeHours += hours;
    add(this.#byCapacityType, instance.capacityType, usd + hours * rate.extras);
    add(this.#byNodePool, instance.tags[NODEPOOL_LABEL] ?? '', usd + hours * rate.extras);
    add(this.#hoursByType, instance.type, hours);
  }

  get usdPerHour(): number {
    let usd = 0;
    for (const { rate } of this.#open.values()) usd += rate.instance + rate.extras;
    return usd;
  }

  get nodes(): number {
    return this.#open.size;
  }

  get spotNodes(): number {
    let count = 0;
    for (const { instance } of this.#open.values()) if (instance.capacityType === 'spot') count += 1;
    return count;
  }

  get totals() {
    return {
      instancesUsd: this.#instancesUsd,
      extrasUsd: this.#extrasUsd,
      effectiveUsd: this.#effectiveUsd,
      byCapacityType: Object.fromEntries(this.#byCapacityType),
      byNodePool: Object.fromEntries(this.#byNodePool),
      hoursByType: Object.fromEntries([...this.#hoursByType].sort(([, a], [, b]) => b - a)),
      nodeHours: this.#nodeHours,
      most: this.#most,
    };
  }
}

function add(sums: Map<string, number>, name: string, amount: number): void {
  sums.set(name, (sums.get(name) ?? 0) + amount);
}

/** Cost of the instances of a replay, by the second from the running state until shutdown. */
import { NODEPOOL_LABEL } from '#api/objects';
import { type CpuBurst, surplusUsdPerHour } from '#engine/costs';
import type { LocalInstance } from '#local/aws';

const HOUR_MS = 3_600_000;

/** Price in USD per hour. */
export interface Rate {
  readonly instance: number;
  /** Volumes and public IP addresses. */
  readonly extras: number;
}

interface Account {
  readonly instance: LocalInstance;
  /** Undefined if this instance type is not burstable. */
  readonly cpuCredits: CpuBurst | undefined;
  rate: Rate;
  sinceMs: number;
}

/** Returns the price of an instance at a moment, because the spot price changes while the instance runs. */
export type RateOf = (instance: LocalInstance, atMs: number) => Rate;

/** Returns the CPU credits of an instance, or undefined if its type is not burstable. */
export type CreditsOf = (instance: LocalInstance) => CpuBurst | undefined;

export class SpendingMeter {
  readonly #rateOf: RateOf;
  readonly #creditsOf: CreditsOf;
  readonly #open = new Map<string, Account>();
  /** Running instances by the name of their node. */
  readonly #byNode = new Map<string, Account>();
  /** CPU that the pods of a node request, in millicores. */
  readonly #requestedCpu = new Map<string, number>();
  readonly #byCapacityType = new Map<string, number>();
  readonly #byNodePool = new Map<string, number>();
  readonly #hoursByType = new Map<string, number>();
  #instancesUsd = 0;
  #extrasUsd = 0;
  #surplusCreditsUsd = 0;
  /** Cost of instances and extras after commitments, up to the last `settle`. */
  #effectiveUsd = 0;
  /** Cost at list prices, up to the last `settle`. */
  #settledUsd = 0;
  #nodeHours = 0;
  #most = 0;

  constructor(rateOf: RateOf, creditsOf: CreditsOf = () => undefined) {
    this.#rateOf = rateOf;
    this.#creditsOf = creditsOf;
  }

  started(instance: LocalInstance, nowMs: number): void {
    if (this.#open.has(instance.id)) return;
    const rate = this.#rateOf(instance, nowMs);
    const account: Account = { instance, cpuCredits: this.#creditsOf(instance), rate, sinceMs: nowMs };
    this.#open.set(instance.id, account);
    this.#byNode.set(instance.privateDnsName, account);
    this.#most = Math.max(this.#most, this.#open.size);
  }

  ended(instance: LocalInstance, nowMs: number): void {
    const account = this.#open.get(instance.id);
    if (account === undefined) return;
    this.#charge(account, nowMs);
    this.#open.delete(instance.id);
    if (this.#byNode.get(instance.privateDnsName) === account) this.#byNode.delete(instance.privateDnsName);
  }

  /** Changes the CPU that the pods of a node request. @param change in millicores */
  requestsChanged(node: string, change: number, nowMs: number): void {
    const account = this.#byNode.get(node);
    if (account?.cpuCredits !== undefined) this.#charge(account, nowMs);
    const requested = (this.#requestedCpu.get(node) ?? 0) + change;
    if (requested > 0) this.#requestedCpu.set(node, requested);
    else this.#requestedCpu.delete(node);
  }

  /**
   * Charges all instances up to now and updates their prices.
   * @param paid share of the list prices that was paid since the last call; commitments make it smaller than 1
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
    const surplusUsd = hours * this.#surplusOf(account);
    this.#extrasUsd += hours * rate.extras;
    this.#surplusCreditsUsd += surplusUsd;
    this.#nodeHours += hours;
    const totalUsd = usd + hours * rate.extras + surplusUsd;
    add(this.#byCapacityType, instance.capacityType, totalUsd);
    add(this.#byNodePool, instance.tags[NODEPOOL_LABEL] ?? '', totalUsd);
    add(this.#hoursByType, instance.type, hours);
  }

  /** Returns the price of the surplus CPU credits of an instance, in USD per hour. */
  #surplusOf({ instance, cpuCredits }: Account): number {
    return surplusUsdPerHour({ cpuBurst: cpuCredits }, this.#requestedCpu.get(instance.privateDnsName) ?? 0);
  }

  /**
   * Returns the current cost in USD per hour. Commitments do not cover surplus CPU credits. @param paid as in `settle`
   */
  usdPerHour(paid = 1): number {
    let usd = 0;
    for (const account of this.#open.values()) {
      const { instance, extras } = account.rate;
      usd += (instance + extras) * paid + this.#surplusOf(account);
    }
    return usd;
  }

  /** Returns the current price of a node in USD per hour, or 0 if its instance does not run. */
  usdPerHourOf(node: string): number {
    const { instance, extras } = this.#byNode.get(node)?.rate ?? { instance: 0, extras: 0 };
    return instance + extras;
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
      surplusCreditsUsd: this.#surplusCreditsUsd,
      effectiveUsd: this.#effectiveUsd + this.#surplusCreditsUsd,
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

/**
 * Compares NodePools of equal weight by price. The price of a pod in a NodePool is its share of a node that is full of pods of
 * its kind. If a node has room for more than all pods of the solve, it counts as full with these pods.
 */
import type { CompiledPool } from '../solver/compiled-pool.ts';
import type { Amounts } from '../solver/dimensions.ts';
import type { PodClass } from '../solver/pod-class.ts';
import type { PoolGroup, PoolPreference } from '../solver/pool-choice.ts';
import type { Shape } from '../solver/shape.ts';
import { surplusUsd } from '../solver/surplus-prices.ts';
import { untolerated } from '../taints.ts';
import { type Problem, worthwhileRows } from './problem.ts';
import { capacitiesOf, pricesOf, surplusOf } from './template-rows.ts';

/** Work limit, in checks of one row. Classes of pods that are compared after the limit is reached have no preference. */
const MOST_WORK = 2_000_000;
/** Relative difference in price below which NodePools cost the same. */
const SIGNIFICANT = 1e-6;

/** Rows for some requirements, without rows that cost more than a row with as much room. */
interface Rows {
  readonly members: readonly number[];
  readonly usdPerHour: Float64Array;
}

class PoolPrices {
  readonly #pool: CompiledPool;
  readonly #demand: Amounts;
  readonly #rows = new Map<Shape, Rows>();
  readonly #capacities: Problem['capacities'];
  readonly #surplus: Problem['surplus'];

  /** @param demand requests of all pods */
  constructor(pool: CompiledPool, demand: Amounts) {
    this.#pool = pool;
    this.#demand = demand;
    this.#capacities = capacitiesOf(pool).map((room) => room?.map((amount, at) => Math.min(amount, demand[at] ?? 0)));
    this.#surplus = surplusOf(pool).surplus;
  }

  /** Number of checks of a row that the next price for the shape needs. */
  workFor(shape: Shape): number {
    return this.#rows.get(shape)?.members.length ?? this.#capacities.length;
  }

  /** Returns the price of a pod in USD per hour. Infinite if no instance type fits, or if too few fit for `minValues`. */
  usdPerPod({ amounts }: PodClass, shape: Shape): number {
    const { choices, rows, surplusPrices } = this.#pool;
    if (shape.hasMinValues && choices.of(shape, rows, amounts).unsatisfied.length > 0) return Number.POSITIVE_INFINITY;
    const { members, usdPerHour } = this.#rowsFor(shape);
    let least = Number.POSITIVE_INFINITY;
    for (const row of members) {
      const load = loadOf(amounts, this.#capacities[row] as Amounts);
      if (load > 1) continue;
      const surplus = this.#surplus[row];
      const cpu = amounts[surplusPrices.cpuAt] ?? 0;
      const credits = surplus === undefined || load === 0 ? 0 : surplusUsd(surplus, cpu / load);
      least = Math.min(least, load * ((usdPerHour[row] as number) + credits));
    }
    return least;
  }

  #rowsFor(shape: Shape): Rows {
    let rows = this.#rows.get(shape);
    if (rows === undefined) {
      const capacities = this.#capacities;
      const usdPerHour = pricesOf(this.#pool, { shape, capacities });
      const all = { kinds: [{ amounts: this.#demand, count: 1 }], capacities, surplus: this.#surplus };
      rows = { members: worthwhileRows(all, { kinds: [0], prices: usdPerHour }), usdPerHour };
      this.#rows.set(shape, rows);
    }
    return rows;
  }
}

/** Returns the largest part of a capacity that some amounts use. */
function loadOf(amounts: Amounts, capacity: Amounts): number {
  let load = 0;
  for (let at = 0; at < amounts.length; at++) {
    const amount = amounts[at] as number;
    if (amount > 0) load = Math.max(load, amount / (capacity[at] as number));
  }
  return load;
}

export class CheapestPools implements PoolPreference {
  readonly #pools: readonly CompiledPool[];
  /** Positions of the NodePools of each weight, highest weight first. */
  readonly #byWeight: readonly (readonly number[])[];
  readonly #demand: Amounts;
  readonly #mostWork: number;
  readonly #prices = new Map<number, PoolPrices>();
  readonly #known = new Map<PodClass, readonly PoolGroup[] | undefined>();
  #work = 0;

  /**
   * @param pools NodePools in order of trial
   * @param demand requests of all pods
   */
  constructor(pools: readonly CompiledPool[], demand: Amounts, mostWork = MOST_WORK) {
    this.#mostWork = mostWork;
    this.#pools = pools;
    this.#demand = demand;
    this.#byWeight = [...Map.groupBy(pools.keys(), (at) => weightOf(pools[at] as CompiledPool)).values()];
  }

  of(podClass: PodClass): readonly PoolGroup[] | undefined {
    if (!this.#known.has(podClass)) this.#known.set(podClass, this.#groupsFor(podClass));
    return this.#known.get(podClass);
  }

  #groupsFor(podClass: PodClass): readonly PoolGroup[] | undefined {
    const groups: PoolGroup[] = [];
    for (const same of this.#byWeight) {
      const prices = this.#pricesIn(same, podClass);
      if (prices === undefined) return undefined;
      const priceOf = (at: number): number => prices.get(at) as number;
      const limit = Math.min(...prices.values()) * (1 + SIGNIFICANT);
      const expensive = [...prices.keys()].filter((at) => priceOf(at) > limit).sort((a, b) => priceOf(a) - priceOf(b));
      groups.push({ pools: [...prices.keys()].filter((at) => priceOf(at) <= limit), isMoreExpensive: false });
      if (expensive.length > 0) groups.push({ pools: expensive, isMoreExpensive: true });
    }
    return groups.some(({ isMoreExpensive }) => isMoreExpensive) ? groups : undefined;
  }

  /** Returns the price of a pod in the NodePools that accept it, or undefined if the work limit is reached. */
  #pricesIn(pools: readonly number[], podClass: PodClass): ReadonlyMap<number, number> | undefined {
    const prices = new Map<number, number>();
    for (const at of pools) {
      const pool = this.#pools[at] as CompiledPool;
      const shape = shapeFor(podClass, pool);
      if (shape === undefined) continue;
      const own = this.#pricesOf(at, pool);
      this.#work += own.workFor(shape);
      if (this.#work > this.#mostWork) return undefined;
      prices.set(at, own.usdPerPod(podClass, shape));
    }
    return prices;
  }

  #pricesOf(at: number, pool: CompiledPool): PoolPrices {
    let prices = this.#prices.get(at);
    if (prices === undefined) {
      prices = new PoolPrices(pool, this.#demand);
      this.#prices.set(at, prices);
    }
    return prices;
  }
}

/** Returns the requirements of a node for pods of the class, or undefined if the NodePool does not accept them. */
function shapeFor({ pod, requirements }: PodClass, { taints, root }: CompiledPool): Shape | undefined {
  if (untolerated(pod.spec.tolerations, taints).length > 0) return undefined;
  const shape = root.narrow(requirements);
  return 'code' in shape ? undefined : shape;
}

/** Returns true if several NodePools have the same weight. */
export const haveEqualWeights = (pools: readonly CompiledPool[]): boolean =>
  new Set(pools.map(weightOf)).size < pools.length;

const weightOf = ({ pool }: CompiledPool): number => pool.spec.weight ?? 0;

/** Tracks the remaining limits of a NodePool, and the ceilings that it shares with other NodePools, during a solve. */
import { remembering } from '#lib';
import { highestUsd, USD, usdAmount } from '../ceilings.ts';
import type { Ceiling, EngineNode, InstanceType, Misfit, Resources } from '../model.ts';
import { NODES, nodeCapacities, withNode } from '../pool-usage.ts';
import { addResources, amountIn, resourcesOf } from '../resources.ts';
import type { BitSet } from './bitset.ts';
import type { Choice } from './choice.ts';
import type { CompiledPool } from './compiled-pool.ts';
import type { Shape } from './shape.ts';

/** Remaining amounts of the limits of one NodePool, or of one ceiling. */
class Budget {
  /** Version that changes whenever the remaining amounts change. */
  version = 0;
  /** Object with the ceiling. Undefined for the limits of a NodePool. */
  readonly owner: Ceiling['object'] | undefined;
  readonly remaining: Record<string, number>;

  constructor(limits: Resources, used: Resources, owner?: Ceiling['object']) {
    this.owner = owner;
    this.remaining = Object.fromEntries(
      Object.entries(limits).map(([name, limit]) => [name, limit - amountIn(used, name)]),
    );
  }

  /** Returns true if no further node is possible, whatever its instance type. */
  get isOutOfNodes(): boolean {
    return Object.hasOwn(this.remaining, NODES) && amountIn(this.remaining, NODES) < 1;
  }

  get isExceeded(): boolean {
    return Object.values(this.remaining).some((rest) => rest < 0);
  }

  /** Remaining amounts besides the number of nodes. */
  get amounts(): readonly (readonly [name: string, rest: number])[] {
    return Object.entries(this.remaining).filter(([name]) => name !== NODES);
  }

  /** Returns a function that restores the remaining amounts. */
  restorePoint(): () => void {
    const { version } = this;
    const remaining = { ...this.remaining };
    return () => {
      if (this.version === version) return;
      Object.assign(this.remaining, remaining);
      this.version++;
    };
  }

  spend(amountOf: (name: string) => number): void {
    for (const name of Object.keys(this.remaining)) {
      const amount = amountOf(name);
      if (amount === 0) continue;
      this.remaining[name] = amountIn(this.remaining, name) - amount;
      this.version++;
    }
  }
}

/** Remaining amounts of ceilings, which all NodePools of an attempt share. */
export class SharedLimits {
  readonly #ceilings: readonly Ceiling[];
  readonly #budgets: readonly (readonly [ceiling: Ceiling, budget: Budget])[];

  constructor(ceilings: readonly Ceiling[]) {
    this.#ceilings = ceilings;
    this.#budgets = ceilings.map((ceiling) => [ceiling, new Budget(ceiling.limits, ceiling.used, ceiling.object)]);
  }

  get isUnlimited(): boolean {
    return this.#budgets.length === 0;
  }

  /** True if this solve spent more than the room of a ceiling. */
  get isExceeded(): boolean {
    return this.#budgets.some(([, budget]) => budget.version > 0 && budget.isExceeded);
  }

  budgetsOf(nodePool: string): readonly Budget[] {
    return this.#budgets.flatMap(([{ nodePools }, budget]) => (nodePools.includes(nodePool) ? [budget] : []));
  }

  /** Returns the ceilings before the first launch. */
  fresh(): SharedLimits {
    return new SharedLimits(this.#ceilings);
  }
}

export class PoolLimits {
  readonly isUnlimited: boolean;
  readonly #pool: CompiledPool;
  /** Budget of the NodePool if it has limits, and of its ceilings. */
  readonly #budgets: readonly Budget[];
  #allowed: { readonly version: number; readonly rows: BitSet } | undefined;

  constructor(pool: CompiledPool, nodes: Iterable<EngineNode>, shared: SharedLimits) {
    this.#pool = pool;
    const limits = resourcesOf(pool.pool.spec.limits);
    const own =
      Object.keys(limits).length === 0 ? [] : [new Budget(limits, addResources(...nodeCapacities(pool.name, nodes)))];
    this.#budgets = [...own, ...shared.budgetsOf(pool.name)];
    this.isUnlimited = this.#budgets.length === 0;
  }

  /** Version that changes whenever the remaining limits change. */
  get version(): number {
    return this.#budgets.reduce((sum, { version }) => sum + version, 0);
  }

  /** Rows of the types that can be launched within the limits, or the reason why there are none. */
  get allowed(): BitSet | Misfit {
    if (this.isUnlimited) return this.#pool.rows;
    const full = this.#budgets.find(({ isOutOfNodes }) => isOutOfNodes);
    if (full !== undefined) return this.#misfit('node limits have been exhausted for nodepool', full);
    const { version } = this;
    if (this.#allowed?.version !== version) this.#allowed = { version, rows: this.#rowsWithin(this.#budgets) };
    const { rows } = this.#allowed;
    if (!rows.isEmpty) return rows;
    const alone = this.#budgets.find((budget) => this.#rowsWithin([budget]).isEmpty);
    return this.#misfit('all available instance types exceed limits for nodepool', alone);
  }

  #rowsWithin(budgets: readonly Budget[]): BitSet {
    const { catalogue, rows, choices } = this.#pool;
    const limited = budgets.flatMap(({ amounts }) => amounts);
    const isWithin = (type: InstanceType): boolean =>
      limited.every(([name, rest]) => amountOn(this.#pool, type, name) <= rest);
    if (limited.every(([name, rest]) => name !== USD && catalogue.largestCapacity(name) <= rest)) return rows;
    return choices.shared(catalogue.rowsWhere(isWithin).and(rows));
  }

  #misfit(text: string, { owner }: Pick<Budget, 'owner'> = { owner: undefined }): Misfit {
    const by = owner === undefined ? '' : `, ${owner.kind}=${owner.name}`;
    return { code: 'limits', text: `${text} (NodePool=${this.#pool.name}${by})` };
  }

  /** Returns the rows with at most as much of each limited resource as the row `than`. */
  noLarger(rows: BitSet, than: number): BitSet {
    return this.#noLargerThanType(rows, this.#pool.catalogue.typeAt(than));
  }

  /** Returns the rows of the types that use the least of the remaining limits, among a choice. */
  smallestOf({ positions, rows }: Choice): BitSet {
    const shares = positions.map((type) => ({ type, share: this.shareOfType(type) }));
    const least = shares.reduce((best, each) => (each.share < best.share ? each : best), { type: -1, share: Infinity });
    return this.#noLargerThanType(rows, least.type);
  }

  #noLargerThanType(rows: BitSet, position: number): BitSet {
    const { catalogue, choices } = this.#pool;
    const most = catalogue.types[position];
    if (most === undefined) return rows;
    const limited = [...new Set(this.#budgets.flatMap(({ remaining }) => Object.keys(remaining)))];
    const small = catalogue.rowsWhere((type) =>
      limited.every((name) => amountOn(this.#pool, type, name) <= amountOn(this.#pool, most, name)),
    );
    return choices.shared(small.and(rows));
  }

  /** Returns the sum of the parts of the remaining limits that a node of the type at this position uses. */
  shareOfType(position: number): number {
    const type = this.#pool.catalogue.types[position];
    if (type === undefined) return 0;
    const limited = this.#budgets.flatMap(({ remaining }) => Object.entries(remaining)).filter(([, rest]) => rest > 0);
    return limited.reduce((sum, [name, rest]) => sum + amountOn(this.#pool, type, name) / rest, 0);
  }

  /** Returns a function that restores the remaining limits. */
  restorePoint(): () => void {
    const restores = this.#budgets.map((budget) => budget.restorePoint());
    return () => {
      for (const restore of restores) restore();
    };
  }

  /** Subtracts the worst case of a new claim: one node, and the largest amount among its types for each resource. */
  spend(choice: Choice): void {
    const amountOf = (name: string): number =>
      name === NODES ? 1 : name === USD ? largestUsd(this.#pool, choice) : choice.largest(name);
    for (const budget of this.#budgets) budget.spend(amountOf);
  }
}

const chargesOf = ({ claimExtras }: Pick<CompiledPool, 'claimExtras'>): number => claimExtras.chargesUsdPerHour ?? 0;

/** Highest price of a type under the requirements of a NodePool. */
const usdUnder = remembering(({ requirements }: Shape, charges: number) =>
  remembering((type: InstanceType): number => usdAmount(highestUsd([type], requirements, charges))),
);

function amountOn(pool: CompiledPool, type: InstanceType, name: string): number {
  return name === USD ? usdUnder(pool.root, chargesOf(pool))(type) : amountIn(withNode(type.capacity), name);
}

/** Returns the highest price that a claim can have. */
const largestUsd = (pool: CompiledPool, choice: Choice): number =>
  choice.computeOnce('highest price', () => {
    const types = choice.positions.flatMap((at) => pool.catalogue.types[at] ?? []);
    return usdAmount(highestUsd(types, choice.shape.requirements, chargesOf(pool)));
  });

/** Tracks the remaining limits of a NodePool during a solve. */
import type { EngineNode, Misfit, Resources } from '../model.ts';
import { NODES, nodeCapacities, withNode } from '../pool-usage.ts';
import { addResources, amountIn, resourcesOf } from '../resources.ts';
import type { BitSet } from './bitset.ts';
import type { Choice } from './choice.ts';
import type { CompiledPool } from './compiled-pool.ts';

export class PoolLimits {
  /** Version that changes whenever the remaining limits change. */
  version = 0;
  readonly isUnlimited: boolean;
  readonly #pool: CompiledPool;
  readonly #remaining: Record<string, number>;
  #allowed: { readonly version: number; readonly rows: BitSet } | undefined;

  constructor(pool: CompiledPool, nodes: Iterable<EngineNode>) {
    this.#pool = pool;
    const limits = Object.entries(resourcesOf(pool.pool.spec.limits));
    this.isUnlimited = limits.length === 0;
    const used = this.isUnlimited ? {} : addResources(...nodeCapacities(pool.name, nodes));
    this.#remaining = Object.fromEntries(limits.map(([name, limit]) => [name, limit - amountIn(used, name)]));
  }

  /** Rows of the types that can be launched within the limits, or the reason why there are none. */
  get allowed(): BitSet | Misfit {
    if (this.isUnlimited) return this.#pool.rows;
    if (amountIn(this.#remaining, NODES) < 1 && this.#limitsNodes)
      return this.#misfit('node limits have been exhausted for nodepool');
    if (this.#allowed?.version !== this.version) this.#allowed = { version: this.version, rows: this.#rowsLeft() };
    const { rows } = this.#allowed;
    return rows.isEmpty ? this.#misfit('all available instance types exceed limits for nodepool') : rows;
  }

  #rowsLeft(): BitSet {
    const { catalogue, rows, choices } = this.#pool;
    const limited = Object.entries(this.#remaining).filter(([name]) => name !== NODES);
    if (limited.every(([name, rest]) => catalogue.largestCapacity(name) <= rest)) return rows;
    const left = catalogue.rowsWhere(({ capacity }) =>
      limited.every(([name, rest]) => amountIn(capacity, name) <= rest),
    );
    return choices.shared(left.and(rows));
  }

  #misfit(text: string): Misfit {
    return { code: 'limits', text: `${text} (NodePool=${this.#pool.name})` };
  }

  /** Returns the rows with at most as much of each limited resource as the row `than`. */
  noLarger(rows: BitSet, than: number): BitSet {
    return this.#noLargerThanType(rows, this.#pool.catalogue.typeAt(than));
  }

  /** Returns the rows of the types that use the least of the remaining limits, among a choice. */
  smallestOf({ positions, rows }: Choice): BitSet {
    const { types } = this.#pool.catalogue;
    const shares = positions.map((type) => ({ type, share: this.shareOf(types[type]?.capacity ?? {}) }));
    const least = shares.reduce((best, each) => (each.share < best.share ? each : best), { type: -1, share: Infinity });
    return this.#noLargerThanType(rows, least.type);
  }

  #noLargerThanType(rows: BitSet, type: number): BitSet {
    const { catalogue, choices } = this.#pool;
    const most = catalogue.types[type]?.capacity;
    if (most === undefined) return rows;
    const limited = Object.keys(this.#remaining);
    const small = catalogue.rowsWhere(({ capacity }) =>
      limited.every((name) => amountIn(capacity, name) <= amountIn(most, name)),
    );
    return choices.shared(small.and(rows));
  }

  /** Returns the sum of the parts of the remaining limits that a node with this capacity uses. */
  shareOf(capacity: Resources): number {
    const limited = Object.entries(this.#remaining).filter(([, rest]) => rest > 0);
    return limited.reduce((sum, [name, rest]) => sum + amountIn(withNode(capacity), name) / rest, 0);
  }

  /** Returns a function that restores the remaining limits. */
  restorePoint(): () => void {
    const { version } = this;
    const remaining = { ...this.#remaining };
    return () => {
      if (this.version === version) return;
      Object.assign(this.#remaining, remaining);
      this.version++;
    };
  }

  get #limitsNodes(): boolean {
    return Object.hasOwn(this.#remaining, NODES);
  }

  /** Subtracts the worst case of a new claim: one node, and the largest capacity among its types for each resource. */
  spend(choice: Choice): void {
    for (const name of Object.keys(this.#remaining)) {
      const largest = name === NODES ? 1 : choice.largest(name);
      if (largest === 0) continue;
      this.#remaining[name] = amountIn(this.#remaining, name) - largest;
      this.version++;
    }
  }
}

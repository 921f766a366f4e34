/** How much a NodePool may still buy in this solve. */
import { NODEPOOL_LABEL } from '../../api/labels.ts';
import type { EngineNode, Misfit, Resources } from '../model.ts';
import { addResources, amountIn, resourcesOf } from '../resources.ts';
import type { BitSet } from './bitset.ts';
import type { Choice } from './choice.ts';
import type { CompiledPool } from './compiled-pool.ts';

const NODES = 'nodes';

export class PoolLimits {
  /** Changes whenever less is left than before. */
  version = 0;
  readonly #pool: CompiledPool;
  readonly #remaining: Record<string, number>;
  #allowed: { readonly version: number; readonly rows: BitSet } | undefined;

  constructor(pool: CompiledPool, nodes: Iterable<EngineNode>) {
    this.#pool = pool;
    const limits = Object.entries(resourcesOf(pool.pool.spec.limits));
    const used = limits.length === 0 ? {} : usageOf(pool.name, nodes);
    this.#remaining = Object.fromEntries(limits.map(([name, limit]) => [name, limit - amountIn(used, name)]));
  }

  /** Rows of the types that can be bought without going over, or why there is none. */
  get allowed(): BitSet | Misfit {
    if (this.#remaining[NODES] === 0) return this.#misfit('node limits have been exhausted for nodepool');
    if (this.#allowed?.version !== this.version) this.#allowed = { version: this.version, rows: this.#rowsLeft() };
    const { rows } = this.#allowed;
    return rows.isEmpty ? this.#misfit('all available instance types exceed limits for nodepool') : rows;
  }

  #rowsLeft(): BitSet {
    const { catalogue, rows, choices } = this.#pool;
    const limited = Object.entries(this.#remaining);
    if (limited.every(([name, rest]) => catalogue.largestCapacity(name) <= rest)) return rows;
    const left = catalogue.rowsWhere(({ capacity }) =>
      limited.every(([name, rest]) => amountIn(capacity, name) <= rest),
    );
    return choices.shared(left.and(rows));
  }

  #misfit(text: string): Misfit {
    return { code: 'limits', text: `${text} (NodePool=${this.#pool.name})` };
  }

  /** Those of the rows that have no more of anything limited than one of them. */
  noLarger(rows: BitSet, than: number): BitSet {
    const { catalogue, choices } = this.#pool;
    const most = catalogue.types[catalogue.typeAt(than)]?.capacity;
    if (most === undefined) return rows;
    const limited = Object.keys(this.#remaining);
    const small = catalogue.rowsWhere(({ capacity }) =>
      limited.every((name) => amountIn(capacity, name) <= amountIn(most, name)),
    );
    return choices.shared(small.and(rows));
  }

  get isUnlimited(): boolean {
    return Object.keys(this.#remaining).length === 0;
  }

  get limitsNodes(): boolean {
    return Object.hasOwn(this.#remaining, NODES);
  }

  /** Takes off the worst case of a new claim: the largest capacity among its types, per resource. */
  spend(choice: Choice): void {
    for (const name of Object.keys(this.#remaining)) {
      const largest = choice.largest(name);
      if (largest === 0) continue;
      this.#remaining[name] = amountIn(this.#remaining, name) - largest;
      this.version++;
    }
  }
}

/** What a pool's nodes that stay take of its limits. */
function usageOf(pool: string, nodes: Iterable<EngineNode>): Resources {
  const own: EngineNode[] = [];
  for (const node of nodes) if (node.labels[NODEPOOL_LABEL] === pool && !node.markedForDeletion) own.push(node);
  return { ...addResources(...own.map(({ capacity }) => capacity)), [NODES]: own.length };
}

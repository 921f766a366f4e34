/** How much a NodePool may still buy in this solve. */
import { NODEPOOL_LABEL } from '../../api/labels.ts';
import type { NodePool } from '../../api/nodepool.ts';
import type { Misfit, Resources, StateNode } from '../model.ts';
import { addResources, resourcesOf } from '../resources.ts';
import type { BitSet } from './bitset.ts';
import type { Catalogue } from './catalogue.ts';

const NODES = 'nodes';

export class PoolLimits {
  /** Changes whenever less is left than before. */
  version = 0;
  readonly #pool: string;
  readonly #remaining: Record<string, number>;
  #allowed: { readonly version: number; readonly rows: BitSet } | undefined;

  constructor(pool: NodePool, nodes: readonly StateNode[]) {
    this.#pool = pool.metadata.name;
    const own = nodes.filter((node) => node.labels[NODEPOOL_LABEL] === this.#pool && !node.markedForDeletion);
    const used: Resources = { ...addResources(...own.map((node) => node.capacity)), [NODES]: own.length };
    const limits = Object.entries(resourcesOf(pool.spec.limits));
    this.#remaining = Object.fromEntries(limits.map(([name, limit]) => [name, limit - (used[name] ?? 0)]));
  }

  /** Rows of the types that can be bought without going over, or why there is none. */
  allowed(catalogue: Catalogue, among: BitSet): BitSet | Misfit {
    if (this.#remaining[NODES] === 0) return this.#misfit('node limits have been exhausted for nodepool');
    if (this.#allowed?.version !== this.version) {
      const limited = Object.entries(this.#remaining);
      const rows = catalogue.rowsWhere(({ capacity }) =>
        limited.every(([name, rest]) => (capacity[name] ?? 0) <= rest),
      );
      this.#allowed = { version: this.version, rows: rows.and(among) };
    }
    const { rows } = this.#allowed;
    return rows.isEmpty ? this.#misfit('all available instance types exceed limits for nodepool') : rows;
  }

  #misfit(text: string): Misfit {
    return { code: 'limits', text: `${text} (NodePool=${this.#pool})` };
  }

  get limitsNodes(): boolean {
    return NODES in this.#remaining;
  }

  /** Takes off the worst case of a new claim: the largest capacity among its types, per resource. */
  spend(catalogue: Catalogue, rows: BitSet): void {
    for (const name of Object.keys(this.#remaining)) {
      const largest = catalogue.largestCapacity(rows, name);
      if (largest === 0) continue;
      this.#remaining[name] = (this.#remaining[name] ?? 0) - largest;
      this.version++;
    }
  }
}

/** Remembers which new nodes pass the filters of rules. Many rules have the same filter, and many nodes the same requirements. */
import { filterIdentity, isOpen, type NodeFilter, passes } from './node-filter.ts';

type FilteredNode = Parameters<typeof passes>[1];

/** Rule with the number of its filter. */
interface Filtered {
  readonly rule: { readonly filter: NodeFilter | undefined };
  readonly filterNumber: number;
}

interface Verdicts {
  readonly taints: FilteredNode['taints'];
  /** Verdicts by number of the filter: 1 if the node passes, 2 if it does not, and 0 before the first test. */
  known: Uint8Array;
}

/** Number of a filter that every node passes. */
const OPEN = 0;
const PASSES = 1;
const FAILS = 2;
/** Most verdicts in memory. With more, all of them are forgotten. */
const MOST_VERDICTS = 16_000_000;

export class FilterVerdicts {
  readonly #numbers = new Map<string, number>();
  readonly #verdicts = new Map<FilteredNode['requirements'], Verdicts>();

  /** Returns the same number for equivalent filters. */
  numberOf(filter: NodeFilter | undefined): number {
    if (filter === undefined || isOpen(filter)) return OPEN;
    const id = filterIdentity(filter);
    const number = this.#numbers.get(id) ?? this.#numbers.size + 1;
    this.#numbers.set(id, number);
    return number;
  }

  /** Returns a test whether a node passes the filter of a rule. */
  testOf(node: FilteredNode): (group: Filtered) => boolean {
    let verdicts: Verdicts | undefined;
    return ({ filterNumber: number, rule }) => {
      if (number === OPEN) return true;
      verdicts ??= this.#verdictsOf(node);
      if (number >= verdicts.known.length) verdicts.known = this.#widened(verdicts.known);
      const known = verdicts.known[number];
      if (known === PASSES || known === FAILS) return known === PASSES;
      const isPassing = passes(rule.filter, node);
      verdicts.known[number] = isPassing ? PASSES : FAILS;
      return isPassing;
    };
  }

  #verdictsOf({ requirements, taints }: FilteredNode): Verdicts {
    let verdicts = this.#verdicts.get(requirements);
    if (verdicts?.taints !== taints) {
      if (this.#verdicts.size * this.#numbers.size > MOST_VERDICTS) this.#verdicts.clear();
      verdicts = { taints, known: this.#widened(new Uint8Array(0)) };
      this.#verdicts.set(requirements, verdicts);
    }
    return verdicts;
  }

  #widened(known: Uint8Array): Uint8Array {
    const wider = new Uint8Array(this.#numbers.size + 1);
    wider.set(known);
    return wider;
  }
}

/** Tracks the unused part of commitments while decisions use it. */
import { type Commitment, drawOf, type Usage } from './commitment.ts';

/** Possible coverage of an instance. */
export interface Cover {
  /** Covered part of the price, in USD per hour. */
  readonly usdPerHour: number;
  /** Used amounts, by the positions of the commitments. */
  readonly draws: readonly { readonly at: number; readonly amount: number }[];
}

/** Part of an instance below which the rest counts as zero, because sums of fractions are not exact. */
const TINY = 1e-9;

const isPlan = ({ kind }: Commitment): boolean => kind.endsWith('savings-plan');

export class Ledger {
  readonly #commitments: readonly Commitment[];
  readonly #left: number[];

  /** @param left unused amount of each commitment; default: the whole amount */
  constructor(commitments: readonly Commitment[], left: readonly number[] = commitments.map(({ amount }) => amount)) {
    this.#commitments = commitments;
    this.#left = [...left];
  }

  copy(): Ledger {
    return new Ledger(this.#commitments, this.#left);
  }

  /** True if all commitments are fully used. */
  get isEmpty(): boolean {
    return this.#left.every((amount) => amount <= TINY);
  }

  /** Commitments with their unused part as the amount. */
  get rest(): readonly Commitment[] {
    return this.#commitments.map((commitment, at) => ({ ...commitment, amount: this.#left[at] as number }));
  }

  /** Text that is the same for the same unused amounts. */
  get identity(): string {
    return this.#left.join();
  }

  /**
   * Returns the coverage of the next instance, or undefined if it would not be covered. Does not change this ledger.
   */
  cover(usage: Usage): Cover | undefined {
    if (usage.usdPerHour <= 0) return undefined;
    const draws: { at: number; amount: number }[] = [];
    let open = 1;
    for (const { at, draw } of this.#matching(usage)) {
      const part = draw <= 0 ? open : Math.min(open, (this.#left[at] as number) / draw);
      if (part <= TINY) continue;
      draws.push({ at, amount: part * draw });
      open -= part;
      if (open <= TINY) return { usdPerHour: usage.usdPerHour, draws };
    }
    return draws.length === 0 ? undefined : { usdPerHour: (1 - open) * usage.usdPerHour, draws };
  }

  /** Returns true if the coverage uses a commitment for a single zone. */
  isZonal({ draws }: Cover): boolean {
    return draws.some(({ at }) => this.#commitments[at]?.zone !== undefined);
  }

  /** Takes from each commitment the maximum that any of the instances would use, because the actual instance is not known yet. */
  takeMost(usages: readonly Usage[]): void {
    const most = new Map<number, number>();
    for (const usage of usages)
      for (const { at, amount } of this.cover(usage)?.draws ?? []) most.set(at, Math.max(most.get(at) ?? 0, amount));
    this.take({ usdPerHour: 0, draws: [...most].map(([at, amount]) => ({ at, amount })) });
  }

  take({ draws }: Cover): void {
    for (const { at, amount } of draws) {
      const left = (this.#left[at] as number) - amount;
      this.#left[at] = left <= TINY ? 0 : left;
    }
  }

  /** Returns commitments in the order of their application by AWS: by kind, and within plans by savings, highest first. */
  #matching(usage: Usage): readonly { readonly at: number; readonly draw: number }[] {
    const found: { at: number; draw: number; kind: Commitment['kind'] }[] = [];
    for (const [at, commitment] of this.#commitments.entries()) {
      if ((this.#left[at] as number) <= TINY) continue;
      const draw = drawOf(commitment, usage);
      if (draw === undefined) continue;
      const last = found.at(-1);
      // within plans of a kind, a lower rate saves more
      if (last?.kind === commitment.kind && isPlan(commitment) && draw < last.draw) {
        const before = found.findIndex((other) => other.kind === commitment.kind && draw < other.draw);
        found.splice(before, 0, { at, draw, kind: commitment.kind });
      } else found.push({ at, draw, kind: commitment.kind });
    }
    return found;
  }
}

/**
 * Divisor for the price of covered instances. They add no cost, but cheaper ones are still preferred, as for capacity
 * reservations.
 */
const COVERED_PRICE_DIVISOR = 10_000_000;

/** Returns the amount that one more instance adds to the bill, in USD per hour. */
export const marginalPrice = ({ usdPerHour }: Usage, cover: Cover | undefined): number =>
  cover === undefined ? usdPerHour : usdPerHour - cover.usdPerHour + usdPerHour / COVERED_PRICE_DIVISOR;

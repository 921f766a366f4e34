/** What is left of commitments while decisions hand it out. */
import { type Commitment, drawOf, type Usage } from './commitment.ts';

/** How an instance would be covered. */
export interface Cover {
  /** The part of its price that is covered, USD per hour. */
  readonly usdPerHour: number;
  /** What it takes of commitments, by their positions. */
  readonly draws: readonly { readonly at: number; readonly amount: number }[];
}

/** Below this part of an instance nothing is left: sums of fractions are not exact. */
const TINY = 1e-9;

const isPlan = ({ kind }: Commitment): boolean => kind.endsWith('savings-plan');

export class Ledger {
  readonly #commitments: readonly Commitment[];
  readonly #left: number[];

  /** @param left of each commitment; all of it when left out */
  constructor(commitments: readonly Commitment[], left: readonly number[] = commitments.map(({ amount }) => amount)) {
    this.#commitments = commitments;
    this.#left = [...left];
  }

  copy(): Ledger {
    return new Ledger(this.#commitments, this.#left);
  }

  /** Whether nothing is left of anything. */
  get isEmpty(): boolean {
    return this.#left.every((amount) => amount <= TINY);
  }

  /** The commitments with what is left of each as their amount. */
  get rest(): readonly Commitment[] {
    return this.#commitments.map((commitment, at) => ({ ...commitment, amount: this.#left[at] as number }));
  }

  /** The same text where as much is left. */
  get identity(): string {
    return this.#left.join();
  }

  /** How an instance that comes next would be covered; undefined when it would not. It takes nothing yet. */
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

  take({ draws }: Cover): void {
    for (const { at, amount } of draws) {
      const left = (this.#left[at] as number) - amount;
      this.#left[at] = left <= TINY ? 0 : left;
    }
  }

  /** In the order in which AWS applies them: by kind, and of plans those first that save most. */
  #matching(usage: Usage): readonly { readonly at: number; readonly draw: number }[] {
    const found: { at: number; draw: number; kind: Commitment['kind'] }[] = [];
    for (const [at, commitment] of this.#commitments.entries()) {
      if ((this.#left[at] as number) <= TINY) continue;
      const draw = drawOf(commitment, usage);
      if (draw === undefined) continue;
      const last = found.at(-1);
      // of several plans of a kind a lower rate saves more
      if (last?.kind === commitment.kind && isPlan(commitment) && draw < last.draw) {
        const before = found.findIndex((other) => other.kind === commitment.kind && draw < other.draw);
        found.splice(before, 0, { at, draw, kind: commitment.kind });
      } else found.push({ at, draw, kind: commitment.kind });
    }
    return found;
  }
}

/** Covered instances cost nothing more, yet cheaper ones are preferred: as among capacity reservations. */
const COVERED_PRICE_DIVISOR = 10_000_000;

/** What one more instance adds to the bill, USD per hour. */
export const marginalPrice = ({ usdPerHour }: Usage, cover: Cover | undefined): number =>
  cover === undefined ? usdPerHour : usdPerHour - cover.usdPerHour + usdPerHour / COVERED_PRICE_DIVISOR;

/** The claims of a solve, kept in the order in which pods try them: those with fewer pods first. */
import type { Claim } from './claim.ts';

export class Claims {
  /** In order of creation. */
  readonly all: Claim[] = [];
  /** In order of trial: by number of pods; of equals, as a stable sort before each trial would leave them. */
  readonly #order: Claim[] = [];

  get inOrder(): readonly Claim[] {
    return this.#order;
  }

  open(claim: Claim): void {
    this.all.push(claim);
    this.#order.push(claim);
    this.#moveForward(this.#order.length - 1);
  }

  /** To be called when the claim at a position of the order has got a pod more. */
  grown(position: number): void {
    const claim = this.#order[position];
    if (claim === undefined) return;
    let at = position;
    for (;;) {
      const next = this.#order[at + 1];
      if (next === undefined || next.pods.length >= claim.pods.length) break;
      this.#order[at] = next;
      at++;
    }
    this.#order[at] = claim;
  }

  /** A new claim comes after the others with as many pods. */
  #moveForward(position: number): void {
    const claim = this.#order[position];
    if (claim === undefined) return;
    let at = position;
    for (;;) {
      const before = this.#order[at - 1];
      if (before === undefined || before.pods.length <= claim.pods.length) break;
      this.#order[at] = before;
      at--;
    }
    this.#order[at] = claim;
  }
}

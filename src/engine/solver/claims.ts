/** Claims of a solve in their order of trial: claims with fewer pods first. */
import type { Claim } from './claim.ts';

/** Claims with the same number of pods. Claims are added at both ends and removed at any position. */
class Bucket {
  #items: (Claim | undefined)[] = new Array(16);
  #head = 8;
  #end = 8;

  get length(): number {
    return this.#end - this.#head;
  }

  copy(): Bucket {
    const copy = new Bucket();
    copy.#items = [...this.#items];
    copy.#head = this.#head;
    copy.#end = this.#end;
    return copy;
  }

  at(index: number): Claim | undefined {
    return this.#items[this.#head + index];
  }

  push(claim: Claim): void {
    if (this.#end === this.#items.length) this.#widen();
    this.#items[this.#end++] = claim;
  }

  unshift(claim: Claim): void {
    if (this.#head === 0) this.#widen();
    this.#items[--this.#head] = claim;
  }

  /** Grows the array, with the same room at both ends. */
  #widen(): void {
    const { length } = this;
    const wider: (Claim | undefined)[] = new Array(2 * length + 32);
    const head = (length >> 1) + 16;
    for (let at = 0; at < length; at++) wider[head + at] = this.at(at);
    this.#items = wider;
    this.#head = head;
    this.#end = head + length;
  }

  /** Closes the gap from the side with fewer claims to move. */
  remove(index: number): void {
    const items = this.#items;
    const gap = this.#head + index;
    if (index < this.length - index) {
      items.copyWithin(this.#head + 1, this.#head, gap);
      items[this.#head++] = undefined;
    } else {
      items.copyWithin(gap, gap + 1, this.#end);
      items[--this.#end] = undefined;
    }
  }
}

export class Claims {
  /** Claims in order of creation. */
  readonly all: Claim[] = [];
  /** Claims in order of trial, by number of pods. Ties have the order of a stable sort before each trial. */
  readonly #buckets: Bucket[] = [];

  #bucket(pods: number): Bucket {
    while (this.#buckets.length <= pods) this.#buckets.push(new Bucket());
    return this.#buckets[pods] as Bucket;
  }

  /** Returns a function that removes all claims that are added until it is called, and restores the order of trial. */
  restorePoint(): () => void {
    const count = this.all.length;
    const buckets = this.#buckets.map((bucket) => bucket.copy());
    return () => {
      this.all.length = count;
      this.#buckets.splice(0, this.#buckets.length, ...buckets);
    };
  }

  /** Adds a new claim after all claims with the same number of pods. */
  open(claim: Claim): void {
    this.all.push(claim);
    this.#bucket(claim.pods.length).push(claim);
  }

  /**
   * Offers claims in order until `takes` returns true, which means that the claim now has one more pod. Returns true if a claim
   * was taken.
   */
  offer(takes: (claim: Claim) => boolean): boolean {
    for (const bucket of this.#buckets) {
      for (let index = 0; index < bucket.length; index++) {
        const claim = bucket.at(index);
        if (claim === undefined || !takes(claim)) continue;
        bucket.remove(index);
        // a claim with a new pod comes before all claims with the same number of pods
        this.#bucket(claim.pods.length).unshift(claim);
        return true;
      }
    }
    return false;
  }
}

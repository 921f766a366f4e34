/** Claims of a solve in their order of trial: claims with fewer pods first. */
import type { Claim } from './claim.ts';

/** Indexes of claims with the same number of pods. Claims are added at both ends and removed at any position. */
class Bucket {
  #items = new Int32Array(16);
  #head = 8;
  #end = 8;

  get length(): number {
    return this.#end - this.#head;
  }

  copy(): Bucket {
    const copy = new Bucket();
    copy.#items = this.#items.slice();
    copy.#head = this.#head;
    copy.#end = this.#end;
    return copy;
  }

  at(index: number): number {
    return this.#items[this.#head + index] as number;
  }

  push(claim: number): void {
    if (this.#end === this.#items.length) this.#widen();
    this.#items[this.#end++] = claim;
  }

  unshift(claim: number): void {
    if (this.#head === 0) this.#widen();
    this.#items[--this.#head] = claim;
  }

  /** Grows the array, with the same room at both ends. */
  #widen(): void {
    const { length } = this;
    const wider = new Int32Array(2 * length + 32);
    const head = (length >> 1) + 16;
    wider.set(this.#items.subarray(this.#head, this.#end), head);
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
      this.#head++;
    } else {
      items.copyWithin(gap, gap + 1, this.#end);
      this.#end--;
    }
  }
}

/** Pod that needs a claim. The tests are ordered by their cost. */
interface Offer {
  /** 1 at the index of each claim that refuses the pod. `takes` may add claims. */
  readonly closed: Uint8Array;
  /** `search` at the id of each shape whose claims refuse the pod. `takes` may add shapes. */
  readonly refusing: readonly number[];
  readonly search: number;
  /** Returns true if the claim now has one more pod. */
  readonly takes: (claim: Claim) => boolean;
}

export class Claims {
  /** Claims in order of creation. */
  readonly all: Claim[] = [];
  /** Ids of the shapes of the claims, so that the search for a claim reads no objects. */
  readonly #shapes: number[] = [];
  /** Claims in order of trial, by number of pods. Ties have the order of a stable sort before each trial. */
  readonly #buckets: Bucket[] = [];

  #bucket(pods: number): Bucket {
    while (this.#buckets.length <= pods) this.#buckets.push(new Bucket());
    return this.#buckets[pods] as Bucket;
  }

  /**
   * Returns a function that removes all claims that are added until it is called, and restores the order of trial. The claims
   * must have their former states then.
   */
  restorePoint(): () => void {
    const count = this.all.length;
    const buckets = this.#buckets.map((bucket) => bucket.copy());
    return () => {
      this.all.length = count;
      this.#shapes.length = count;
      for (const claim of this.all) this.#readShape(claim);
      this.#buckets.splice(0, this.#buckets.length, ...buckets);
    };
  }

  #readShape({ index, state }: Claim): void {
    this.#shapes[index] = state.shape.id;
  }

  /** Adds a new claim after all claims with the same number of pods. */
  open(claim: Claim): void {
    this.all.push(claim);
    this.#readShape(claim);
    this.#bucket(claim.pods.length).push(claim.index);
  }

  /** Offers a pod to claims in order until one of them takes it. Returns true if a claim took it. */
  offer({ closed, refusing, search, takes }: Offer): boolean {
    for (const bucket of this.#buckets) {
      for (let at = 0; at < bucket.length; at++) {
        const index = bucket.at(at);
        if (closed[index] === 1 || refusing[this.#shapes[index] as number] === search) continue;
        const claim = this.all[index] as Claim;
        if (!takes(claim)) continue;
        this.#readShape(claim);
        bucket.remove(at);
        // a claim with a new pod comes before all claims with the same number of pods
        this.#bucket(claim.pods.length).unshift(index);
        return true;
      }
    }
    return false;
  }
}

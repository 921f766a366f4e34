/** Fixed-size sets of small integers, for sets of instance types. */

export class BitSet {
  readonly words: Uint32Array;

  constructor(size: number | Uint32Array) {
    this.words = typeof size === 'number' ? new Uint32Array((size + 31) >>> 5) : size;
  }

  static full(size: number): BitSet {
    const set = new BitSet(size);
    for (let at = 0; at < size; at++) set.add(at);
    return set;
  }

  add(at: number): void {
    const word = at >>> 5;
    this.words[word] = (this.words[word] ?? 0) | (1 << (at & 31));
  }

  has(at: number): boolean {
    return ((this.words[at >>> 5] ?? 0) & (1 << (at & 31))) !== 0;
  }

  clone(): BitSet {
    return new BitSet(this.words.slice());
  }

  /** Keeps the members that `other` also has. Modifies this set, as does the next method. */
  and(other: BitSet): this {
    for (let word = 0; word < this.words.length; word++) {
      this.words[word] = (this.words[word] ?? 0) & (other.words[word] ?? 0);
    }
    return this;
  }

  or(other: BitSet): this {
    for (let word = 0; word < this.words.length; word++) {
      this.words[word] = (this.words[word] ?? 0) | (other.words[word] ?? 0);
    }
    return this;
  }

  get isEmpty(): boolean {
    for (let word = 0; word < this.words.length; word++) if (this.words[word] !== 0) return false;
    return true;
  }

  intersects(other: BitSet): boolean {
    for (let word = 0; word < this.words.length; word++) {
      if (((this.words[word] ?? 0) & (other.words[word] ?? 0)) !== 0) return true;
    }
    return false;
  }

  equals(other: BitSet): boolean {
    for (let word = 0; word < this.words.length; word++) if (this.words[word] !== other.words[word]) return false;
    return true;
  }

  /** Members in ascending order, as a list. */
  get members(): number[] {
    const members: number[] = [];
    for (let word = 0; word < this.words.length; word++) {
      let bits = this.words[word] as number;
      while (bits !== 0) {
        const lowest = bits & -bits;
        members.push((word << 5) + (31 - Math.clz32(lowest)));
        bits ^= lowest;
      }
    }
    return members;
  }

  /** Members in ascending order. */
  *[Symbol.iterator](): Generator<number> {
    for (let word = 0; word < this.words.length; word++) {
      let bits = this.words[word] ?? 0;
      while (bits !== 0) {
        const lowest = bits & -bits;
        yield (word << 5) + (31 - Math.clz32(lowest));
        bits ^= lowest;
      }
    }
  }
}

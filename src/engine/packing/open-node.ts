/** Node under construction: its remaining capacity, and the kinds of pods that may still fit. */
import type { Amounts } from '../solver/dimensions.ts';
import type { PodKind } from './problem.ts';

/** Order to fill a node: by worth per scarce capacity, or pods with the highest worth first. */
export type Filling = 'scarcity' | 'dearest';

/** Pods of one purchase. */
export interface Demand {
  /** Worth of a pod, per kind. */
  readonly worth: Float64Array;
  readonly filling: Filling;
}

const TINY = 1e-9;
/** Array elements that can be read or written in the time of a check. */
const ELEMENTS_PER_CHECK = 8;

/** Requests of the pods of all kinds, in sparse form, because most kinds request few of the resources. */
interface Wants {
  /** First index of each kind in `positions` and `amounts`, and the length of these arrays. */
  readonly starts: Int32Array;
  readonly positions: Int32Array;
  readonly amounts: Float64Array;
}

function wantsOf(kinds: readonly PodKind[]): Wants {
  const starts = [0];
  const positions: number[] = [];
  const requested: number[] = [];
  for (const { amounts } of kinds) {
    for (const [at, amount] of amounts.entries()) {
      if (amount <= 0) continue;
      positions.push(at);
      requested.push(amount);
    }
    starts.push(positions.length);
  }
  return {
    starts: Int32Array.from(starts),
    positions: Int32Array.from(positions),
    amounts: Float64Array.from(requested),
  };
}

export class OpenNode {
  readonly #wants: Wants;
  readonly #rest: Amounts;
  /** One divided by the remaining capacity. */
  readonly #perRest: Float64Array;
  /** Kinds that may still fit. */
  readonly #kinds: Int32Array;
  /** Last value of each of these kinds. A value only falls while the node fills up. */
  readonly #values: Float64Array;
  #size = 0;
  /** Position of the last kind that was chosen. */
  #last = 0;
  /** Part of the remaining capacity that a pod of this kind uses. */
  #load = 0;
  /** Work since the start of the node, in checks of a kind. */
  checks = 0;

  constructor(kinds: readonly PodKind[]) {
    this.#wants = wantsOf(kinds);
    this.#rest = new Float64Array(kinds[0]?.amounts.length ?? 0);
    this.#perRest = new Float64Array(this.#rest.length);
    this.#kinds = new Int32Array(kinds.length);
    this.#values = new Float64Array(kinds.length);
  }

  /** Begins a node. @param left number of open pods, per kind */
  start(room: Amounts, among: readonly number[], left: Int32Array): void {
    this.#rest.set(room);
    for (let at = 0; at < room.length; at++) this.#perRest[at] = 1 / (room[at] as number);
    this.#size = 0;
    this.#last = 0;
    for (const kind of among) {
      if ((left[kind] as number) === 0) continue;
      this.#kinds[this.#size] = kind;
      this.#values[this.#size++] = Number.POSITIVE_INFINITY;
    }
    this.checks = (room.length + left.length) / ELEMENTS_PER_CHECK;
  }

  restAt(at: number): number {
    return this.#rest[at] ?? 0;
  }

  /**
   * Adds pods of the kind with the highest value, and returns the kind. Returns -1 if no pod fits.
   * @param counts pods on the node, per kind
   * @param left number of open pods, per kind
   */
  add(counts: Int32Array, left: Int32Array, demand: Demand): number {
    const best = this.#next(counts, left, demand);
    if (best < 0) return -1;
    const kind = this.#kinds[best] as number;
    // half of the fitting number, because scarcity changes while the node fills up
    const fitting = Math.floor(1 / Math.max(this.#load, TINY) + TINY);
    const batch = Math.max(1, Math.min(fitting >> 1, (left[kind] as number) - (counts[kind] as number)));
    counts[kind] = (counts[kind] as number) + batch;
    this.#take(kind, batch);
    return kind;
  }

  /** Returns the position of the kind with the highest value, or -1. Kinds whose last value is too low are skipped. */
  #next(counts: Int32Array, left: Int32Array, { worth, filling }: Demand): number {
    const [kinds, values, size] = [this.#kinds, this.#values, this.#size];
    const isDearest = filling === 'dearest';
    let best = -1;
    let highest = 0;
    // begins with the last kind, because its value is likely to exclude most of the other kinds
    for (let step = size === 0 ? 0 : -1; step < size; step++) {
      const at = step < 0 ? this.#last : step;
      if (!isBefore(values[at] as number, at, highest, best)) continue;
      this.checks++;
      const kind = kinds[at] as number;
      const load = this.#loadOf(kind);
      const each = worth[kind] as number;
      let value = isDearest ? each : each / (load + TINY);
      // a kind without room never gets room again on this node
      if (load > 1 || (counts[kind] as number) >= (left[kind] as number)) value = -1;
      values[at] = value;
      if (!isBefore(value, at, highest, best)) continue;
      best = at;
      highest = value;
      this.#load = load;
    }
    this.checks += size / ELEMENTS_PER_CHECK;
    this.#last = Math.max(0, best);
    return best;
  }

  /** Returns the largest part of a capacity that a pod uses. Returns a value above 1 if the pod does not fit. */
  loadOn(there: Amounts, kind: number): number {
    const { starts, positions, amounts } = this.#wants;
    let load = 0;
    for (let index = starts[kind] as number; index < (starts[kind + 1] as number); index++)
      load = Math.max(load, (amounts[index] as number) / (there[positions[index] as number] as number));
    return load;
  }

  /** Returns the load on the remaining capacity. Multiplies, because this is the innermost loop of the search. */
  #loadOf(kind: number): number {
    const { starts, positions, amounts } = this.#wants;
    const perRest = this.#perRest;
    const end = starts[kind + 1] as number;
    let load = 0;
    for (let index = starts[kind] as number; index < end; index++) {
      const part = (amounts[index] as number) * (perRest[positions[index] as number] as number);
      if (part > load) load = part;
    }
    return load;
  }

  #take(kind: number, times: number): void {
    const { starts, positions, amounts } = this.#wants;
    for (let index = starts[kind] as number; index < (starts[kind + 1] as number); index++) {
      const at = positions[index] as number;
      const rest = (this.#rest[at] as number) - times * (amounts[index] as number);
      this.#rest[at] = rest;
      this.#perRest[at] = rest > 0 ? 1 / rest : Number.POSITIVE_INFINITY;
    }
  }
}

/** Returns true if a value at a position is better than the best one. For equal values, the first position wins. */
const isBefore = (value: number, at: number, highest: number, best: number): boolean =>
  value > highest || (value === highest && at < best);

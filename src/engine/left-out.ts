/** Tracks objects that cannot be compiled. Only the object itself is omitted from a solve, and the plan lists it. */

import type { ObjectMeta } from '#api/objects';
import { messageOf } from '#lib';
import type { LeftOut } from './model.ts';

export class LeftOuts {
  readonly #found: LeftOut[] = [];

  /** Applies the function to each item and returns the results. Omits items for which the function throws. */
  kept<T, R>(items: readonly T[], named: (item: T) => Omit<LeftOut, 'text'>, work: (item: T) => R): R[] {
    const kept: R[] = [];
    for (const item of items) {
      try {
        kept.push(work(item));
      } catch (error) {
        this.#found.push({ ...named(item), text: messageOf(error) });
      }
    }
    return kept;
  }

  get all(): readonly LeftOut[] {
    return this.#found;
  }

  has(kind: LeftOut['kind'], name: string): boolean {
    return this.#found.some((object) => object.kind === kind && object.name === name);
  }
}

export const leftOutName = (
  kind: LeftOut['kind'],
  { namespace, name }: Pick<ObjectMeta, 'namespace' | 'name'>,
): Omit<LeftOut, 'text'> => ({ kind, name, ...(namespace === undefined ? {} : { namespace }) });

/** Objects that cannot be compiled: each is left out of a solve alone, and named in the plan. */

import type { ObjectMeta } from '../api/kubernetes.ts';
import { messageOf } from '../lib/error-message.ts';
import type { LeftOut } from './model.ts';

export class LeftOuts {
  readonly #found: LeftOut[] = [];

  /** What the work makes of each item; those for which it throws are left out. */
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

/**
 * Returns true if two lists have identical items in the same order. Caches and solves use this check to keep results for
 * lists that did not change.
 */
export const sameItems = (one: readonly unknown[], other: readonly unknown[]): boolean =>
  one === other || (one.length === other.length && one.every((item, at) => item === other[at]));

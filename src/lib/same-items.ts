/** Whether two lists hold the very same things in the same order: caches and solves keep what has not changed. */
export const sameItems = (one: readonly unknown[], other: readonly unknown[]): boolean =>
  one === other || (one.length === other.length && one.every((item, at) => item === other[at]));

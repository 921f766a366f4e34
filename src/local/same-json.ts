/** Returns true if two values have the same JSON. Unchanged values are shared, so most comparisons end at identity. */
export const sameJson = (one: unknown, other: unknown): boolean =>
  one === other || JSON.stringify(one) === JSON.stringify(other);

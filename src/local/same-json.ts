/** Whether two values are written alike. The world shares what it does not change, so that most of them are the same one. */
export const sameJson = (one: unknown, other: unknown): boolean =>
  one === other || JSON.stringify(one) === JSON.stringify(other);

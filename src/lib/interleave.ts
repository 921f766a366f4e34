/** Returns the items of all lists in turn: the first item of each list, then the second of each, and so on. */
export function interleave<T>(lists: readonly (readonly T[])[]): readonly T[] {
  const longest = lists.reduce((most, { length }) => Math.max(most, length), 0);
  return Array.from({ length: longest }, (_, at) => lists.flatMap((list) => list.slice(at, at + 1))).flat();
}

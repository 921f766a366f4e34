/** Caches one result for each object. */

/**
 * Returns a function that caches the last result of `compute` for each object. It computes the result again if another
 * argument is not identical to that of the last call. The objects must never change. A result lives as long as its object.
 *
 * @example
 * ```ts
 * const priceOf = remembering((node: StateNode, type: InstanceType) => computePrice(node, type));
 * priceOf(node, type); // computes
 * priceOf(node, type); // returns the cached result
 * ```
 */
export function remembering<T extends object, Rest extends readonly unknown[], Result>(
  compute: (object: T, ...rest: Rest) => Result,
): (object: T, ...rest: Rest) => Result {
  const last = new WeakMap<T, { readonly rest: Rest; readonly result: Result }>();
  return (object, ...rest) => {
    const known = last.get(object);
    if (known !== undefined && isSame(known.rest, rest)) return known.result;
    const result = compute(object, ...rest);
    last.set(object, { rest, result });
    return result;
  };
}

/** Compares in a loop for speed, because some results are read a hundred thousand times per minute. */
function isSame(known: readonly unknown[], rest: readonly unknown[]): boolean {
  if (known.length !== rest.length) return false;
  for (let at = 0; at < rest.length; at++) if (!Object.is(known[at], rest[at])) return false;
  return true;
}

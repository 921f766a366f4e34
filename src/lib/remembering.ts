/** Computing something of an object once. */

/**
 * The same function, which remembers its last result for each object: it computes again when what it is given besides the
 * object is not identical to the last time. For functions of objects that never change; a result lives as long as its object.
 *
 * @example
 * ```ts
 * const priceOf = remembering((node: StateNode, type: InstanceType) => dearlyComputed(node, type));
 * priceOf(node, type); // computes
 * priceOf(node, type); // remembers
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

/** In a loop, because some results are asked for a hundred thousand times a minute. */
function isSame(known: readonly unknown[], rest: readonly unknown[]): boolean {
  if (known.length !== rest.length) return false;
  for (let at = 0; at < rest.length; at++) if (!Object.is(known[at], rest[at])) return false;
  return true;
}

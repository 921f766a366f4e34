/** Returns a copy with only the named fields, as far as the object has them. */
export function picked<T extends object, K extends keyof T>(object: T, names: readonly K[]): Pick<T, K> {
  const found: Partial<T> = {};
  for (const name of names) if (object[name] !== undefined) found[name] = object[name];
  return found as Pick<T, K>;
}

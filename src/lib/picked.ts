/** Returns a copy with only the named fields. Skips fields that are absent or undefined. */
export function picked<T extends object, K extends keyof T>(object: T, names: readonly K[]): Pick<T, K> {
  const found: Partial<T> = {};
  for (const name of names) if (object[name] !== undefined) found[name] = object[name];
  return found as Pick<T, K>;
}

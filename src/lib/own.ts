/**
 * Access to objects that serve as maps: labels, annotations, resources, tags. Names such as `constructor` and `toString` are
 * valid keys of most maps, but every plain object inherits members with these names.
 */

/** Returns the value of a key if the map itself has this key, and undefined otherwise. */
export const own = <T>(map: Readonly<Record<string, T>> | undefined, key: string): T | undefined =>
  map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined;

/** Sets a key of any name. A plain assignment to `__proto__` would change the prototype of the map instead. */
export function put<T>(map: Record<string, T>, key: string, value: T): void {
  if (key === '__proto__')
    Object.defineProperty(map, key, { value, writable: true, enumerable: true, configurable: true });
  else map[key] = value;
}

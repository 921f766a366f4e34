/**
 * Objects that serve as maps: labels, annotations, resources, tags. `constructor`, `toString` and the like are valid keys
 * of most of them, and every plain object inherits members of these names.
 */

/** The value of a key that the map itself has. */
export const own = <T>(map: Readonly<Record<string, T>> | undefined, key: string): T | undefined =>
  map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined;

/** Sets a key, whatever its name: to assign `__proto__` would change what the map inherits. */
export function put<T>(map: Record<string, T>, key: string, value: T): void {
  if (key === '__proto__')
    Object.defineProperty(map, key, { value, writable: true, enumerable: true, configurable: true });
  else map[key] = value;
}

/**
 * Replaces equal strings in API objects with one shared string. A parser creates a new string for each value. Without this
 * replacement, the 60 instance types of a NodeClaim and the texts of a pod's conditions would be in memory once for each of
 * thousands of objects.
 */
import { LRUCache } from 'lru-cache';

/** Length limits of interned strings. V8's parser shares shorter strings; longer strings are texts that rarely repeat. */
const SHORTEST = 10;
const LONGEST = 100;
/** Maximum depth of interned strings. Kubernetes objects have fewer levels; other objects may have thousands. */
const DEEPEST = 16;
/** Fields with values that are unique to one object. */
const UNIQUE: ReadonlySet<string> = new Set(['uid', 'resourceVersion', 'podIP', 'ip', 'containerID', 'providerID']);
/** Interned strings. The cache evicts the least recently used string, because node names change over time. */
const strings = new LRUCache<string, string>({ max: 20_000 });

/** Parts that many objects share. Their strings were replaced when the first object was processed. */
const done = new WeakSet<object>();

/** Interns the strings of a part that many objects share. Calls of `internStrings` for these objects skip this part. */
export function internShared<T extends object>(part: T): T {
  done.add(internStrings(part));
  return part;
}

/**
 * Replaces the strings of an object in place and returns the object. Includes the strings of nested objects, unless `extent`
 * is `flat`.
 */
export function internStrings<T extends object>(object: T, extent: 'flat' | 'deep' = 'deep'): T {
  intern(object as Record<string, unknown>, extent === 'flat' ? 0 : DEEPEST);
  return object;
}

function intern(fields: Record<string, unknown>, levels: number): void {
  for (const key in fields) {
    const value = fields[key];
    if (typeof value === 'string') {
      if (value.length > SHORTEST && value.length <= LONGEST && !isUnique(key, fields))
        fields[key] = internString(value);
    } else if (levels > 0 && typeof value === 'object' && value !== null && !done.has(value))
      intern(value as Record<string, unknown>, levels - 1);
  }
}

/** Returns true for unique values. Pod names are among them: they are so many that they would evict all other strings. */
const isUnique = (key: string, fields: Record<string, unknown>): boolean =>
  UNIQUE.has(key) || (key === 'name' && 'uid' in fields && 'namespace' in fields);

/** Returns one string for all equal strings. */
export function internString(text: string): string {
  const known = strings.get(text);
  if (known !== undefined) return known;
  strings.set(text, text);
  return text;
}

/**
 * One string for all equal ones in objects of the API server. A parser makes a new string for each value: the 60 instance
 * types of a NodeClaim and the texts of a pod's conditions stand in memory again with each of thousands of objects.
 */
import { LRUCache } from 'lru-cache';

/** Shorter ones are shared by V8's parser; longer ones are texts that hardly ever come twice. */
const SHORTEST = 10;
const LONGEST = 100;
/** Levels that are looked at: objects of Kubernetes have fewer, and others may have thousands. */
const DEEPEST = 16;
/** Values that no two objects have in common. */
const UNIQUE: ReadonlySet<string> = new Set(['uid', 'resourceVersion', 'podIP', 'ip', 'containerID', 'providerID']);
/** Names of nodes come and go: what has not been read for longest is forgotten. */
const strings = new LRUCache<string, string>({ max: 20_000 });

/** Parts that many objects share, whose strings were replaced when the first of these came. */
const done = new WeakSet<object>();

/** The same, for a part that comes again and again in other objects: these do not look into it. */
export function internShared<T extends object>(part: T): T {
  done.add(internStrings(part));
  return part;
}

/** The object itself. Its strings, and those of all that it holds unless `flat`, are replaced by equal ones in place. */
export function internStrings<T extends object>(object: T, extent: 'flat' | 'deep' = 'deep'): T {
  intern(object as Record<string, unknown>, extent === 'flat' ? 0 : DEEPEST);
  return object;
}

function intern(fields: Record<string, unknown>, levels: number): void {
  for (const key in fields) {
    const value = fields[key];
    if (typeof value === 'string') {
      if (value.length > SHORTEST && value.length <= LONGEST && !isUnique(key, fields)) fields[key] = interned(value);
    } else if (levels > 0 && typeof value === 'object' && value !== null && !done.has(value))
      intern(value as Record<string, unknown>, levels - 1);
  }
}

/** The names of pods among them: there are so many that all other strings would be forgotten. */
const isUnique = (key: string, fields: Record<string, unknown>): boolean =>
  UNIQUE.has(key) || (key === 'name' && 'uid' in fields && 'namespace' in fields);

function interned(text: string): string {
  const known = strings.get(text);
  if (known !== undefined) return known;
  strings.set(text, text);
  return text;
}

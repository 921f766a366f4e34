/**
 * Finds the object that belongs to a file if several objects have the same name, because folders may contain
 * manifests of several clusters.
 */
import { dirname, sep } from 'node:path';

/** Counts the leading folders that two paths share. */
function countShared(a: string, b: string): number {
  const [left, right] = [dirname(a).split(sep), dirname(b).split(sep)];
  const differ = left.findIndex((part, index) => part !== right[index]);
  return differ < 0 ? left.length : differ;
}

/** Returns the candidate with the closest path. Returns the first of several equal candidates. */
export function closestTo<T>(path: string, candidates: readonly T[], pathOf: (one: T) => string): T | undefined {
  const rank = (one: T): number => (pathOf(one) === path ? Number.POSITIVE_INFINITY : countShared(pathOf(one), path));
  return candidates.reduce<T | undefined>(
    (best, one) => (best === undefined || rank(one) > rank(best) ? one : best),
    undefined,
  );
}

/** Returns true if two files are in the same folder. This means that they belong to the same set of manifests. */
export const isBeside = (a: string, b: string): boolean => dirname(a) === dirname(b);

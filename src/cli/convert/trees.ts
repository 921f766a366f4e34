/** Which of several objects of one name belongs to a file: folders may hold the manifests of several clusters. */
import { dirname, sep } from 'node:path';

/** Folders that two paths have in common, from the root on. */
function shared(a: string, b: string): number {
  const [left, right] = [dirname(a).split(sep), dirname(b).split(sep)];
  const differ = left.findIndex((part, index) => part !== right[index]);
  return differ < 0 ? left.length : differ;
}

/** The one whose file is the closest by folders; the first of equals. */
export function closestTo<T>(path: string, candidates: readonly T[], pathOf: (one: T) => string): T | undefined {
  const rank = (one: T): number => (pathOf(one) === path ? Number.POSITIVE_INFINITY : shared(pathOf(one), path));
  return candidates.reduce<T | undefined>(
    (best, one) => (best === undefined || rank(one) > rank(best) ? one : best),
    undefined,
  );
}

/** Whether two files are of one set of manifests: in one folder. */
export const isBeside = (a: string, b: string): boolean => dirname(a) === dirname(b);

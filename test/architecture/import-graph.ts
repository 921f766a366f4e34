/** What the files of src import, type imports included. Paths are relative to src. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

export const SRC = resolve(import.meta.dirname, '../../src');

export interface Import {
  readonly from: string;
  /** A path for files of src, else the package's name. */
  readonly target: string;
}

export const sources: readonly string[] = readdirSync(SRC, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => join(entry.parentPath, entry.name));

export const imports: readonly Import[] = sources.flatMap((file) =>
  [...readFileSync(file, 'utf8').matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => ({
    from: relative(SRC, file),
    target: match[1]?.startsWith('.') ? relative(SRC, resolve(dirname(file), match[1])) : (match[1] ?? ''),
  })),
);

export const isInside = (target: string): boolean => target.endsWith('.ts');

/** The shortest way from a file back to itself, per file that is on such a circle and on none that was found before. */
export function circlesOf(edges: readonly Import[]): readonly (readonly string[])[] {
  const targets = new Map<string, string[]>();
  for (const { from, target } of edges) targets.set(from, [...(targets.get(from) ?? []), target]);
  const found: (readonly string[])[] = [];
  for (const start of targets.keys()) {
    if (found.some((circle) => circle.includes(start))) continue;
    const circle = wayBack(start, targets);
    if (circle !== undefined) found.push(circle);
  }
  return found;
}

function wayBack(start: string, targets: ReadonlyMap<string, readonly string[]>): readonly string[] | undefined {
  const cameFrom = new Map<string, string>();
  const open = [start];
  for (const at of open) {
    for (const next of targets.get(at) ?? []) {
      if (next === start) return pathTo(at, start, cameFrom);
      if (cameFrom.has(next)) continue;
      cameFrom.set(next, at);
      open.push(next);
    }
  }
  return undefined;
}

function pathTo(end: string, start: string, cameFrom: ReadonlyMap<string, string>): readonly string[] {
  const path = [end];
  while (path[0] !== start) path.unshift(cameFrom.get(path[0] as string) as string);
  return path;
}

/** Pairs of folders with the same parent whose files import each other in both directions, with the imports of either. */
export function mutualFolders(
  edges: readonly Import[],
): readonly { readonly folders: string; readonly imports: readonly string[] }[] {
  const between = new Map<string, string[]>();
  for (const { from, target } of edges) {
    const [one, other] = siblings(from, target);
    if (one === undefined || other === undefined) continue;
    const key = `${one} → ${other}`;
    between.set(key, [...(between.get(key) ?? []), `${from} → ${target}`]);
  }
  return [...between].flatMap(([key, there]) => {
    const [one = '', other = ''] = key.split(' → ');
    const back = between.get(`${other} → ${one}`);
    return back === undefined || one > other ? [] : [{ folders: `${one} ⇄ ${other}`, imports: [...there, ...back] }];
  });
}

/** The folders in which the ways to two files part; none where one of the files lies above the other. */
function siblings(from: string, target: string): readonly string[] {
  const [one, other] = [dirname(from).split('/'), dirname(target).split('/')];
  const depth = one.findIndex((name, at) => name !== other[at]);
  if (depth < 0 || depth >= other.length || one[0] === '.' || other[0] === '.') return [];
  return [one, other].map((names) => names.slice(0, depth + 1).join('/'));
}

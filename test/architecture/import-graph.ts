/** Imports of the files of src, including type imports and re-exports of entries. Paths are relative to src. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

export const SRC = resolve(import.meta.dirname, '../../src');

export interface Import {
  readonly from: string;
  /** Path of a file in src, or name of a package. */
  readonly target: string;
}

const ROOT = join(SRC, '..');
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly imports: Readonly<Record<string, string>>;
};

/** Returns the file of an entry such as `#engine/solve`, by the map that Node.js uses, or undefined for other names. */
function entryFile(name: string): string | undefined {
  const exact = manifest.imports[name];
  if (exact !== undefined) return join(ROOT, exact);
  const slash = name.indexOf('/');
  const pattern = manifest.imports[`${name.slice(0, slash)}/*`];
  return slash < 0 || pattern === undefined ? undefined : join(ROOT, pattern.replace('*', name.slice(slash + 1)));
}

/** Returns the imports of a file of src or of tests. */
export const importsOf = (file: string): readonly Import[] =>
  [...readFileSync(file, 'utf8').matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(([, name = '']) => {
    const path = name.startsWith('.') ? resolve(dirname(file), name) : entryFile(name);
    return { from: relative(SRC, file), target: path === undefined ? name : relative(SRC, path) };
  });

export const sources: readonly string[] = readdirSync(SRC, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => join(entry.parentPath, entry.name));

export const imports: readonly Import[] = sources.flatMap(importsOf);

export const isInside = (target: string): boolean => target.endsWith('.ts');

/** Returns the shortest import circle through each file, except files on circles that were found before. */
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

/**
 * Returns pairs of folders with the same parent whose files import each other in both directions, with these imports.
 */
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

/** Returns the folders in which the paths of both files diverge. Returns no folders if one path contains the other. */
function siblings(from: string, target: string): readonly string[] {
  const [one, other] = [dirname(from).split('/'), dirname(target).split('/')];
  const depth = one.findIndex((name, at) => name !== other[at]);
  if (depth < 0 || depth >= other.length || one[0] === '.' || other[0] === '.') return [];
  return [one, other].map((names) => names.slice(0, depth + 1).join('/'));
}

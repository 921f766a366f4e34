/** Walks every import of src and holds it against the allowed directions of docs/architecture.md. */
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { circlesOf, imports, isInside, mutualFolders, SRC, sources } from './import-graph.ts';

/** Which areas each area may import; its own files are always allowed. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  api: [],
  engine: ['api'],
  state: ['engine', 'api', 'kube', 'observe'],
  kube: ['api', 'observe'],
  cloud: ['api', 'engine', 'observe'],
  'engine-worker': ['engine', 'kube', 'api', 'observe'],
  controllers: ['engine-worker', 'state', 'engine', 'kube', 'cloud', 'api', 'observe'],
  aws: ['cloud', 'engine', 'kube', 'api', 'observe'],
  live: ['state', 'engine', 'kube', 'api', 'observe'],
  local: ['api', 'observe', 'kube'],
  observe: ['api'],
  replay: ['local', 'aws', 'controllers', 'engine-worker', 'cloud', 'engine', 'state', 'kube', 'api', 'observe'],
  cli: ['replay', 'local', 'aws', 'engine', 'state', 'kube', 'api', 'observe'],
};
/** Entry points, which see everything. The demo starts the operator as a process of its own. */
const ENTRIES = new Set(['main.ts', 'operator-process.ts', 'program.ts', 'cli.ts', 'version.ts']);

/** Packages that talk to the outside or keep time; pure areas may not import them. */
const IMPURE = /^(node:(?!assert|util)|@aws-sdk|@kubernetes|pino|prom-client|undici)/;

const areaOf = (path: string): string => path.split('/')[0] ?? path;

describe('imports', () => {
  it('finds the sources', () => {
    expect(sources.length).toBeGreaterThan(20);
    expect(imports.length).toBeGreaterThan(50);
  });

  it('follow the allowed directions', () => {
    const wrong = imports.filter(({ from, target }) => {
      if (!isInside(target) || ENTRIES.has(from)) return false;
      const [area, other] = [areaOf(from), areaOf(target)];
      return area !== other && !(ALLOWED[area] ?? []).includes(other);
    });
    expect(wrong.map(({ from, target }) => `${from} → ${target}`)).toEqual([]);
  });

  it('never name the entry point', () => {
    expect(imports.filter(({ from, target }) => target === 'main.ts' && !ENTRIES.has(from))).toEqual([]);
  });

  it('resolve to files that exist', () => {
    const known = new Set(sources.map((file) => relative(SRC, file)));
    expect(imports.filter(({ target }) => isInside(target) && !known.has(target))).toEqual([]);
  });

  it('keep engine and api pure', () => {
    const wrong = imports.filter(
      ({ from, target }) => (areaOf(from) === 'engine' || areaOf(from) === 'api') && IMPURE.test(target),
    );
    expect(wrong.map(({ from, target }) => `${from} → ${target}`)).toEqual([]);
  });
});

describe('circles', () => {
  const edge = (text: string) => {
    const [from = '', target = ''] = text.split(' → ');
    return { from, target };
  };
  const inside = imports.filter(({ target }) => isInside(target));

  it('are found through several files', () => {
    const edges = ['a.ts → b.ts', 'b.ts → c.ts', 'c.ts → d.ts', 'c.ts → a.ts', 'e.ts → a.ts'].map(edge);
    expect(circlesOf(edges)).toEqual([['a.ts', 'b.ts', 'c.ts']]);
    expect(circlesOf(edges.slice(0, 3))).toEqual([]);
  });

  it('are found between folders with the same parent', () => {
    const edges = ['x/a/1.ts → x/b/2.ts', 'x/b/deep/3.ts → x/a/4.ts', 'x/5.ts → x/a/1.ts', 'x/a/1.ts → x/6.ts'].map(
      edge,
    );
    expect(mutualFolders(edges)).toEqual([
      { folders: 'x/a ⇄ x/b', imports: ['x/a/1.ts → x/b/2.ts', 'x/b/deep/3.ts → x/a/4.ts'] },
    ]);
    expect(mutualFolders(edges.slice(0, 1).concat(edges.slice(2)))).toEqual([]);
  });

  it('are not there between files, whose types count as well', () => {
    expect(circlesOf(inside)).toEqual([]);
  });

  it('are not there between folders with the same parent', () => {
    expect(mutualFolders(inside)).toEqual([]);
  });
});

describe('pure areas', () => {
  it.each(['Date.now(', 'Math.random(', 'process.env', 'performance.now(', 'console.'])('never use %s', (name) => {
    const users = sources.filter((file) => {
      const path = relative(SRC, file);
      return (path.startsWith('engine/') || path.startsWith('api/')) && readFileSync(file, 'utf8').includes(name);
    });
    expect(users.map((file) => relative(SRC, file))).toEqual([]);
  });
});

describe('sources', () => {
  it('hold no file of more than 600 lines', () => {
    const long = sources.filter((file) => readFileSync(file, 'utf8').split('\n').length > 600);
    expect(long.map((file) => relative(SRC, file))).toEqual([]);
  });
});

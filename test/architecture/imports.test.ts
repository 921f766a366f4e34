/** Compares every import of src with the allowed directions of docs/architecture.md. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { circlesOf, imports, isInside, mutualFolders, SRC, sources } from './import-graph.ts';

/** Areas that each area may import. Imports within an area are always allowed. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  api: ['lib'],
  engine: ['api', 'lib'],
  observe: ['api', 'lib'],
  process: ['observe', 'api', 'lib'],
  kube: ['process', 'observe', 'api', 'lib'],
  state: ['engine', 'kube', 'observe', 'api', 'lib'],
  cloud: ['engine', 'kube', 'process', 'observe', 'api', 'lib'],
  planner: ['state', 'engine', 'api', 'lib'],
  'engine-worker': ['planner', 'state', 'engine', 'kube', 'process', 'observe', 'api', 'lib'],
  controllers: ['engine-worker', 'planner', 'state', 'cloud', 'engine', 'kube', 'process', 'observe', 'api', 'lib'],
  aws: ['cloud', 'engine', 'kube', 'process', 'observe', 'api', 'lib'],
  live: ['state', 'engine', 'kube', 'process', 'observe', 'api', 'lib'],
  local: ['engine', 'kube', 'process', 'observe', 'api', 'lib'],
  replay: [
    ...['local', 'aws', 'controllers', 'engine-worker', 'planner', 'state', 'cloud', 'engine'],
    ...['kube', 'process', 'observe', 'api', 'lib'],
  ],
  cli: [
    'live',
    'replay',
    'local',
    'aws',
    'cloud',
    'planner',
    'state',
    'engine',
    'kube',
    'process',
    'observe',
    'api',
    'lib',
  ],
};
/** Entry points, which may import every area. The demo starts the operator as a separate process. */
const ENTRIES = new Set(['main.ts', 'operator-process.ts', 'program.ts', 'cli.ts', 'doctor.ts']);

/** Packages that perform I/O or read the clock. Pure areas must not import them. */
const IMPURE = /^(node:(?!assert|util)|@aws-sdk|@kubernetes|pino|prom-client|undici)/;

const areaOf = (path: string): string => path.split('/')[0] ?? path;

/** Decisions depend only on their input. This applies to the engine, the API's types, and the utilities that both import. */
const isPure = (path: string): boolean =>
  ['engine', 'api', 'planner'].includes(areaOf(path)) ||
  (areaOf(path) === 'lib' && imports.some(({ from, target }) => target === path && isPure(from)));

describe('an import', () => {
  it('exists for each source file', () => {
    expect(sources.length).toBeGreaterThan(20);
    expect(imports.length).toBeGreaterThan(50);
  });

  it('follows the allowed directions', () => {
    const wrong = imports.filter(({ from, target }) => {
      if (!isInside(target) || ENTRIES.has(from)) return false;
      const [area, other] = [areaOf(from), areaOf(target)];
      return area !== other && !(ALLOWED[area] ?? []).includes(other);
    });
    expect(wrong.map(({ from, target }) => `${from} → ${target}`)).toEqual([]);
  });

  it('never names the entry point', () => {
    expect(imports.filter(({ from, target }) => target === 'main.ts' && !ENTRIES.has(from))).toEqual([]);
  });

  it('resolves to an existing file', () => {
    const known = new Set(sources.map((file) => relative(SRC, file)));
    expect(imports.filter(({ target }) => isInside(target) && !known.has(target))).toEqual([]);
  });

  it('belongs to the dependencies if it names a package, and development tools are development dependencies', () => {
    const manifest = readFileSync(join(SRC, '../package.json'), 'utf8');
    const { dependencies } = JSON.parse(manifest) as { readonly dependencies: Readonly<Record<string, string>> };
    const packages = imports
      .map(({ target }) => /^(?:@[a-z0-9-]+\/)?[a-z0-9-]+(?=\/|$)/.exec(target)?.[0] ?? '')
      // The expression of the import graph also finds words such as "from 'string'" in messages.
      .filter((name) => name !== '' && existsSync(join(SRC, '../node_modules', name)));
    expect([...new Set(packages)].sort()).toEqual(Object.keys(dependencies).sort());
  });

  it('of TypeBox is erased, because its 370 files would load at the start of each verb', () => {
    const users = sources.filter((file) => /^import (?!type )[^;]* from 'typebox/m.test(readFileSync(file, 'utf8')));
    expect(users.map((file) => relative(SRC, file))).toEqual([]);
  });

  it('does not make the engine, the planner and the API impure', () => {
    const wrong = imports.filter(({ from, target }) => isPure(from) && IMPURE.test(target));
    expect(wrong.map(({ from, target }) => `${from} → ${target}`)).toEqual([]);
  });
});

/** Types of whole objects. Workers have only the fields that engine/input.ts declares. */
const WHOLE_OBJECTS = /^import type \{[^}]*\b(?:Pod|Node|NodeClaim|StateNode)\b[^}]*\} from/m;

it('uses in the solver the types that workers receive', () => {
  const solving = sources.filter((file) => /engine\/(?:solver\/|topology\/|packing\/|solve\.ts)/.test(file));
  expect(solving.length).toBeGreaterThan(30);
  const wrong = solving.filter((file) => WHOLE_OBJECTS.test(readFileSync(file, 'utf8')));
  expect(wrong.map((file) => relative(SRC, file))).toEqual([]);
});

describe('a circle', () => {
  const edge = (text: string) => {
    const [from = '', target = ''] = text.split(' → ');
    return { from, target };
  };
  const inside = imports.filter(({ target }) => isInside(target));

  it('is detected through several files', () => {
    const edges = ['a.ts → b.ts', 'b.ts → c.ts', 'c.ts → d.ts', 'c.ts → a.ts', 'e.ts → a.ts'].map(edge);
    expect(circlesOf(edges)).toEqual([['a.ts', 'b.ts', 'c.ts']]);
    expect(circlesOf(edges.slice(0, 3))).toEqual([]);
  });

  it('is detected between folders with the same parent', () => {
    const edges = ['x/a/1.ts → x/b/2.ts', 'x/b/deep/3.ts → x/a/4.ts', 'x/5.ts → x/a/1.ts', 'x/a/1.ts → x/6.ts'].map(
      edge,
    );
    expect(mutualFolders(edges)).toEqual([
      { folders: 'x/a ⇄ x/b', imports: ['x/a/1.ts → x/b/2.ts', 'x/b/deep/3.ts → x/a/4.ts'] },
    ]);
    expect(mutualFolders(edges.slice(0, 1).concat(edges.slice(2)))).toEqual([]);
  });

  it('does not exist between files, including type imports', () => {
    expect(circlesOf(inside)).toEqual([]);
  });

  it('does not exist between folders with the same parent', () => {
    expect(mutualFolders(inside)).toEqual([]);
  });
});

describe('a pure area', () => {
  it.each(['Date.now(', 'Math.random(', 'process.env', 'performance.now(', 'console.'])('never uses %s', (name) => {
    const users = sources.filter((file) => {
      const path = relative(SRC, file);
      return isPure(path) && readFileSync(file, 'utf8').includes(name);
    });
    expect(users.map((file) => relative(SRC, file))).toEqual([]);
  });
});

describe('a source file', () => {
  it('is in a folder that src/README.md lists', () => {
    const listed = readFileSync(join(SRC, 'README.md'), 'utf8').matchAll(/^\| `([^`]+)` \|/gm);
    const folders = readdirSync(SRC, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect([...listed].map(([, name]) => name).sort()).toEqual(folders.map(({ name }) => name).sort());
  });

  it('has at most 600 lines', () => {
    const long = sources.filter((file) => readFileSync(file, 'utf8').split('\n').length > 600);
    expect(long.map((file) => relative(SRC, file))).toEqual([]);
  });
});

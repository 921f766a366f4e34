/** Walks every import of src and holds it against the allowed directions of docs/architecture.md. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const SRC = resolve(import.meta.dirname, '../../src');

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
  local: ['api', 'observe', 'kube'],
  observe: ['api'],
  cli: ['local', 'aws', 'engine', 'state', 'api', 'observe'],
};
/** Entry points, which see everything. The demo starts the operator as a process of its own. */
const ENTRIES = new Set(['main.ts', 'cli.ts', 'version.ts']);

/** Packages that talk to the outside or keep time; pure areas may not import them. */
const IMPURE = /^(node:(?!assert|util)|@aws-sdk|@kubernetes|pino|prom-client|undici)/;

interface Import {
  readonly from: string;
  readonly target: string;
}

const sources = readdirSync(SRC, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => join(entry.parentPath, entry.name));

const imports: readonly Import[] = sources.flatMap((file) =>
  [...readFileSync(file, 'utf8').matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => ({
    from: relative(SRC, file),
    target: match[1]?.startsWith('.') ? relative(SRC, resolve(dirname(file), match[1])) : (match[1] ?? ''),
  })),
);

const areaOf = (path: string): string => path.split('/')[0] ?? path;
const isInside = (target: string): boolean => target.endsWith('.ts');

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

/** Limits of the shape of the sources. Lower a limit when the number falls. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { SRC, sources } from './import-graph.ts';

const ROOT = resolve(SRC, '..');
/** Maximum share of the functions of a file that have a single call there. */
const MOST_SINGLE_CALLS = 0.595;
/** Maximum number of exported names with declarations in several files. */
const MOST_SHARED_NAMES = 100;
/** Maximum number of values that are exported, but that only their own file and tests use. */
const MOST_EXPORTS_FOR_TESTS = 116;
/** Maximum number of casts that turn off the types of a test's argument. */
const MOST_NEVER_CASTS = 20;

const filesBelow = (folder: string): readonly string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name));
const textOf = (file: string): string => readFileSync(file, 'utf8');
const wordsIn = (text: string): ReadonlySet<string> => new Set(text.match(/[A-Za-z_$][\w$]*/g));

const src = new Map(sources.map((file) => [file, textOf(file)]));
const tests = filesBelow('test').map(textOf);

/** Returns the number of functions and private methods of a file, and of those with a single call. */
function callsIn(text: string): { readonly functions: number; readonly single: number } {
  const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
  const usesOf = (pattern: string): number => (code.match(new RegExp(pattern, 'g')) ?? []).length - 1;
  const functions = [
    ...code.matchAll(/^(?:async )?(?:function\*? (\w+)|const (\w+) = (?:async )?(?:\([^)]*\)|\w+)(?:: [^=]+)? =>)/gm),
  ].map(([, declared, constant]) => usesOf(`(?<![\\w$.])${declared ?? constant}(?![\\w$])`));
  const methods = [...code.matchAll(/^ {2}(?:async )?(#\w+)\(/gm)].map(([, name]) => usesOf(`${name}\\(`));
  const uses = [...functions, ...methods];
  return { functions: uses.length, single: uses.filter((count) => count === 1).length };
}

interface Export {
  readonly file: string;
  readonly kind: string;
  readonly name: string;
}

const EXPORT = /^export (?:async |abstract )?(const|function\*?|class|interface|type) (\w+)/gm;
const exported: readonly Export[] = [...src].flatMap(([file, text]) =>
  [...text.matchAll(EXPORT)].map(([, kind = '', name = '']) => ({ file: relative(ROOT, file), kind, name })),
);

describe('the code of src', () => {
  it('has more functions with several calls than one in three', () => {
    const found = [...src.values()].map(callsIn);
    const sum = (part: 'functions' | 'single') => found.reduce((total, counts) => total + counts[part], 0);
    expect(sum('functions')).toBeGreaterThan(1_000);
    expect(sum('single') / sum('functions')).toBeLessThan(MOST_SINGLE_CALLS);
  });

  it('gives few exported names several meanings', () => {
    const byName = Map.groupBy(exported, ({ name }) => name);
    const shared = [...byName.values()].filter((same) => new Set(same.map(({ file }) => file)).size > 1);
    expect(shared.length).toBeLessThanOrEqual(MOST_SHARED_NAMES);
  });

  it('exports few values for tests alone', () => {
    const filesOf = new Map<string, number>();
    for (const text of src.values()) for (const word of wordsIn(text)) filesOf.set(word, (filesOf.get(word) ?? 0) + 1);
    const inTests = new Set(tests.flatMap((text) => [...wordsIn(text)]));
    const alone = exported.filter(
      ({ kind, name }) => !/interface|type/.test(kind) && filesOf.get(name) === 1 && inTests.has(name),
    );
    expect(alone.length).toBeLessThanOrEqual(MOST_EXPORTS_FOR_TESTS);
  });

  it('spreads no literal to save lines', () => {
    const spreading = [...src].filter(([, text]) => /\.\.\.\{ /.test(text)).map(([file]) => relative(ROOT, file));
    expect(spreading).toEqual([]);
  });
});

describe('a test', () => {
  it('rarely turns off the types of an argument', () => {
    const casts = tests.flatMap((text) => text.match(/\bas never\b(?=[;,) ])/g) ?? []);
    expect(casts.length).toBeLessThanOrEqual(MOST_NEVER_CASTS);
  });
});

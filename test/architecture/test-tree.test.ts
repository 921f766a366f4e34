/** The tree of test/unit mirrors src. Tests of a folder of src are in the folder with the same name. */
import { existsSync, readdirSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { SRC } from './import-graph.ts';

const UNIT = resolve(import.meta.dirname, '../unit');

/** Folders with tests of code outside of src. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  bench: 'bench, whose programs are not run by tests otherwise',
  charts: 'the Helm charts',
  examples: 'the manifests and policies for users',
  image: 'the Dockerfile',
  scripts: 'the programs that renew tables of data',
};

const folders = new Set(
  readdirSync(UNIT, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.test.ts'))
    .map((entry) => relative(UNIT, entry.parentPath)),
);

describe('a folder of unit tests', () => {
  it('exists', () => {
    expect(folders.size).toBeGreaterThan(30);
  });

  it('has the name of a folder of src', () => {
    const strangers = [...folders].filter(
      (folder) => !Object.hasOwn(ELSEWHERE, folder) && !existsSync(join(SRC, folder)),
    );
    expect(strangers).toEqual([]);
  });

  it('contains tests also if it is outside of src', () => {
    expect(Object.keys(ELSEWHERE).filter((folder) => !folders.has(folder))).toEqual([]);
  });
});

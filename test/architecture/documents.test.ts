/** Documents name only files that exist. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const ROOT = join(import.meta.dirname, '../..');
/** Paths stand for files of the repository, or of src. */
const BASES = ['', 'src'];
const PATH = /`((?:[\w.-]+\/)+[\w.-]+\.(?:ts|js|md|yaml|json))`/g;
/** What users have, and what is built. */
const ELSEWHERE = /^(dist|node_modules|~)\//;

const documents = [
  ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md'].map((name) => join(ROOT, name)),
  ...['docs', 'src'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => join(ROOT, folder, name)),
  ),
];

describe('documents', () => {
  it.each(documents.map((path) => relative(ROOT, path)))('%s names only files that exist', (path) => {
    const text = readFileSync(join(ROOT, path), 'utf8');
    const named = [...text.matchAll(PATH)].map(([, name = '']) => name).filter((name) => !ELSEWHERE.test(name));
    const missing = named.filter((name) => !BASES.some((base) => existsSync(join(ROOT, base, name))));
    expect(missing).toEqual([]);
  });

  it('of the engine names only files of the engine', () => {
    const folder = join(ROOT, 'src/engine');
    const files = new Set(readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => basename(path)));
    const named = readFileSync(join(folder, 'README.md'), 'utf8').match(/\b[\w-]+\.ts\b/g) ?? [];
    expect(named.filter((name) => !files.has(name))).toEqual([]);
  });
});

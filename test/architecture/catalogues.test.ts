/** Public metrics and events of the operator are declared in the catalogues only. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const SRC = resolve(import.meta.dirname, '../../src');

const sources = readdirSync(SRC, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => join(entry.parentPath, entry.name))
  .map((file) => ({ path: relative(SRC, file), text: readFileSync(file, 'utf8') }));

/** Files whose declarations are functions, or of any kind: the reference pages name each of them. */
const BY_NAME = new Set(['events/declaration.ts', 'events/objects.ts', 'metrics/declaration.ts', 'metrics/status.ts']);

/** Functions that create declarations, by the folder of their catalogue. */
describe.each([
  ['observe/metrics', 'aws/metric-declarations.ts', /\b(?:counter|gauge|histogram|summary)\b/],
  ['observe/events', 'aws/events.ts', /\bevent\b/],
])('%s', (folder, ofProvider, declaring) => {
  const files = sources.filter(({ path }) => path.startsWith(`${folder}/`));

  it('is the only folder that creates declarations, except those of the provider', () => {
    const users = sources.filter(
      ({ path, text }) =>
        !path.startsWith(`${folder}/`) &&
        path !== ofProvider &&
        [...text.matchAll(/^import ([^;]*?) from '([^']+)';$/gms)].some(
          ([, names = '', from = '']) =>
            (from.endsWith(`/${basename(folder)}/declaration.ts`) || from === `#${folder}`) && declaring.test(names),
        ),
    );
    expect(users.map(({ path }) => path)).toEqual([]);
  });

  it('has every file in its catalogue', () => {
    const text = readFileSync(join(SRC, 'observe/entries/catalogues.ts'), 'utf8');
    const names = files.map(({ path }) => path.slice('observe/'.length)).filter((name) => !BY_NAME.has(name));
    expect(names.length).toBeGreaterThan(2);
    expect(names.filter((name) => !text.includes(`'../${name}'`))).toEqual([]);
  });
});

describe('an event', () => {
  it('is created from its declaration', () => {
    const literals = sources.filter(
      ({ path, text }) =>
        !path.startsWith('local/') &&
        !path.startsWith('observe/events/') &&
        path !== 'aws/events.ts' &&
        (/^(?!.*readonly).*\btype: '(?:Normal|Warning)'/m.test(text) || /\.publish\(\s*\{/.test(text)),
    );
    expect(literals.map(({ path }) => path)).toEqual([]);
  });
});

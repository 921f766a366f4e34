/** What is public of the operator, metrics and events, is declared in the catalogues and nowhere else. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const SRC = resolve(import.meta.dirname, '../../src');

const sources = readdirSync(SRC, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => join(entry.parentPath, entry.name))
  .map((file) => ({ path: relative(SRC, file), text: readFileSync(file, 'utf8') }));

/** Functions that declare, by the file that has them; types of it may be used anywhere. */
describe.each(['observe/metrics'])('%s', (folder) => {
  const files = sources.filter(({ path }) => path.startsWith(`${folder}/`));

  it('alone declares', () => {
    const users = sources.filter(
      ({ path, text }) =>
        !path.startsWith(`${folder}/`) &&
        [...text.matchAll(/^import (?!type )[^;]*? from '([^']+)';$/gms)].some(([, from = '']) =>
          from.endsWith(`${folder.replace('observe/', '')}/declaration.ts`),
        ),
    );
    expect(users.map(({ path }) => path)).toEqual([]);
  });

  it('lists every file of its own in its catalogue', () => {
    const catalogue = files.find(({ path }) => path.endsWith('/catalogue.ts'))?.text ?? '';
    const names = files.map(({ path }) => path.slice(folder.length + 1));
    expect(names.length).toBeGreaterThan(2);
    expect(names.filter((name) => name !== 'catalogue.ts' && !catalogue.includes(`'./${name}'`))).toEqual([]);
  });
});

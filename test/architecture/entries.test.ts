/** Areas import each other through their entries, which package.json lists: `#engine/solve` is src/engine/entries/solve.ts. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { importsOf, isInside, SRC, sources } from './import-graph.ts';

/** Largest number of entries of an area, without `testing`. */
const MOST_ENTRIES: Readonly<Record<string, number>> = {
  api: 7,
  aws: 7,
  cli: 2,
  cloud: 1,
  controllers: 1,
  engine: 8,
  'engine-worker': 1,
  kube: 5,
  lib: 2,
  live: 2,
  local: 6,
  observe: 8,
  planner: 1,
  process: 4,
  replay: 3,
  state: 1,
};

const ROOT = join(SRC, '..');
const ENTRY = /^([^/]+)\/(?:entry|entries\/([^/]+))\.ts$/;

const areaOf = (path: string): string | undefined => /^([^/]+)\//.exec(path)?.[1];
/** Area whose files a file may import directly. A unit test may import the files of the area that it tests. */
const homeOf = (path: string): string | undefined =>
  path.startsWith('..') ? /^\.\.\/test\/unit\/([^/]+)\//.exec(path)?.[1] : areaOf(path);

const others = execFileSync('git', ['ls-files', 'bench', 'test', 'scripts', '*.ts'], { cwd: ROOT, encoding: 'utf8' })
  .split('\n')
  .filter((file) => /^(?:bench\/|test\/|scripts\/|[^/]+\.ts$)/.test(file) && file.endsWith('.ts'))
  .map((file) => join(ROOT, file));

const entries = sources.map((file) => relative(SRC, file)).filter((file) => ENTRY.test(file));
const crossing = [...sources, ...others]
  .flatMap(importsOf)
  .filter(({ target }) => isInside(target) && !target.startsWith('..'))
  .filter(({ from, target }) => areaOf(target) !== undefined && areaOf(target) !== homeOf(from));
const shown = ({ from, target }: { readonly from: string; readonly target: string }): string => `${from} → ${target}`;

describe('an import of another area', () => {
  it('is found in sources and tests', () => {
    expect(crossing.length).toBeGreaterThan(2_000);
    expect(crossing.some(({ from }) => from.startsWith('../test/'))).toBe(true);
  });

  it('names an entry', () => {
    expect(crossing.filter(({ target }) => !ENTRY.test(target)).map(shown)).toEqual([]);
  });

  it('names the entry as package.json does', () => {
    const wrong = [...sources, ...others].flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)]
        .map(([, name = '']) => relative(SRC, resolve(dirname(file), name)))
        .filter((target) => ENTRY.test(target) && areaOf(target) !== areaOf(relative(SRC, file)))
        .map((target) => `${relative(SRC, file)} → ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it('does not reach names for tests from a source file', () => {
    const wrong = crossing.filter(({ from, target }) => !from.startsWith('..') && target.endsWith('/testing.ts'));
    expect(wrong.map(shown)).toEqual([]);
  });
});

describe('an entry', () => {
  it('belongs to an area with a limit', () => {
    const count = (area: string): number =>
      entries.filter((file) => areaOf(file) === area && !file.endsWith('/testing.ts')).length;
    const areas = [...new Set(entries.map((file) => areaOf(file) as string))];
    expect(areas.sort()).toEqual(Object.keys(MOST_ENTRIES).sort());
    expect(areas.filter((area) => count(area) > (MOST_ENTRIES[area] ?? 0))).toEqual([]);
  });

  it('is not imported by its own area, which would be a circle', () => {
    const own = sources
      .flatMap(importsOf)
      .filter(({ from, target }) => ENTRY.test(target) && areaOf(from) === areaOf(target));
    expect(own.map(shown)).toEqual([]);
  });

  it('only exports names of other files of its area', () => {
    const wrong = entries.filter((file) => {
      const text = readFileSync(join(SRC, file), 'utf8').replace(
        /\/\*\*[\s\S]*?\*\/|^export (?:type )?(?:\{[^}]*\}|\* as \w+) from '\.[^']+';$/gm,
        '',
      );
      return text.trim() !== '' || importsOf(join(SRC, file)).some(({ target }) => areaOf(target) !== areaOf(file));
    });
    expect(wrong).toEqual([]);
  });

  it('exports only names that another area, a test or a script imports', () => {
    const used = new Map<string, string>();
    for (const file of [...sources, ...others])
      for (const [, names = '', name = ''] of readFileSync(file, 'utf8').matchAll(
        /\{([^{}]*)\}\s*(?:from\s*|= await import\()'(#[^']+)'/g,
      ))
        used.set(name, `${used.get(name) ?? ''},${names}`);
    const dynamic = [...sources, ...others]
      .flatMap((file) => readFileSync(file, 'utf8').match(/import\('#[^)]*\)\)?\.\w+/g) ?? [])
      .join(' ');
    const unused = entries.flatMap((file) => {
      const [, area = '', name] = ENTRY.exec(file) ?? [];
      const entry = name === undefined ? `#${area}` : `#${area}/${name}`;
      const list = (used.get(entry) ?? '').split(/[\s,]+/);
      const exported = [...readFileSync(join(SRC, file), 'utf8').matchAll(/\{([^}]*)\}/g)].flatMap(([, names = '']) =>
        names.split(','),
      );
      return exported
        .map((each) =>
          each
            .trim()
            .replace(/^type /, '')
            .replace(/^.* as /, ''),
        )
        .filter(
          (each) =>
            each !== '' &&
            !list.includes(each) &&
            !dynamic.includes(`'${entry}')).${each}`) &&
            !dynamic.includes(`'${entry}').${each}`),
        )
        .map((each) => `${entry} ${each}`);
    });
    expect(unused).toEqual([]);
  });
});

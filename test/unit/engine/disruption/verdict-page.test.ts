import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const read = (path: string): string => readFileSync(join(import.meta.dirname, '../../../..', path), 'utf8');

describe('the page of codes', () => {
  it('has exactly one row per code of the engine', () => {
    const declared = ['src/engine/disruption/reasons.ts', 'src/engine/disruption/verdicts.ts'].flatMap((path) =>
      [...read(path).matchAll(/^export type \w+Code =[^;]+;/gm)].flatMap(([type]) =>
        [...type.matchAll(/'([a-z-]+)'/g)].map(([, code]) => code),
      ),
    );
    const table =
      read('docs/reference/formats/codes.md')
        .split('\n## ')
        .find((section) => section.startsWith('Nodes that are not disrupted')) ?? '';
    const rows = [...table.matchAll(/^\| (`.*?) \|/gm)].map(([, codes]) => codes ?? '');
    const described = rows.flatMap((codes) => [...codes.matchAll(/`([a-z-]+)`/g)].map(([, code]) => code));
    expect(declared.length).toBeGreaterThan(30);
    expect([...described].sort()).toEqual([...new Set(declared)].sort());
  });
});

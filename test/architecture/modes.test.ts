/** The differences from Karpenter that `compatible` switches off are on one page: src/api/policy.ts. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const SRC = resolve(import.meta.dirname, '../../src');

describe('a mode of packing or consolidation', () => {
  it('is compared in no file', () => {
    const comparing = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .filter((file) =>
        /(?:[!=]==|\bcase) '(?:compatible|thorough|cheapest)'/.test(readFileSync(join(SRC, file), 'utf8')),
      );
    expect(comparing).toEqual([]);
  });
});

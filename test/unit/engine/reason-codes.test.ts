import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { OBSTACLES } from '#aws/testing';
import {
  DRAIN_BLOCKERS,
  IDLE_POOLS,
  LAUNCH_CAUSES,
  NODE_BLOCKS,
  NODE_DECLINES,
  NODE_OUTCOMES,
  POD_CAUSES,
  POD_VERDICTS,
} from '../../../src/engine/reason-codes.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/reference/formats/codes.md'), 'utf8');
const OF_POOLS: readonly string[] = ['min-values', ...IDLE_POOLS];

/** Declared codes by the title of the section that describes them. */
const SECTIONS: Readonly<Record<string, readonly string[]>> = {
  'Nodes that are not disrupted': [...new Set([...NODE_BLOCKS, ...NODE_DECLINES, ...NODE_OUTCOMES])],
  'Blockers of drains': DRAIN_BLOCKERS,
  'Pending pods': [...POD_CAUSES.filter((code) => !OF_POOLS.includes(code)), 'instance-types'],
  'Verdicts on pods': POD_VERDICTS,
  'NodePools that are not considered': OF_POOLS,
  'Unproductive launches': LAUNCH_CAUSES,
  'Unavailable offerings': OBSTACLES,
};

/** Returns the codes in the first column of the table of a section. */
function codesIn(title: string): readonly string[] {
  const section = page.split('\n## ').find((each) => each.startsWith(`${title}\n`)) ?? '';
  const cells = [...section.matchAll(/^\| (`.*?) \|/gm)].map(([, codes]) => codes ?? '');
  return cells.flatMap((codes) => [...codes.matchAll(/`([a-z-]+)`/g)].map(([, code = '']) => code));
}

describe('the page of codes', () => {
  it.each(Object.keys(SECTIONS))('has exactly one row per code: %s', (title) => {
    expect([...codesIn(title)].sort()).toEqual([...(SECTIONS[title] ?? [])].sort());
  });

  it('describes every section with a column of codes', () => {
    const sections = page.split('\n## ').filter((each) => each.includes('\n| Code |'));
    expect(sections.map((each) => each.split('\n', 1)[0])).toEqual(Object.keys(SECTIONS));
  });

  it('keeps all codes, because they are public', () => {
    expect(Object.keys(SECTIONS).flatMap(codesIn).length).toBeGreaterThanOrEqual(110);
  });
});

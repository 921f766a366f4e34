import { expect, it } from '@jest/globals';
import { objectDifferences } from '../../../../src/cli/replay/sets.ts';

const pool = (spec: unknown) => ({ apiVersion: 'karpenter.sh/v1', kind: 'NodePool', metadata: { name: 'web' }, spec });

it.each([
  ['nothing', { weight: 1 }, { weight: 1 }, []],
  ['a field', { weight: 1 }, { weight: 5 }, ['spec.weight 1 → 5']],
  ['an added field', {}, { weight: 5 }, ['spec.weight unset → 5']],
  ['a removed field', { a: { b: 'x' } }, { a: {} }, ['spec.a.b x → unset']],
  [
    'items of a list with names',
    { r: [{ key: 'k', v: 1 }] },
    { r: [{ key: 'k', v: 2 }, { key: 'l' }] },
    ['spec.r[k].v 1 → 2', 'spec.r[l] unset → {"key":"l"}'],
  ],
  ['other lists', { r: [1, 2] }, { r: [1] }, ['spec.r [1,2] → [1]']],
  [
    'lists with duplicate names',
    { r: [{ key: 'k' }] },
    { r: [{ key: 'k' }, { key: 'k' }] },
    ['spec.r [{"key":"k"}] → [{"key":"k"},{"key":"k"}]'],
  ],
  ['long values', { a: '' }, { a: 'x'.repeat(99) }, [`spec.a  → ${'x'.repeat(60)}…`]],
  [
    'many fields',
    {},
    Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`f${index}`, index])),
    [...Array.from({ length: 8 }, (_, index) => `spec.f${index} unset → ${index}`), 'and 2 more fields'],
  ],
])('reports %s', (_, before, after, lines) => {
  expect(objectDifferences([pool(before)], [pool(after)])).toEqual(lines.map((line) => `NodePool web: ${line}`));
});

it('reports added and removed objects', () => {
  const other = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'shop' } };
  expect(objectDifferences([pool({})], [other])).toEqual(['ConfigMap shop/a: added', 'NodePool web: removed']);
});

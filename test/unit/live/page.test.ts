import { describe, expect, it } from '@jest/globals';
// @ts-expect-error: the page's own scripts have no types
import * as format from '../../../src/live/page/format.js';

const { amountText, blockers, byPool, chartPath, matches, shareOf, spanText, surplusText, usdText } = format;

describe('texts of the page', () => {
  it.each([
    [undefined, ''],
    [0.085064, '$0.0851'],
    [1.5, '$1.50'],
    [-0.25, '−$0.2500'],
    [1234.5, '$1235'],
  ])('format %p USD as %j', (usd, text) => {
    expect(usdText(usd)).toBe(text);
  });

  it.each([
    [0, '0 s'],
    [59_400, '59 s'],
    [60_000, '1 min'],
    [3_599_000, '59 min'],
    [47 * 3_600_000, '47 h'],
    [49 * 3_600_000, '2 d'],
    [-5, '0 s'],
  ])('format %p ms as %j', (ms, text) => {
    expect(spanText(ms)).toBe(text);
  });

  it.each([
    ['cpu', 1_930, '1.93'],
    ['memory', 32 * 2 ** 30, '32 GiB'],
    ['memory', 0, '0 B'],
    ['nvidia.com/gpu', 4, '4'],
  ])('format %s of %p as %j', (resource, amount, text) => {
    expect(amountText(resource, amount)).toBe(text);
  });

  it.each([
    [{}, ''],
    [{ surplusCreditsUsdPerHour: 0 }, ''],
    [{ surplusCreditsUsdPerHour: 0.0123 }, ' (planning: +$0.0123 surplus CPU credits)'],
  ])('format the surplus CPU credits of %j as %j', (price, text) => {
    expect(surplusText(price)).toBe(text);
  });

  it('limit the share of a node to 100 %', () => {
    expect([shareOf([5, 4]), shareOf([1, 4]), shareOf([0, 0])]).toEqual([1, 0.25, 0]);
  });
});

describe('nodes of the page', () => {
  const node = (name: string, nodePool: string, code?: string) => ({
    name,
    nodePool,
    instanceType: 'm5.large',
    ...(code === undefined ? {} : { verdict: { code, text: `because of ${code}` } }),
  });

  it('are sorted by NodePool and name, nodes without a NodePool last', () => {
    const groups = byPool([node('b', 'web'), node('x', ''), node('a', 'web'), node('c', 'batch')]);
    expect(groups.map(([pool, nodes]: [string, { name: string }[]]) => [pool, nodes.map(({ name }) => name)])).toEqual([
      ['batch', ['c']],
      ['web', ['a', 'b']],
      ['', ['x']],
    ]);
  });

  it('can be filtered by name, type and NodePool', () => {
    expect([
      matches(node('a', 'web'), ' WEB '),
      matches(node('a', 'web'), 'm5'),
      matches(node('a', 'web'), 'gpu'),
    ]).toEqual([true, true, false]);
  });

  it('are counted by blocking reason, without nodes that are being disrupted', () => {
    const nodes = [node('a', 'x', 'pdb'), node('b', 'x', 'nominated'), node('c', 'x', 'pdb'), node('d', 'x', 'chosen')];
    expect(blockers(nodes)).toEqual([
      { code: 'pdb', count: 2, text: 'because of pdb' },
      { code: 'nominated', count: 1, text: 'because of nominated' },
    ]);
  });
});

describe('the chart', () => {
  it('runs from left to right, with zero at the bottom', () => {
    expect(
      chartPath([
        [0, 0],
        [50, 1],
        [100, 2],
      ]),
    ).toBe('M0.00 29.00 L50.00 15.00 L100.00 1.00');
  });

  it('requires two samples, and accepts samples of 0', () => {
    expect([
      chartPath([]),
      chartPath([[0, 1]]),
      chartPath([
        [0, 0],
        [1, 0],
      ]),
    ]).toEqual(['', '', 'M0.00 29.00 L100.00 29.00']);
  });
});

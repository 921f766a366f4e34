import { describe, expect, it } from '@jest/globals';
import { NODE_BLOCKS, NODE_DECLINES, NODE_OUTCOMES } from '#engine/testing';
import type { LiveNode } from '#live/view';
import * as format from '../../../src/live/page/format.js';
import * as layout from '../../../src/live/page/map-layout.js';
import * as columns from '../../../src/live/page/node-columns.js';
import * as sentences from '../../../src/live/page/sentences.js';
import * as timeline from '../../../src/live/page/timeline-layout.js';
import type { LifeTimes } from '../../../src/live/responses.ts';
import { present } from '../../support/present.ts';

const { costAreas, lifeParts } = timeline;
const { amountText, blockers, byPool, chartPath, matches, nodeText, shareOf, spanText, surplusText, usdText } = format;
const { boxSide, flow, podPaths, podRectangles, scaleFor, tonesFor } = layout;

const liveNode = (fields: Partial<LiveNode>): LiveNode => ({
  name: 'n',
  nodePool: 'web',
  instanceType: '',
  zone: '',
  capacityType: '',
  createdMs: 0,
  state: 'ready',
  pods: 0,
  shares: {},
  blocks: [],
  ...fields,
});

describe('a text of the page', () => {
  it.each([
    [undefined, ''],
    [0.085064, '$0.0851'],
    [1.5, '$1.50'],
    [-0.25, '−$0.2500'],
    [1234.5, '$1235'],
  ])('formats %p USD as %j', (usd, text) => {
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
  ])('formats %p ms as %j', (ms, text) => {
    expect(spanText(ms)).toBe(text);
  });

  it.each([
    ['cpu', 1_930, '1.93'],
    ['memory', 32 * 2 ** 30, '32 GiB'],
    ['memory', 0, '0 B'],
    ['nvidia.com/gpu', 4, '4'],
  ])('formats %s of %p as %j', (resource, amount, text) => {
    expect(amountText(resource, amount)).toBe(text);
  });

  it.each([
    [{}, ''],
    [{ surplusCreditsUsdPerHour: 0 }, ''],
    [{ surplusCreditsUsdPerHour: 0.0123 }, ' (planning: +$0.0123 surplus CPU credits)'],
  ])('formats the surplus CPU credits of %j as %j', (price, text) => {
    expect(surplusText(price)).toBe(text);
  });

  it('limits the share of a node to 100 %', () => {
    expect([shareOf([5, 4]), shareOf([1, 4]), shareOf([0, 0])]).toEqual([1, 0.25, 0]);
  });
});

describe('the list of nodes of the page', () => {
  const node = (name: string, nodePool: string, code?: string): LiveNode =>
    liveNode({
      name,
      nodePool,
      instanceType: 'm5.large',
      ...(code !== undefined && { verdict: { code, text: `because of ${code}` } }),
    });

  it('is sorted by NodePool and name, nodes without a NodePool last', () => {
    const groups = byPool([node('b', 'web'), node('x', ''), node('a', 'web'), node('c', 'batch')]);
    expect(groups.map(([pool, nodes]) => [pool, nodes.map(({ name }) => name)])).toEqual([
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

  it('counts nodes by blocking reason, without nodes that are being disrupted', () => {
    const nodes = [node('a', 'x', 'pdb'), node('b', 'x', 'nominated'), node('c', 'x', 'pdb'), node('d', 'x', 'chosen')];
    expect(blockers(nodes)).toEqual([
      { code: 'pdb', count: 2, text: 'because of pdb' },
      { code: 'nominated', count: 1, text: 'because of nominated' },
    ]);
  });
});

describe('a table of nodes', () => {
  const rows = [
    { name: 'a', shares: { cpu: [1, 4] }, state: 'ready', pods: 2, usdPerHour: 0.1, createdMs: 20 },
    { name: 'b', shares: { cpu: [3, 4], 'nvidia.com/gpu': [1, 2] }, state: 'leaving', pods: 2, createdMs: 10 },
    { name: 'c', shares: {}, state: 'launching', pods: 9, usdPerHour: 0.3, createdMs: 0 },
  ] satisfies Partial<LiveNode>[];
  const namesBy = (key: string, isReversed = false): string =>
    columns
      .sortNodes(rows.map(liveNode), { key, isReversed })
      .map(({ name }) => name)
      .join('');

  it.each([
    ['name', 'abc', 'cba'],
    ['cpu', 'bac', 'abc'],
    ['pods', 'cab', 'abc'],
    ['price', 'cab', 'acb'],
    ['age', 'bac', 'abc'],
    ['devices', 'bac', 'bac'],
    ['state', 'bca', 'acb'],
    ['no such column', 'abc', 'cba'],
  ])('is sorted by %s, nodes without a value last', (key, usual, reversed) => {
    expect([namesBy(key), namesBy(key, true)]).toEqual([usual, reversed]);
  });

  it('keeps all nodes for each column and both orders', () => {
    for (const { key } of columns.COLUMNS)
      for (const isReversed of [false, true]) expect([...namesBy(key, isReversed)].sort().join('')).toBe('abc');
  });

  it('reverses the order with the second click on a heading', () => {
    const once = columns.orderAfter({ key: 'name', isReversed: true }, 'price');
    const twice = columns.orderAfter(once, 'price');
    expect([once, twice].map((order) => columns.sortState(order, 'price'))).toEqual(['descending', 'ascending']);
    expect(columns.sortState(twice, 'name')).toBe('none');
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

describe('the map', () => {
  const sized = (cpu: number, more: Partial<LiveNode> = {}): LiveNode =>
    liveNode({ shares: { cpu: [0, cpu * 1000], memory: [0, cpu * 4 * 2 ** 30] }, ...more });

  it('has boxes whose area grows with the capacity, within limits', () => {
    expect([2, 8, 32].map((cpu) => boxSide(sized(cpu), 20))).toEqual([28, 57, 113]);
    expect([boxSide(sized(0), 20), boxSide(sized(192), 44)]).toEqual([24, 220]);
  });

  it('is scaled to its window, with the same scale for similar clusters', () => {
    const scale = (count: number, width: number) =>
      scaleFor(
        Array.from({ length: count }, () => sized(8)),
        { width, height: 500 },
      );
    expect([scale(0, 600), scale(5, 600), scale(60, 600), scale(61, 600), scale(5_000, 600)]).toEqual([
      44, 44, 15, 15, 2,
    ]);
    expect(scale(5, 340)).toBe(26);
  });

  it('has a rectangle for each pod, whose area is its share of the node', () => {
    const rectangles = podRectangles([
      [250, 'running', 2],
      [50, 'daemon', 3],
    ]);
    expect(rectangles.map(({ state }) => state)).toEqual(['running', 'running', 'daemon', 'daemon', 'daemon']);
    expect(rectangles.map(({ width, height }) => Math.round((width * height) / 10))).toEqual([250, 250, 50, 50, 50]);
    expect(Math.min(...rectangles.map(({ y }) => y))).toBeCloseTo(35);
    expect(Math.max(...rectangles.map(({ x, width }) => x + width))).toBeCloseTo(100);
  });

  it('draws no pod outside of its node, even if the pods request more than the node has', () => {
    for (const { x, y, width, height } of podRectangles([[400, 'running', 5]])) {
      expect(Math.min(x, y)).toBeGreaterThanOrEqual(0);
      expect(Math.max(x + width, y + height)).toBeLessThanOrEqual(100.001);
    }
    expect(podRectangles([[0, 'running', 3]])).toEqual([]);
    expect(podPaths([[500, 'running', 1]])).toEqual({ running: 'M0.8 50.8h98.5v48.5h-98.5z' });
  });

  it('breaks lines at its width', () => {
    expect(flow([10, 20, 30], 35, 2)).toEqual({
      places: [
        { x: 0, y: 0, side: 10 },
        { x: 12, y: 0, side: 20 },
        { x: 0, y: 22, side: 30 },
      ],
      height: 52,
    });
  });

  it('has a tone for each NodePool, and one for all NodePools beyond the limit', () => {
    const nodes = Array.from({ length: 12 }, (_, at) => sized(2, { nodePool: `pool-${String(at).padStart(2, '0')}` }));
    const { toneOf, labels } = tonesFor('pool', [...nodes, sized(2, { nodePool: '' })]);
    expect(labels[0]).toEqual(['pool-0', 'pool-00']);
    expect(labels.slice(-2)).toEqual([
      ['pool-7', '5 more NodePools'],
      ['unknown', 'no NodePool'],
    ]);
    expect([nodes.at(0), nodes.at(11)].map((each) => toneOf(present(each)))).toEqual(['pool-0', 'pool-7']);
  });

  it('has five tones for prices of a CPU', () => {
    const nodes = [1, 2, 6].map((usdPerHour) => sized(1, { usdPerHour }));
    const { toneOf, labels } = tonesFor('price', [...nodes, sized(1)]);
    expect([...nodes, sized(1)].map(toneOf)).toEqual(['price-0', 'price-1', 'price-4', 'unknown']);
    expect(labels.map(([, label]) => label)).toEqual([
      'from $1.00',
      'from $2.00',
      'from $3.00',
      'from $4.00',
      'from $5.00',
      'unknown price',
    ]);
    expect(tonesFor('price', nodes.slice(0, 1)).labels).toEqual([['price-0', 'from $1.00']]);
    expect(tonesFor('price', []).labels).toEqual([]);
  });

  it('groups nodes by the next disruption', () => {
    const { toneOf } = tonesFor('disruption', []);
    const outlook = (code: string, state: LiveNode['state'] = 'ready') =>
      toneOf(liveNode({ state, verdict: { code, text: '' } }));
    expect([
      outlook('chosen'),
      outlook('next'),
      outlook('pdb'),
      outlook('not-cheaper'),
      outlook('pdb', 'leaving'),
    ]).toEqual(['now', 'soon', 'protected', 'kept', 'now']);
    expect(toneOf(liveNode({}))).toBe('unknown');
  });

  it('describes a node in words', () => {
    const node = liveNode({
      name: 'node-1',
      instanceType: 'm7i.xlarge',
      zone: 'us-west-2a',
      capacityType: 'spot',
      pods: 1,
      usdPerHour: 0.08,
      shares: { cpu: [1_000, 4_000], pods: [1, 58] },
      verdict: { code: 'pdb', text: 'in the way' },
    });
    expect(nodeText(node, sentences.STATES)).toBe(
      'node-1\nm7i.xlarge, us-west-2a, spot\nReady, $0.0800 an hour\n1 pod, cpu 25 %\nin the way',
    );
  });
});

describe('the timeline', () => {
  it('has the parts of a life within its time span', () => {
    const span = { fromMs: 1_000, toMs: 2_000 };
    const life = { createdMs: 500, launchedMs: 1_100, registeredMs: 1_200, initializedMs: 1_300, leavingMs: 1_700 };
    const parts = (each: LifeTimes) =>
      lifeParts(each, span).map(({ part, left, width }) => [part, Math.round(left), Math.round(width)]);
    expect(parts({ ...life, endedMs: 1_900 })).toEqual([
      ['launching', 0, 10],
      ['joining', 10, 10],
      ['starting', 20, 10],
      ['ready', 30, 40],
      ['leaving', 70, 20],
    ]);
    // a node that never joined, and one that ended before the time span
    expect(parts({ createdMs: 1_500 })).toEqual([['launching', 50, 50]]);
    expect(parts({ createdMs: 100, launchedMs: 200, endedMs: 300 })).toEqual([]);
  });

  it('stacks the costs of the NodePools, the largest at the bottom, and sums up the observed time', () => {
    const hours = [
      { hourMs: 0, observed: 1, usd: [1, 3] },
      { hourMs: 1, observed: 0.25, usd: [1, 1] },
    ];
    const { areas, most } = costAreas(hours, ['web', 'gpu']);
    expect(most).toBe(4);
    expect(areas).toEqual([
      { name: 'gpu', isPool: true, usd: 3.25, d: 'M0.00 25.00L100.00 75.00L100.00 100.00L0.00 100.00Z' },
      { name: 'web', isPool: true, usd: 1.25, d: 'M0.00 0.00L100.00 50.00L100.00 75.00L0.00 25.00Z' },
    ]);
  });

  it('has one area for all NodePools beyond the limit, and accepts one hour', () => {
    const names = Array.from({ length: 12 }, (_, at) => `pool-${at}`);
    const { areas } = costAreas([{ hourMs: 0, observed: 1, usd: [...names.keys()] }], names);
    expect(areas.map(({ name, usd }) => [name, usd]).slice(-2)).toEqual([
      ['pool-5', 5],
      ['other NodePools', 10],
    ]);
    expect(areas).toHaveLength(8);
    expect(areas[0]?.d).toMatch(/^M0\.00 \d+\.\d+L100\.00/);
    expect(costAreas([], []).areas).toEqual([]);
  });

  it('has a sentence for each reason', () => {
    expect([sentences.reasonText('registration_timeout'), sentences.reasonText('of_another_version')]).toEqual([
      'Removed, because the instance did not join the cluster in time',
      'Of another version',
    ]);
  });
});

describe('a sentence of the page', () => {
  it('replaces every code of a verdict', () => {
    const codes = [...new Set<string>([...NODE_BLOCKS, ...NODE_DECLINES, ...NODE_OUTCOMES])];
    expect(codes.length).toBeGreaterThan(30);
    for (const code of codes) expect(sentences.sentenceOf(code)).toMatch(/^[A-Z].* .* /);
    expect(new Set(codes.map(sentences.sentenceOf)).size).toBe(codes.length);
    expect(sentences.sentenceOf('of-a-later-version')).toBe('Of a later version');
  });
});

/** Keys and frames of `karpenter top`, without a terminal. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Verdict } from '#engine/disruption';
import type { PendingPod } from '#live/view';
import {
  columnsToSort,
  INITIAL,
  type Key,
  press,
  rowsOf,
  type ScreenChoices,
  shownGroups,
  type TopNode,
  type TopState,
} from '../../../../src/cli/top/choices.ts';
import { type FrameInput, frame, printFrame } from '../../../../src/cli/top/frame.ts';
import { PANE_HEAD, paneRows } from '../../../../src/cli/top/panes.ts';
import type { StyledLine } from '../../../../src/cli/top/spans.ts';

const NOW = Date.parse('2026-06-01T12:00:00Z');
const GIB = 2 ** 30;

const node = (name: string, more: Partial<TopNode> = {}): TopNode => ({
  name: `${name}.us-west-2.compute.internal`,
  nodeClaim: `default-${name}`,
  nodePool: 'default',
  instanceType: 'm6g.large',
  zone: 'us-west-2a',
  capacityType: 'on-demand',
  usdPerHour: 0.1,
  createdMs: NOW - 90_000,
  state: 'ready',
  pods: 3,
  shares: { cpu: [1_000, 2_000], memory: [4 * GIB, 8 * GIB] },
  blocks: [],
  labels: {},
  ...more,
});

const STATE: TopState = {
  summary: {
    clusterName: 'prod',
    atMs: NOW,
    isLeading: true,
    nodes: 3,
    pods: 12,
    pendingPods: 1,
    usdPerHour: 1.9,
    surplusCreditsUsdPerHour: 0,
    usdPerMonth: 1387,
    idleUsdPerMonth: 300,
    requested: { cpu: 0.5, memory: 0.25 },
    spotShare: 0.5,
    unpriced: 0,
  },
  nodes: [
    node('a', { verdict: { code: 'pdb', text: 'PDB web allows no eviction' } }),
    node('b', { usdPerHour: 0.3, shares: { cpu: [1_900, 2_000] }, pods: 8 }),
    node('c', { nodePool: 'gpu', usdPerHour: 1.5, instanceType: 'g6.xlarge', createdMs: NOW - 7_200_000 }),
  ],
  pending: [{ pod: 'web/api-1', sinceMs: NOW - 65_000, reason: 'NodePool "gpu" is at its limit\nsecond line' }],
  decisions: [
    {
      id: 1,
      atMs: NOW - 5_000,
      topic: 'bought',
      object: 'NodeClaim/gpu-c',
      text: 'launched',
      usdPerHour: 1.5,
      times: 1,
    },
    { id: 2, atMs: NOW, topic: 'problem', object: 'NodePool/gpu', text: 'at its limit', times: 3 },
  ],
  costs: [
    [NOW - 60_000, 0.4],
    [NOW, 1.9],
  ],
};

const short = (nodes: readonly TopNode[]): string => nodes.map(({ name }) => name[0]).join('');
const textOf = (lines: readonly StyledLine[]): string =>
  lines.map((line) => line.map(({ text }) => text).join('')).join('\n');
const input = (choices: Partial<ScreenChoices> = {}, more: Partial<FrameInput> = {}): FrameInput => ({
  state: STATE,
  choices: { ...INITIAL, ...choices },
  columns: 160,
  rows: 30,
  verdictOf: () => undefined,
  ...more,
});
const pressing = (...keys: readonly Key[]): ScreenChoices =>
  keys.reduce<ScreenChoices>((choices, key) => press(choices, key, STATE) ?? choices, INITIAL);
const typed = (text: string): readonly Key[] => [...text].map((letter) => ({ text: letter }));

describe('the order of nodes', () => {
  it.each([
    ['price', 'ba'],
    ['cpu', 'ba'],
    ['memory', 'ab'],
    ['name', 'ab'],
    ['pods', 'ba'],
  ] as const)('is by %s', (sort, order) => {
    const { groups } = rowsOf(STATE, { ...INITIAL, sort });
    expect(groups.map(({ name, nodes }) => [name, short(nodes)])).toEqual([
      ['gpu', 'c'],
      ['default', order],
    ]);
  });

  it('is by every column, and by labels that are columns, in both directions', () => {
    const labels = ['team'];
    const state = {
      ...STATE,
      nodes: [
        node('a', { zone: 'z2', capacityType: 'spot', instanceType: 'b.large', state: 'ready', labels: { team: 'x' } }),
        node('b', { zone: 'z1', capacityType: 'on-demand', instanceType: 'a.large', state: 'leaving', labels: {} }),
      ],
    };
    const orderBy = (sort: string, isReversed = false): string =>
      short(rowsOf(state, { ...INITIAL, sort, isReversed, labels }).groups.flatMap(({ nodes }) => nodes));
    for (const sort of ['zone', 'capacity type', 'instance type', 'state', 'team']) {
      expect([sort, orderBy(sort)]).toEqual([sort, 'ba']);
      expect([sort, orderBy(sort, true)]).toEqual([sort, 'ab']);
    }
    expect(columnsToSort(labels).at(-1)).toBe('team');
    expect(rowsOf(state, { ...INITIAL, group: 'team', labels }).groups.map(({ name }) => name)).toEqual([
      'no team',
      'x',
    ]);
  });

  it('is by age across groups if nodes are not grouped', () => {
    expect(short(rowsOf(STATE, { ...INITIAL, sort: 'age', group: 'none' }).groups.flatMap(({ nodes }) => nodes))).toBe(
      'cab',
    );
  });
});

describe('a key', () => {
  it('selects rows from the first node to the last pending pod, and stops at the ends', () => {
    expect(pressing('down').selected).toMatch(/^c/);
    expect(pressing('down', 'down').selected).toMatch(/^b/);
    expect(pressing('down', 'up', 'up').selected).toMatch(/^c/);
    expect(pressing('down', 'page down', 'down').selected).toBe('web/api-1');
  });

  it('filters while the user types, and clears the filter', () => {
    const filtered = pressing({ text: '/' }, ...typed('G6'), 'enter');
    expect(short(rowsOf(STATE, filtered).groups.flatMap(({ nodes }) => nodes))).toBe('c');
    // letters of commands are part of the filter
    expect(pressing({ text: '/' }, ...typed('sq'))).toMatchObject({ filter: 'sq', isTyping: true, sort: 'price' });
    expect(pressing({ text: '/' }, ...typed('ab'), 'backspace').filter).toBe('a');
    expect(pressing({ text: '/' }, ...typed('ab'), 'escape')).toMatchObject({ filter: '', isTyping: false });
    expect(press(filtered, 'escape', STATE)?.filter).toBe('');
  });

  it('opens and closes the details of the selected row, and ends the view', () => {
    expect(pressing('enter').isOpen).toBe(false);
    expect(pressing('down', 'enter').isOpen).toBe(true);
    expect(pressing('down', 'enter', 'escape').isOpen).toBe(false);
    expect(press(INITIAL, { text: 'q' }, STATE)).toBeUndefined();
  });

  it('changes order and groups in a circle', () => {
    expect(pressing({ text: 's' }).sort).toBe('cpu');
    expect(pressing({ text: 'r' }).isReversed).toBe(true);
    expect(pressing(...typed('g'.repeat(shownGroups([]).length))).group).toBe('NodePool');
  });
});

describe('the list of columns', () => {
  const many = (count: number): TopState => ({
    ...STATE,
    nodes: Array.from({ length: count }, (_, at) =>
      node(`ip-10-0-${100 + (at % 100)}-${at}`, {
        instanceType: at % 2 === 0 ? 'c6g.12xlarge' : 'm6g.large',
        verdict: { code: 'not-worth-moving', text: 'saves $0.0478/h for an expected 72 min = $0.0571; moving costs' },
        labels: { 'example.com/team': at % 2 === 0 ? 'web' : 'data' },
      }),
    ),
  });
  const rowsIn = (columns: number, rows: number, labels: readonly string[] = []): readonly string[] =>
    textOf(frame(input({ labels }, { state: many(506), columns, rows })))
      .split('\n')
      .filter((line) => line.includes('ip-10-0'));

  it('has name, type, capacity type, use, price and the word of the verdict at 80 columns', () => {
    const rows = rowsIn(80, 24);
    expect(rows.length).toBeGreaterThanOrEqual(8);
    for (const row of rows)
      expect(row).toMatch(
        /^ {2}ip-10-0-\d+-\d+ +(c6g\.12xlarge|m6g\.large) +on-demand 50 % 50 % 0\.100 90s not-worth-moving *$/,
      );
  });

  it('has the sentence of the verdict where it has room', () => {
    expect(rowsIn(120, 24)[0]).not.toContain('saves');
    expect(rowsIn(200, 24)[0]).toContain('saves $0.0478/h for an expected 72 min = $0.0571; moving costs');
  });

  it('contains labels at any width', () => {
    for (const columns of [80, 120, 200])
      expect(rowsIn(columns, 24, ['example.com/team']).every((row) => / (web|data) /.test(row))).toBe(true);
  });
});

describe('the set of panes', () => {
  const counts = fc.record({ nodes: fc.integer({ min: 1, max: 600 }), pending: fc.nat(40), decisions: fc.nat(40) });

  it('fits into the height, and leaves at least half of it to the nodes', () => {
    fc.assert(
      fc.property(counts, fc.integer({ min: 1, max: 60 }), (wanted, height) => {
        const { nodes, pending, decisions } = paneRows(wanted, height);
        const used = [pending, decisions].reduce((sum, rows) => sum + (rows > 0 ? rows + PANE_HEAD : 0), 0);
        expect(nodes + used).toBeLessThanOrEqual(Math.max(1, height));
        expect(nodes).toBeGreaterThanOrEqual(Math.min(wanted.nodes, Math.ceil(height / 2)));
        expect(pending).toBeLessThanOrEqual(wanted.pending);
        expect(decisions).toBeLessThanOrEqual(wanted.decisions);
      }),
    );
  });

  it('shows pending pods and a decision in a terminal of 24 lines', () => {
    expect(paneRows({ nodes: 506, pending: 12, decisions: 30 }, 18)).toEqual({ nodes: 9, pending: 4, decisions: 1 });
  });
});

describe('a frame', () => {
  it('has the cost, the nodes by NodePool, pending pods with the first line of the reason, and the latest decisions', () => {
    expect(printFrame({ state: STATE, columns: 150, verdictOf: () => undefined })).toMatchSnapshot();
  });

  it.each([40, 80, 120])('fits into %d columns and the height of the terminal', (columns) => {
    const lines = frame(input({}, { columns, rows: 20 }));
    expect(lines).toHaveLength(20);
    expect(
      Math.max(
        ...textOf(lines)
          .split('\n')
          .map(({ length }) => length),
      ),
    ).toBeLessThanOrEqual(columns);
    expect(textOf(lines)).toContain('q: quit'.slice(0, columns >= 80 ? 7 : 0));
  });

  it('shows the rows around the selected node of a long list', () => {
    const nodes = Array.from({ length: 100 }, (_, at) => node(`n${String(at).padStart(3, '0')}`));
    const state = { ...STATE, nodes };
    const text = textOf(frame(input({ sort: 'name', selected: nodes[60]?.name }, { state })));
    expect(text).toMatch(/▶ n060/);
    expect(text).not.toContain('n010');
    expect(text).toMatch(/… more lines: \d+ above, \d+ below/);
  });

  it.each([
    80, 120, 200,
  ])('marks each text that is cut, and cuts the name of the cluster first, at %d columns', (columns) => {
    const reason = `${'too large '.repeat(30)}END`;
    const state = {
      ...STATE,
      summary: { ...STATE.summary, clusterName: 'production-eu-central-1-platform-team-cluster-with-a-long-name' },
      pending: [{ pod: 'web/api-1', sinceMs: NOW - 65_000, reason }],
    };
    const lines = textOf(frame(input({ selected: 'web/api-1' }, { state, columns }))).split('\n');
    expect(lines[0]).toContain('($1,387/month)');
    for (const line of lines.filter((each) => each.includes('too large'))) expect(line).toMatch(/(…|END)$/);
    expect(lines.filter((each) => each.includes('too large'))).toHaveLength(2);
  });

  it.each([
    80, 100, 120, 200,
  ])('shows bars of both resources or of none, and whole names of nodes, at %d columns', (columns) => {
    const nodes = Array.from({ length: 9 }, (_, at) =>
      node(`ip-10-123-145-20${at}`, {
        instanceType: 'r7iz.metal-32xl',
        verdict: { code: 'spot-to-spot-flexibility', text: 'too few types' },
      }),
    );
    const rows = textOf(frame(input({}, { state: { ...STATE, nodes }, columns, rows: 40 })))
      .split('\n')
      .filter((line) => line.includes('r7iz'));
    expect(rows.map((row) => /ip-10-123-145-20\d/.exec(row)?.[0])).toHaveLength(new Set(rows).size);
    for (const row of rows) expect([0, 2]).toContain(row.match(/[█░]+/g)?.length ?? 0);
  });

  it('has the used shares beside the requested ones if the metrics API is served, and else no column for them', () => {
    const nodes = STATE.nodes.map((each, at) => (at === 0 ? { ...each, used: { cpu: 0.12, memory: 0.345 } } : each));
    const state = { ...STATE, nodes, summary: { ...STATE.summary, used: { cpu: 0.1, memory: 0.2 } } };
    const shown = textOf(frame(input({}, { state })));
    expect(shown).toContain('65 %, 10 % used');
    expect(shown).toMatch(/ USED .*\n(.*\n)*.* a .* 12 \/ 35 % /);
    expect(textOf(frame(input({ selected: nodes[0]?.name, isOpen: true }, { state })))).toContain(
      'requested, 35 % used',
    );
    expect(textOf(frame(input()))).not.toMatch(/used/i);
    for (const line of textOf(frame(input({}, { state, columns: 80 }))).split('\n'))
      expect(line.length).toBeLessThan(81);
  });

  it('indents the wrapped lines of a verdict, and has the name of the node once', () => {
    const { name = '' } = STATE.nodes[0] ?? {};
    const text = 'PodDisruptionBudget payments/checkout-service-availability allows 0 evictions now, 3 of 3 are needed';
    const verdict: Verdict = { node: name, code: 'pdb', text, methods: [] };
    const open = input({ selected: name, isOpen: true }, { columns: 60, verdictOf: () => verdict });
    const lines = textOf(frame(open)).split('\n');
    expect(lines.filter((line) => line === `Node ${name}`)).toHaveLength(1);
    const at = lines.findIndex((line) => line.startsWith('  because'));
    expect(lines[at + 1]).toMatch(/^ {16}\S/);
  });

  it('explains the selected node by the verdict, or by its absence', () => {
    const verdict: Verdict = {
      node: 'a',
      code: 'pdb',
      text: 'PDB web allows no eviction',
      methods: [{ method: 'emptiness', code: 'not-empty', text: 'pods run on the node' }],
    };
    const open = { selected: STATE.nodes[0]?.name, isOpen: true };
    const explained = textOf(frame(input(open, { verdictOf: () => verdict })));
    expect(explained).toContain('PDB web allows no eviction');
    expect(explained).toContain('emptiness');
    expect(explained).toContain('1.0 cores of 2.0 cores');
    expect(textOf(frame(input(open)))).toContain('not published a verdict');
  });

  it('explains the selected pod with the whole reason, and reports that a removed row is gone', () => {
    expect(textOf(frame(input({ selected: 'web/api-1', isOpen: true })))).toContain('second line');
    expect(textOf(frame(input({ selected: 'web/other', isOpen: true })))).toContain('web/other is gone');
  });

  it('shows pending pods with the same reason in one row, and lists them for the selected pod', () => {
    const waiting = (name: string, agoMs: number, reason?: string): PendingPod => ({
      pod: `web/${name}`,
      sinceMs: NOW - agoMs,
      ...(reason !== undefined && { reason }),
    });
    const pods = [waiting('b', 5_000, 'too large'), waiting('c', 90_000, 'tainted'), waiting('a', 65_000, 'too large')];
    const state = { ...STATE, pending: [...pods, waiting('d', 1_000), waiting('e', 2_000)] };
    const text = textOf(frame(input({}, { state, rows: 40 })));
    const rows = text.split('\n').filter((line) => line.includes('web/'));
    expect(rows.map((row) => row.trim().replaceAll(/ +/g, ' '))).toEqual([
      'web/c 90s tainted',
      'web/a 65s 2 pods: too large',
      'web/e 2s 2 pods: waits for kube-scheduler or for the first attempt of the operator',
    ]);
    const open = textOf(frame(input({ selected: 'web/a', isOpen: true }, { state, rows: 40 })));
    expect(open).toContain('Other pods with this reason: web/b');
  });

  it('shows a problem of the watches, and an empty cluster', () => {
    const state = { ...STATE, nodes: [], pending: [], decisions: [], costs: [] };
    const text = textOf(frame(input({}, { state, problem: 'waiting for the list of nodepools.karpenter.sh' })));
    expect(text).toContain('waiting for the list of nodepools.karpenter.sh');
    expect(text).toContain('no nodes');
  });
});

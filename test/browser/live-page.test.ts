/** The live page in a browser: display, keyboard use, accessibility, and a large cluster. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { NODE, NODE_CLAIM } from '#api/objects';
import { timestamp } from '#lib';
import { type LivePage, openLive } from '#live/page';
import { silent } from '#observe/logger';
import { createMetrics } from '#observe/setup';
import { present } from '../support/present.ts';
import { LiveCluster, NOW_MS } from '../unit/live/live-cluster.ts';
import { axeViolations } from './axe.ts';
import { startChromium } from './chromium.ts';

/** Factor for a busy machine; the limits apply to an idle one. */
const PATIENCE = 3;
const FIRST_PAINT_MS = 1_000;
const LONGEST_TASK_MS = 100;
const FIRST_VIEW_MS = 2_000;
/** Frames of a scroll, and the time of one at 60 frames a second. */
const FRAMES = 120;
const FRAME_MS = 1_000 / 60;

let browser: Browser;
let page: Page;
let live: LiveCluster;
let served: LivePage;
/** Errors of the page, and the hosts that it contacted. */
let complaints: string[];
let hosts: Set<string>;

beforeAll(async () => {
  browser = await startChromium();
}, 60_000);
afterAll(() => browser?.close());

beforeEach(() => {
  live = new LiveCluster();
  complaints = [];
  hosts = new Set();
});
afterEach(async () => {
  await page?.close();
  await served?.close();
});

interface Look {
  readonly scheme?: 'light' | 'dark';
  readonly path?: string;
  readonly width?: number;
  readonly clusterName?: string;
  readonly reducedMotion?: 'reduce' | 'no-preference';
}

async function open({
  scheme = 'light',
  path = '',
  width = 1400,
  reducedMotion,
  clusterName = live.sources.clusterName,
}: Look = {}): Promise<void> {
  served = await openLive({
    ...live.sources,
    clusterName,
    address: { host: '127.0.0.1', port: 0 },
    token: '',
    log: silent,
    metrics: createMetrics(),
    signal: new AbortController().signal,
  });
  page = await browser.newPage({
    colorScheme: scheme,
    viewport: { width, height: 1000 },
    ...(reducedMotion && { reducedMotion }),
  });
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => hosts.add(new URL(request.url()).host));
  await page.addInitScript(
    'globalThis.tasks = []; new PerformanceObserver((list) => tasks.push(...list.getEntries().map((one) => one.duration)))' +
      ".observe({ type: 'longtask', buffered: true });",
  );
  await page.goto(`${served.url}${path}`, { waitUntil: 'domcontentloaded' });
  await page.getByText('Live', { exact: true }).waitFor();
}

/** Returns the duration of the longest task in milliseconds; 0 if all took less than 50. */
const longestTask = (): Promise<number> =>
  page.evaluate(() => Math.max(0, ...(globalThis as unknown as { tasks: number[] }).tasks));

const NO_COST = { effective: 0, list: 0, idle: 0, daemonSets: 0, surplusCredits: 0 };
/** Records ten minutes of this cost. */
const recordCost = (usdPerHour: number): void => {
  const costs = new Map([['default', { ...NO_COST, effective: usdPerHour }]]);
  for (const atMs of [NOW_MS - 600_000, NOW_MS]) live.history.hours.sample(atMs, costs);
};
/** Records a launch with its join, and a refusal without a change of the nodes. */
const recordLaunch = (): void => {
  const { decisions } = live.history;
  const at = timestamp(NOW_MS - 60_000);
  decisions.fleet.measured(new Map([['a', 0.5]]));
  decisions.record(
    {
      ...{ kind: 'bought', at, nodeClaim: 'default-x', nodePool: 'default', reason: 'provisioned', pods: 1 },
      ...{ examples: ['default/web-1'], usdPerHour: 0.25, instanceType: 'm7i.2xlarge', capacityType: 'spot' },
      zone: 'zone-a',
    },
    { added: { nodeClaim: 'default-x', usdPerHour: 0.25 } },
  );
  decisions.joined('default-x', { node: 'node-0.internal', joinedAt: timestamp(NOW_MS - 20_000) });
  decisions.record({
    ...{ kind: 'refused', at, code: 'taint', text: '<b>NodePool</b> has a taint.', nodePools: ['default'] },
    ...{ namespaces: ['default'], pods: 1, examples: ['default/web-2'] },
  });
};
const WHAT_IF = {
  ...{ change: '', addedPods: 48, removedPods: 0, moreUnschedulable: 0, notEvaluated: 0, usdPerHour: 0.75 },
  launches: [{ nodePool: 'default', instanceType: 'm7i.2xlarge', nodes: 3, pods: 40, usdPerHour: 0.75 }],
  existing: [{ node: 'node-0.internal', pods: 7 }],
  unschedulable: [{ pod: 'default/web-1', reason: 'no room' }],
  effect: {
    before: { nodes: 3, newNodes: 1, usdPerHour: 0.75, unschedulable: 0 },
    after: { nodes: 5, newNodes: 3, usdPerHour: 1.25, unschedulable: 1 },
    usdPerHourAdded: 0.5,
    drains: [
      {
        node: 'node-0.internal',
        canFinish: false,
        blockers: [
          {
            code: 'pdb',
            text: 'PodDisruptionBudget default/web allows 0 evictions',
            pods: ['default/web-1'],
            ends: 'never',
          },
        ],
      },
    ],
    pods: [
      { pod: 'default/web-1', problem: 'no room' },
      { pod: 'default/web-2', newNode: 0 },
    ],
    newNodes: [{ nodePool: 'default', instanceType: 'm7i.2xlarge', usdPerHour: 0.25, pods: ['default/web-2'] }],
  },
};
const VIEWS = [
  ['log', 'Log'],
  ['efficiency', 'Requests and use'],
  ['efficiency/label%3Ateam', 'Requests and use'],
  ['nodepools', 'NodePools'],
  ['nodepool/default', 'NodePool default'],
  ['nodeclasses', 'NodeClasses'],
  ['nodeclass/default', 'NodeClass default'],
  ['timeline', 'Timeline'],
  ['what-if/drain%20node-0.internal', 'What if'],
] as const;

const listOf = (list: string): Promise<readonly (string | null)[]> =>
  page
    .locator(`#choices-${list} option`)
    .all()
    .then((found) => Promise.all(found.map((each) => each.getAttribute('value'))));
const internal = (name: string): string => `${name}.internal`;
const rowNames = (): Promise<readonly string[]> => page.locator('tbody th a').allTextContents();

describe('the live page', () => {
  it.each([
    390, 600, 768, 900, 1024, 1280, 1440,
  ])('shows each view in the header at a width of %d px', async (width) => {
    live.fill(2, 1, 1);
    await open({ width, clusterName: 'production-eu-central-1-platform-team-cluster' });
    for (const name of ['Map', 'Log', 'Efficiency', 'NodePools', 'NodeClasses', 'Timeline', 'What if']) {
      const link = page.locator('#views').getByText(name, { exact: true });
      const { x, y, width: own, height } = (await link.boundingBox()) ?? { x: -1, y: 0, width: 0, height: 0 };
      const found = await Promise.all(
        [x + 2, x + own - 2].map((at) =>
          page.evaluate(`document.elementFromPoint(${at}, ${y + height / 2})?.textContent`),
        ),
      );
      expect({ name, found, isInside: x >= 0 && x + own <= width }).toEqual({
        name,
        found: [name, name],
        isInside: true,
      });
    }
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    expect(await axeViolations(page)).toEqual([]);
  });

  it.each([390, 900, 1024, 1280, 1440])('has rows of one line without overflow at a width of %d px', async (width) => {
    live.fill(6, 2, 2);
    live.limitedPool('default');
    live.brokenClass();
    live.uses = new Map([['default/pod-0-0', { cpu: { p50: 400, p95: 400 }, memory: { p50: 2 ** 30, p95: 2 ** 30 } }]]);
    recordLaunch();
    live.verdicts = Array.from({ length: 6 }, (_, index) => ({
      ...{ node: `node-${index}.internal`, code: 'pdb', text: 'allows no eviction', methods: [] },
      object: { kind: 'PodDisruptionBudget', namespace: 'shop', name: 'a-budget-with-a-very-long-name' },
    }));
    await open({ width });
    await page.locator('tbody tr').nth(5).waitFor();
    await live.clock.advance(10_000);
    await page.locator('tbody tr').first().getByText('$0.2500').waitFor();
    // a row of a narrow page is a card in the other views
    for (const view of width < 768 ? [''] : ['', 'log', 'efficiency', 'nodepools', 'nodeclasses']) {
      await page.goto(`${served.url}#/${view}`);
      const rows = view === '' ? '#pools tbody tr' : '#details .cards tbody tr';
      await page.locator(rows).first().waitFor();
      // in one step, because the page replaces its rows
      const highest = `Math.max(...[...document.querySelectorAll('${rows}')].map((row) => row.getBoundingClientRect().height))`;
      const height = await page.evaluate(highest);
      expect(height).toBeGreaterThan(0);
      expect(height).toBeLessThanOrEqual(32);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    }
    await page.goto(served.url);
    expect(await page.locator('tbody tr').first().getAttribute('title')).toContain('m7i.2xlarge, us-west-2a, spot');
    expect(await page.locator('tbody td.why span').first().getAttribute('title')).toBe('allows no eviction');
  });

  it('sorts the nodes by each column, with the mouse and with the keyboard', async () => {
    live.fill(6, 1);
    live.pod('more-1', 'node-4.internal');
    await open();
    await page.locator('tbody tr').nth(5).waitFor();
    expect(await rowNames()).toEqual(['node-0', 'node-2', 'node-4', 'node-1', 'node-3', 'node-5'].map(internal));
    const heading = (name: string) => page.getByRole('columnheader', { name });
    expect(await heading('Node').first().getAttribute('aria-sort')).toBe('ascending');

    await page.getByRole('button', { name: 'Pods' }).first().click();
    await page.locator('tbody tr:first-child th', { hasText: 'node-4' }).waitFor();
    expect(await rowNames()).toEqual(['node-4', 'node-0', 'node-2', 'node-1', 'node-3', 'node-5'].map(internal));
    expect(await heading('Pods').first().getAttribute('aria-sort')).toBe('descending');
    expect(await heading('Node').first().getAttribute('aria-sort')).toBe('none');
    // the order applies to all tables
    expect(await heading('Pods').last().getAttribute('aria-sort')).toBe('descending');

    await page.getByRole('button', { name: 'Instance type' }).first().focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    await page.locator('tbody tr:first-child td.instance', { hasText: 'm7i.2xlarge' }).first().waitFor();
    expect(await heading('Instance type').first().getAttribute('aria-sort')).toBe('descending');
    expect(await page.locator(':focus').textContent()).toBe('Instance type');
    expect(await axeViolations(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('keeps the headings of a table in sight', async () => {
    live.fill(120, 1);
    await open({ width: 1024 });
    await page.locator('tbody tr').nth(40).waitFor({ state: 'attached' });
    await page.locator('tbody tr').nth(40).scrollIntoViewIfNeeded();
    await page.evaluate('scrollBy(0, 300)');
    const [header, head] = await Promise.all([
      page.locator('header').boundingBox(),
      page.locator('#pools thead').first().boundingBox(),
    ]);
    expect(head?.y).toBeCloseTo((header?.y ?? 0) + (header?.height ?? 0), 0);
  });

  it('has the cost per month, the requested and the idle part, and the part of spot', async () => {
    live.fill(4, 4, 0);
    await open();
    await live.clock.advance(10_000);
    await page.locator('#summary').getByText('$730').waitFor();
    const facts = await page.locator('#summary > div').allInnerTexts();
    expect(facts.map((fact) => fact.replaceAll('\n', ' '))).toEqual(
      expect.arrayContaining(['USD/month $730', 'CPU 13 % requested', 'Memory 6 % requested', 'Spot 50 %']),
    );
    const { idleUsdPerMonth } = JSON.parse(
      await page.evaluate(
        "new Promise((done) => new EventSource('/api/events').addEventListener('state', ({ data }) => done(JSON.stringify(JSON.parse(data).summary))))",
      ),
    );
    expect(facts).toContainEqual(expect.stringContaining(`$${Math.round(idleUsdPerMonth)}`));

    const half = { cpu: { p50: 1_600, p95: 1_600 }, memory: { p50: 2 ** 31, p95: 2 ** 31 } };
    live.uses = new Map([['default/pod-0-0', half]]);
    // the first sample failed, and the next is due after a minute
    await live.clock.advance(61_000);
    await page.locator('#summary').getByText('5 % used').waitFor();
    await page.getByRole('link', { name: 'Efficiency' }).click();
    await page.getByRole('row', { name: /default\/Pod\/pod-0-0.*0\.25.*1\.6.*512 MiB.*2 GiB/s }).waitFor();
    await page.getByRole('link', { name: 'namespace' }).click();
    await page.getByRole('row', { name: /default.*16 \(1 measured\)/s }).waitFor();
    await page.getByLabel('Label').fill('team');
    await page.getByRole('button', { name: 'Group' }).click();
    await page.getByRole('cell', { name: 'without the label' }).waitFor();
  });

  it('shows pending pods with the same cause once, and all of them on demand', async () => {
    live.fill(1, 0, 8);
    live.podVerdicts = Array.from({ length: 8 }, (_, index) => ({
      ...{ pod: `default/waits-${index}`, code: 'unschedulable' },
      text: index < 6 ? `needs ${index} CPUs` : 'no room',
      ...(index < 6 && {
        cause: {
          ...{ code: 'limits', object: { kind: 'NodePool', name: 'default' }, field: 'cpu' },
          ...{ wanted: `${index}`, offered: '4', remedy: '' },
        },
      }),
    }));
    await open();
    const rows = page.locator('#pending > li');
    await page.locator('#pending').getByText('6 pods').waitFor();
    expect(await rows.count()).toBe(2);
    expect(await rows.first().innerText()).toMatch(/6 pods needs 0 CPUs\s+default\/waits-0/);
    await page.getByText('and 5 other pods').click();
    await page.getByRole('link', { name: 'default/waits-5' }).waitFor();
    live.pod('waits-0', 'node-0.internal');
    await page.locator('#pending').getByText('5 pods').waitFor();
    expect(await page.getByRole('link', { name: 'default/waits-5' }).isVisible()).toBe(true);
  });

  it('shows nodes, pending pods and decisions, with their changes', async () => {
    live.fill(4, 2, 1);
    await open();
    await page.locator('tbody tr').nth(3).waitFor();
    expect(await rowNames()).toEqual(['node-0.internal', 'node-2.internal', 'node-1.internal', 'node-3.internal']);
    expect(await page.locator('#pending').innerText()).toContain('default/waits-0');

    live.pod('late');
    live.claim(9, false);
    live.claim(9);
    live.node(9);
    await page.getByText('Launched').first().waitFor();
    await page.getByText('node-9.internal').first().waitFor();
    expect(await page.locator('#pending').innerText()).toContain('2 pods');
    expect(complaints).toEqual([]);
    expect([...hosts]).toEqual([new URL(served.url).host]);
  });

  it('can be searched and navigated with the keyboard', async () => {
    live.fill(6, 2, 0);
    await open();
    await page.locator('tbody tr').nth(5).waitFor();
    await page.keyboard.press('Tab');
    expect(await page.locator(':focus').textContent()).toBe('Skip to the content');
    while ((await page.locator(':focus').getAttribute('id')) !== 'query') await page.keyboard.press('Tab');
    await page.keyboard.type('node-3');
    await page.locator('tbody tr').nth(1).waitFor({ state: 'detached' });
    expect(await rowNames()).toEqual(['node-3.internal']);
    await page.keyboard.press('Enter');
    await page.getByText('Results for').waitFor();

    await page.getByRole('link', { name: 'node-3.internal' }).last().focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Node node-3.internal' }).waitFor();
    expect(await page.locator(':focus').getAttribute('id')).toBe('details');
    await page.getByRole('link', { name: 'default/pod-3-0' }).click();
    await page.getByRole('heading', { name: 'Pod default/pod-3-0' }).waitFor();
    await page.getByRole('link', { name: 'Close' }).click();
    await page.locator('#details').waitFor({ state: 'hidden' });
    expect(complaints).toEqual([]);
  });

  it.each(['light', 'dark'] as const)('has no accessibility violations, %s', async (scheme) => {
    live.fill(3, 2, 2);
    live.verdicts = [{ node: 'node-0.internal', code: 'pdb', text: 'in the way', methods: [] }];
    await open({ scheme });
    await page.locator('tbody tr').nth(2).waitFor();
    live.claim(9, false);
    live.claim(9);
    await page.getByText('Launched').first().waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.goto(`${served.url}#/node/node-0.internal`);
    await page.getByRole('heading', { name: 'Node node-0.internal' }).waitFor();
    expect(await axeViolations(page)).toEqual([]);
  });

  it('has views of NodePools and NodeClasses, with conditions, limits and events', async () => {
    live.fill(2, 1);
    live.limitedPool('default');
    live.brokenClass();
    await open();
    await page.getByRole('link', { name: 'NodePools' }).click();
    await page.getByRole('row', { name: /default.*Not ready.*8 of 40/s }).waitFor();
    await page.getByRole('link', { name: 'default' }).first().click();
    await page.getByRole('heading', { name: 'NodePool default' }).waitFor();
    expect(await page.locator('#details').innerText()).toMatch(/Disruption budgets\s+10% of the nodes/);
    await page.getByRole('link', { name: 'default' }).first().click();
    await page.getByRole('heading', { name: 'NodeClass default' }).waitFor();
    expect(await page.locator('#details').innerText()).toContain('did not match any SecurityGroups');
    expect(await page.locator('#views a[aria-current]').innerText()).toBe('NodeClasses');
    await page.goBack();
    await page.getByRole('heading', { name: 'NodePool default' }).waitFor();
    await page.getByRole('link', { name: 'Map' }).click();
    await page.locator('#boxes .box').first().waitFor();
    expect(complaints).toEqual([]);
  });

  it.each([
    ['light', 390],
    ['dark', 390],
    ['light', 1024],
    ['dark', 1440],
  ] as const)('has no accessibility violations and no overflow in the other views, %s, %d px', async (scheme, width) => {
    live.fill(2, 2);
    live.ownedPod('a-workload-with-a-long-name-abc-1', {
      ...{ namespace: 'payments-platform', kind: 'ReplicaSet', name: 'a-workload-with-a-long-name-abc', hash: 'abc' },
    });
    live.limitedPool('default');
    live.brokenClass();
    live.uses = new Map([['default/pod-0-0', { cpu: { p50: 400, p95: 400 }, memory: { p50: 2 ** 30, p95: 2 ** 30 } }]]);
    recordCost(2);
    live.whatIf = async () => WHAT_IF;
    recordLaunch();
    await open({ scheme, width });
    for (const [view, heading] of VIEWS) {
      await page.goto(`${served.url}#/${view}`);
      await page.getByRole('heading', { name: heading, level: 2 }).waitFor();
      const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
      expect([view, overflow]).toEqual([view, Math.min(0, overflow)]);
      expect([view, await axeViolations(page)]).toEqual([view, []]);
    }
  });

  it('shows whole texts in the cards of a narrow page, and the beginning of the cluster name', async () => {
    live.fill(2, 1);
    live.brokenClass();
    live.limitedPool('default');
    recordLaunch();
    await open({ width: 390, clusterName: 'production-eu-central-1-platform' });
    // 6rem of the heading are the name of the product
    expect((await page.locator('h1').boundingBox())?.width).toBeGreaterThan(200);
    for (const view of ['log', 'nodepools', 'nodeclasses']) {
      await page.goto(`${served.url}#/${view}`);
      await page.locator('#details .cut').first().waitFor();
      const cut = `[...document.querySelectorAll('#details .cut')].filter((each) => each.scrollWidth > each.clientWidth).length`;
      expect([view, await page.evaluate(cut)]).toEqual([view, 0]);
    }
  });

  it.each([1024, 1440])('leaves most of the log to the reasons at a width of %d px', async (width) => {
    live.fill(2, 1);
    recordLaunch();
    await open({ width, path: '#/log' });
    await page.locator('#details tbody tr').nth(2).waitFor();
    const cell = await page.locator('#details tbody tr').nth(2).locator('td').last().boundingBox();
    expect(cell?.width).toBeGreaterThan(width * 0.5);
  });

  it('gives a NodePool the same colour on the map and in the timeline', async () => {
    live.fill(4, 1);
    live.history.hours.sample(NOW_MS - 600_000, new Map([['gpu', { ...NO_COST, effective: 9 }]]));
    const costs = new Map(['default', 'gpu'].map((name) => [name, { ...NO_COST, effective: name === 'gpu' ? 9 : 1 }]));
    live.history.hours.sample(NOW_MS, costs);
    await open();
    const tones = (rows: string): Promise<readonly (readonly [string, string])[]> =>
      page.evaluate(
        `[...document.querySelectorAll('${rows}')].map((row) => [row.textContent.trim().split(' ')[0], getComputedStyle(row.querySelector('.swatch')).backgroundColor])`,
      );
    await page.locator('#legend li', { hasText: 'gpu' }).waitFor();
    const onMap = new Map(await tones('#legend li'));
    await page.getByRole('link', { name: 'Timeline' }).click();
    await page.locator('#details .swatch').first().waitFor();
    const inTimeline = await tones('#details .cards td:first-child');
    expect(inTimeline.map(([name]) => name)).toEqual(['gpu', 'default']);
    expect(inTimeline.map(([, tone]) => tone)).toEqual(['gpu', 'default'].map((name) => onMap.get(name)));
  });

  it('has a log of decisions, latest first, with links to nodes', async () => {
    live.fill(2, 1);
    recordLaunch();
    await open({ path: '#/log' });
    const rows = page.locator('#details tbody tr');
    await rows.nth(2).waitFor();
    expect(await rows.allInnerTexts()).toEqual([
      expect.stringMatching(/join\s+node node-0\.internal can run pods, 40 s after/),
      expect.stringMatching(/refusal\s+no node for 1 pod \(default\/web-2\): <b>NodePool<\/b> has a taint\./),
      expect.stringMatching(/launch\s+1 → 2\s+\$0\.5000 → \$0\.7500\s+NodePool default: m7i\.2xlarge spot zone-a/),
    ]);
    expect(await page.locator('#views a[aria-current]').innerText()).toBe('Log');
    await page.getByRole('link', { name: 'node-0.internal' }).click();
    await page.getByRole('heading', { name: 'Node node-0.internal' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('has a timeline of nodes and of costs', async () => {
    live.fill(2, 1);
    recordCost(2);
    await open({ path: '#/timeline' });
    await page.locator('.lives li').nth(1).waitFor();
    expect(await page.locator('.lives li').first().innerText()).toContain('Created 1 h ago');
    expect(await page.locator('svg.stack path').count()).toBe(1);
    expect(await page.locator('#details').innerText()).toMatch(/default\s+\$0\.33\d*\s+\$2\.00/);
    await page.getByRole('link', { name: '1 h' }).click();
    await page.locator('.choices a[aria-current]').getByText('1 h').waitFor();
    expect(complaints).toEqual([]);
  });

  it('shows the effect of a change under its own address', async () => {
    live.fill(2, 1);
    live.ownedPod('web-abc-1', { namespace: 'shop', kind: 'ReplicaSet', name: 'web-abc', hash: 'abc' });
    live.ownedPod('agent', { namespace: 'shop', kind: 'DaemonSet', name: 'agent' });
    const asked: string[] = [];
    live.whatIf = async (change) => {
      asked.push(change);
      if (change.includes('nobody')) throw Object.assign(new Error('it has no pods'), { name: 'WhatIfError' });
      return WHAT_IF;
    };
    await open();
    await page.getByRole('link', { name: 'What if' }).click();
    await page.locator('#choices-nodes option').nth(1).waitFor({ state: 'attached' });
    const workload = page.getByRole('combobox', { name: 'Workload' });
    expect(await listOf('workloads')).toEqual(['shop/Deployment/web']);
    expect(await listOf('nodes')).toEqual(['node-0.internal', 'node-1.internal']);
    expect(await listOf('nodePools')).toEqual(['default', 'gpu']);
    await workload.fill('shop/Deployment/web');
    await page.getByLabel('Replicas', { exact: true }).fill('50');
    await page.keyboard.press('Enter');
    await page.getByText('48 pods would be added. 3 nodes would be launched for $0.7500 an hour.').waitFor();
    await page.getByRole('row', { name: /default.*m7i.2xlarge.*3.*40/s }).waitFor();
    await page.getByText('The change adds $0.5000 an hour.').waitFor();
    await page.getByText('The drain of node-0.internal cannot finish without a change.').waitFor();
    await page.getByRole('row', { name: /pdb.*default\/web allows 0 evictions.*default\/web-1.*never/s }).waitFor();
    await page.getByRole('row', { name: /default\/web-2.*new node 1, m7i.2xlarge/s }).waitFor();
    expect(await page.getByLabel('Replicas', { exact: true }).inputValue()).toBe('50');

    await workload.fill('default/deploy/nobody');
    await page.getByRole('button', { name: 'Show the effect' }).click();
    await page.getByText('it has no pods').waitFor();
    await page.goto(`${served.url}#/node/node-0.internal`);
    await page.getByRole('link', { name: 'What if this node is drained?' }).click();
    await page.getByText('1 pod would stay pending.').waitFor();
    expect(await page.getByRole('combobox', { name: 'Node' }).inputValue()).toBe('node-0.internal');
    expect(asked).toEqual(['scale shop/Deployment/web=50', 'scale default/deploy/nobody=50', 'drain node-0.internal']);
    expect(complaints.filter((text) => !text.includes('400'))).toEqual([]);
  });

  it('reports that its data is outdated if the operator is gone', async () => {
    live.fill(1, 0);
    await open();
    await served.close();
    await page.getByText('Connection lost').waitFor();
  });

  it('maps nodes with their pods, and animates launched and removed nodes', async () => {
    live.fill(4, 3, 2);
    await open();
    const boxes = page.locator('#boxes .box');
    await boxes.nth(3).waitFor();
    expect(await page.locator('#boxes h3').allTextContents()).toEqual([
      'NodePool default · 2 nodes',
      'NodePool gpu · 2 nodes',
    ]);
    expect(await boxes.first().getAttribute('aria-label')).toContain('node-0.internal\nm7i.2xlarge, us-west-2a, spot');
    expect(await boxes.first().locator('path.pod-running').getAttribute('d')).toMatch(/^(M[^z]+z){3}$/);
    expect(await page.locator('#waiting .square').count()).toBe(2);
    expect(await page.locator('#boxes .arrives').count()).toBe(0);

    live.claim(9);
    await page.locator('#boxes li.arrives .box.launching').waitFor();
    live.stores.store(NODE).remove(present(live.stores.store(NODE).list()[0]));
    live.stores.store(NODE_CLAIM).remove(present(live.stores.store(NODE_CLAIM).get({ name: 'claim-0' })));
    await page.locator('#boxes li.leaves').waitFor();
    await page.locator('#boxes li.leaves').waitFor({ state: 'detached' });
    expect(await boxes.count()).toBe(4);

    await page.locator('#colour').selectOption('disruption');
    await page.locator('#legend', { hasText: 'Not known yet' }).waitFor();
    expect(await boxes.first().getAttribute('style')).toContain('--tone: var(--unknown)');
    expect(complaints).toEqual([]);
  });

  it('does not animate nodes if the user prefers reduced motion', async () => {
    live.fill(2, 1);
    await open({ reducedMotion: 'reduce' });
    await page.locator('#boxes .box').nth(1).waitFor();
    live.claim(9);
    await page.locator('#boxes .box.launching').waitFor();
    expect(await page.locator('#boxes .arrives').count()).toBe(0);
    const animation = await page.evaluate("getComputedStyle(document.querySelector('.box.launching')).animationName");
    expect(animation).toBe('none');
  });

  it('moves through the map with arrow keys, as one stop of the Tab key', async () => {
    live.fill(4, 1);
    await open();
    await page.locator('#boxes .box').nth(3).waitFor();
    expect(await page.locator('#boxes .box[tabindex="0"]').count()).toBe(1);
    await page.locator('#boxes .box').first().focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    expect(await page.locator(':focus').getAttribute('href')).toBe('#/node/node-1.internal');
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Node node-3.internal' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('draws many nodes on a canvas, and opens a node with a click', async () => {
    live.fill(400, 1);
    await open();
    const canvas = page.locator('#map canvas');
    await canvas.waitFor();
    expect(await canvas.getAttribute('aria-label')).toBe('400 nodes in 2 NodePools. The table lists them.');
    // a colour that the canvas cannot parse is drawn in black
    const context = "document.querySelector('#map canvas').getContext('2d')";
    const pixel = await page.evaluate<number[]>(`[...${context}.getImageData(4, 26, 1, 1).data]`);
    expect(Math.max(...pixel.slice(0, 3))).toBeGreaterThan(0);
    expect(await page.locator('#map').innerText()).toContain('the map shows nodes without pods');
    expect(await page.locator('#boxes .box').count()).toBe(0);
    expect(await page.locator('tbody tr').count()).toBeLessThanOrEqual(200);
    await page.getByRole('button', { name: 'Show 100 more' }).first().click();
    await page.locator('tbody tr').nth(299).waitFor({ state: 'attached' });

    await page.locator('#query').fill('node-39');
    await page.locator('#boxes .box').nth(10).waitFor();
    expect(await canvas.count()).toBe(0);
    await page.locator('#query').fill('');
    await canvas.click({ position: { x: 4, y: 26 } });
    await page.getByRole('heading', { name: 'Node node-0.internal' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it.each([
    390, 800, 1210, 1280, 1400,
  ])('fits a window of %i pixels, with price and reason of each node', async (width) => {
    live.fill(3, 2, 1);
    live.verdicts = [{ node: 'node-0.internal', code: 'not-worth-moving', text: 'moving costs more', methods: [] }];
    await open({ width });
    await live.clock.advance(10_000);
    const row = page.locator('tbody tr').first();
    await row.getByText('$0.2500').waitFor();
    expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    for (const cell of [row.getByText('$0.2500'), row.getByText('Moving its pods costs more than it saves')]) {
      const box = await cell.boundingBox();
      expect(box?.x).toBeGreaterThanOrEqual(0);
      expect((box?.x ?? 0) + (box?.width ?? width)).toBeLessThanOrEqual(width);
    }
    // a price that is broken in the middle reads as another price
    const lines = await page.evaluate<readonly number[]>(
      `[...document.querySelectorAll('tbody td.price')].map((cell) => {
        const range = document.createRange();
        range.selectNodeContents(cell.firstChild);
        return range.getClientRects().length;
      })`,
    );
    expect(new Set(lines)).toEqual(new Set([1]));
  });

  it.each([390, 1400])('does not move its parts while values change; %i pixels', async (width) => {
    live.fill(2, 1);
    await open({ width });
    await page.locator('#boxes .box').nth(1).waitFor();
    const tops = () =>
      page.evaluate<readonly number[]>(
        "['#connection', '#totals', '#summary dd', '#costs', '#map', '#waiting', '#boxes'].map((each) => document.querySelector(each).getBoundingClientRect().top + scrollY)",
      );
    const before = await tops();
    live.surplus = 0.05;
    live.price = 123.456;
    for (let index = 0; index < 200; index += 1) live.pod(`waits-${index}`);
    for (let times = 0; times < 8; times += 1) await live.clock.advance(10_000);
    await page.getByText('200 pending pods').waitFor();
    await page.locator('#cost-chart svg').waitFor();
    expect(await tops()).toEqual(before);
    await served.close();
    await page.getByText('Connection lost').waitFor();
    expect(await tops()).toEqual(before);
  });

  it('shows names as text, regardless of their content', async () => {
    live.fill(1, 0);
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'waits', namespace: 'default' } };
    live.pod('waits');
    await open();
    served.note({ object: pod, type: 'Warning', reason: 'FailedScheduling', message: '<img src=x onerror=alert(1)>' });
    await page.getByText('<img src=x onerror=alert(1)>').waitFor();
    expect(await page.locator('img').count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  it('shows 600 nodes soon, and scrolls through them smoothly', async () => {
    live.fill(600, 10, 50);
    await open();
    await page.getByRole('button', { name: 'Show 200 more' }).first().click();
    await page.getByRole('button', { name: 'Show 200 more' }).last().click();
    await page.locator('tbody tr').nth(599).waitFor({ state: 'attached' });
    const viewMs = await page.evaluate(
      () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.POSITIVE_INFINITY,
    );
    const devTools = await page.context().newCDPSession(page);
    await devTools.send('Performance.enable');
    const cpuSeconds = async (): Promise<number> =>
      (await devTools.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'ThreadTime')?.value ??
      Number.NaN;
    const before = await cpuSeconds();
    const { frames, slowMs } = await page.evaluate<{ frames: number; slowMs: number }>(`new Promise((done) => {
      const times = [];
      const step = (ms) => {
        times.push(ms);
        scrollBy(0, 120);
        if (times.length <= ${FRAMES}) return requestAnimationFrame(step);
        const gaps = times.slice(1).map((each, at) => each - times[at]).sort((a, b) => a - b);
        done({ frames: (1000 * gaps.length) / (times.at(-1) - times[0]), slowMs: gaps[Math.floor(gaps.length * 0.95)] });
      };
      requestAnimationFrame(step);
    })`);
    const frameMs = (1_000 * ((await cpuSeconds()) - before)) / FRAMES;
    process.stdout.write(
      `600 nodes: first paint ${Math.round(viewMs)} ms, ${Math.round(frames)} frames a second, 95 % of frames within ${Math.round(slowMs)} ms, ${frameMs.toFixed(1)} ms of CPU each\n`,
    );
    expect(viewMs).toBeLessThan(FIRST_VIEW_MS * PATIENCE);
    // CPU time does not depend on the load of the machine
    expect(frameMs).toBeLessThan(FRAME_MS);
  });

  it('is responsive with a thousand nodes and twenty thousand pods', async () => {
    live.fill(1_000, 20, 200);
    live.verdicts = Array.from({ length: 1_000 }, (_, index) => ({
      node: `node-${index}.internal`,
      code: 'nominated',
      text: 'node is nominated for a pending pod',
      methods: [],
    }));
    await open();
    await page.locator('#map canvas').waitFor();
    await page.locator('tbody tr').nth(199).waitFor({ state: 'attached' });
    for (let index = 0; index < 100; index += 1) live.pod(`more-${index}`, `node-${index * 10}.internal`);
    await page.waitForTimeout(2_500);
    await page.locator('#query').fill('node-77');
    await page.locator('tbody tr').nth(20).waitFor({ state: 'detached' });
    const paintMs = await page.evaluate(
      () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.POSITIVE_INFINITY,
    );
    const longestMs = await longestTask();
    // verifies the measurement itself
    await page.evaluate(() => {
      const block = (): void => {
        for (const startedMs = performance.now(); performance.now() - startedMs < 200; );
      };
      setTimeout(block);
    });
    await page.waitForTimeout(500);
    expect(await longestTask()).toBeGreaterThan(150);
    process.stdout.write(`first paint ${Math.round(paintMs)} ms, longest task ${Math.round(longestMs)} ms\n`);
    expect(paintMs).toBeLessThan(FIRST_PAINT_MS * PATIENCE);
    expect(longestMs).toBeLessThan(LONGEST_TASK_MS * PATIENCE);
  });
});

import { request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { NODE_CLAIM, type NodeClaim } from '#api/objects';
import { timestamp } from '#lib';
import type { WhatIfResponse } from '#live/view';
import type { PoolCost } from '#observe/history';
import { silent } from '#observe/logger';
import { createMetrics } from '#observe/setup';
import { type LivePage, openLive } from '../../../src/live/index.ts';
import { partial } from '../../support/partial.ts';
import { present } from '../../support/present.ts';
import { LiveCluster } from './live-cluster.ts';

let live: LiveCluster;
let page: LivePage;
const closing = new AbortController();

const open = (token = ''): Promise<LivePage> =>
  openLive({
    ...live.sources,
    address: { host: '127.0.0.1', port: 0 },
    token,
    log: silent,
    metrics: createMetrics(),
    signal: closing.signal,
  });

beforeEach(async () => {
  live = new LiveCluster();
  live.fill(2, 1, 1);
  page = await open();
});
afterEach(() => page.close());

const get = (path: string, init?: RequestInit): Promise<Response> => fetch(new URL(path, page.url), init);

/** Sends headers that `fetch` does not. */
function statusOf(path: string, headers: Readonly<Record<string, string>>): Promise<number | undefined> {
  const { port } = new URL(page.url);
  return new Promise((resolve, reject) => {
    request({ port, host: '127.0.0.1', path, headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    })
      .on('error', reject)
      .end();
  });
}

/** Reads this number of server-sent events. */
async function events(
  count: number,
): Promise<readonly { readonly event: string; readonly data: Record<string, unknown> }[]> {
  const stop = new AbortController();
  const { body } = await get('/api/events', { signal: stop.signal });
  let text = '';
  for await (const chunk of (body ?? []) as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(chunk).toString();
    if (text.split('\n\n').length > count) break;
  }
  stop.abort();
  return text
    .split('\n\n')
    .slice(0, count)
    .map((block) => {
      const [event = '', data = ''] = block.split('\n');
      return { event: event.slice('event: '.length), data: JSON.parse(data.slice('data: '.length)) };
    });
}

describe('the live page', () => {
  it.each([
    ['/', 'text/html'],
    ['/index.html', 'text/html'],
    ['/app.js', 'text/javascript'],
    ['/dom.js', 'text/javascript'],
    ['/style.css', 'text/css'],
    ['/icon.svg', 'image/svg'],
  ])('serves %s', async (path, type) => {
    const answer = await get(path);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, expect.stringContaining(type)]);
  });

  it('contains no external script, style or address, and every file that it loads is served', async () => {
    const html = await (await get('/')).text();
    expect(html).not.toMatch(/https?:|\son\w+=|<style|<script(?![^>]*src=)/);
    const wanted = [...html.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path = '']) => path);
    // The list grows when scripts import other scripts.
    for (const path of wanted) {
      if (!path.endsWith('.js')) continue;
      const script = await (await get(path)).text();
      const more = [...script.matchAll(/from '\.(\/[^']+)'/g)].map(([, file = '']) => file);
      wanted.push(...more.filter((file) => !wanted.includes(file)));
    }
    expect(wanted).toContain('/format.js');
    for (const path of wanted) expect([path, (await get(path)).status]).toEqual([path, 200]);
  });

  it('forbids external resources', async () => {
    for (const path of ['/', '/api/search?q=x', '/nothing']) {
      const policy = (await get(path)).headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).not.toMatch(/unsafe|\*|https?:/);
    }
  });

  it.each([
    ['/etc/passwd', 404],
    ['/../package.json', 404],
    ['/page/app.js', 404],
    ['/api/node', 404],
    ['/api/node?name=nobody', 404],
    ['/api/pod?name=default/waits-9', 404],
    ['/__proto__', 404],
    ['/api/nodepool', 404],
    ['/api/nodepool?name=nobody', 404],
    ['/api/nodepool?name=__proto__', 404],
    [`/api/nodepool?name=${'x'.repeat(600)}`, 400],
    ['/api/nodeclass?name=constructor', 404],
    [`/api/search?q=${'x'.repeat(600)}`, 400],
    ['/api/search?q=node-1', 200],
    ['/api/node?name=claim-1', 200],
    ['/api/pod?name=default%2Fwaits-0', 200],
  ])('returns %s with %d', async (path, status) => {
    expect((await get(path)).status).toBe(status);
  });

  it('changes nothing in the cluster', async () => {
    expect((await get('/api/node?name=claim-1', { method: 'POST' })).status).toBe(405);
    expect((await get('/api/node?name=claim-1', { method: 'DELETE' })).status).toBe(405);
  });

  it('sends the whole state first, then changes', async () => {
    const reading = events(2);
    await pause(300);
    live.pod('another');
    const [first, second] = await reading;
    expect([first?.event, second?.event]).toEqual(['state', 'change']);
    expect((first?.data.nodes as unknown[]).length).toBe(2);
    expect(second?.data).toMatchObject({
      nodes: [],
      pending: [{ pod: 'default/another', pods: 2, others: [{ pod: 'default/waits-0' }] }],
    });
  });

  it('sends the parts of prices for surplus CPU credits', async () => {
    live.surplus = 0.05;
    await live.clock.advance(20_000);
    const [first] = await events(1);
    expect(first?.data.summary).toMatchObject({ usdPerHour: 0.5, surplusCreditsUsdPerHour: 0.1 });
    expect(first?.data.nodes).toMatchObject([{ surplusCreditsUsdPerHour: 0.05 }, { surplusCreditsUsdPerHour: 0.05 }]);
    const details = await (await get('/api/node?name=claim-1')).json();
    expect(details).toMatchObject({ node: { usdPerHour: 0.25, surplusCreditsUsdPerHour: 0.05 } });
  });

  it('lists NodePools with their use of limits, and shows one with conditions and events', async () => {
    live.limitedPool('default');
    const { rows, more } = (await (await get('/api/nodepools')).json()) as { rows: unknown[]; more: number };
    expect(more).toBe(0);
    expect(rows).toMatchObject([
      {
        name: 'default',
        ready: 'False',
        problem: 'EC2NodeClass default: is not ready',
        nodeClass: 'default',
        nodes: 1,
        usage: [
          { resource: 'nodes', used: 1 },
          { resource: 'cpu', used: 8_000, limit: 40_000 },
          { resource: 'memory', used: 32 * 2 ** 30 },
          { resource: 'example.com/gpu', used: 0, limit: 4 },
        ],
      },
      { name: 'gpu', ready: 'Unknown', problem: 'its conditions are still to be computed', nodes: 1 },
    ]);
    live.brokenClass();
    const broken = (await (await get('/api/nodepools')).json()) as { rows: unknown[] };
    expect(broken.rows[0]).toMatchObject({
      problem: 'EC2NodeClass default: SecurityGroupSelector did not match any SecurityGroups',
    });
    const pool = { apiVersion: 'karpenter.sh/v1', kind: 'NodePool', metadata: { name: 'default' } };
    page.note({ object: pool, type: 'Warning', reason: 'NotReady', message: 'not ready' });
    expect(await (await get('/api/nodepool?name=default')).json()).toMatchObject({
      weight: 10,
      consolidation: 'WhenEmptyOrUnderutilized, after 30s',
      budgets: ['10% of the nodes, from @daily UTC for 8h, for Drifted'],
      requirements: ['karpenter.sh/capacity-type In spot, on-demand (at least 2 values)'],
      conditions: [
        { type: 'Ready', status: 'False' },
        { type: 'NodeClassReady', status: 'False' },
      ],
      decisions: [{ text: 'not ready', times: 1 }],
    });
  });

  it('shows NodeClasses with collapsed errors, without their user data', async () => {
    live.brokenClass();
    const [nodeClass] = live.nodeClasses;
    for (let times = 0; times < 3; times += 1) {
      page.note({
        object: present(nodeClass),
        type: 'Warning',
        reason: 'FailedResolution',
        message: `denied, RequestId: ${times}a1b2c3d-0000-4000-8000-0123456789ab`,
      });
      live.clock.put(11 * 60_000);
    }
    const list = await (await get('/api/nodeclasses')).text();
    expect(JSON.parse(list)).toMatchObject({
      rows: [{ name: 'default', ready: 'False', nodePools: ['default', 'gpu'], nodes: 2 }],
      more: 0,
    });
    const details = await (await get('/api/nodeclass?name=default')).text();
    expect(JSON.parse(details)).toMatchObject({
      problem: 'SecurityGroupSelector did not match any SecurityGroups',
      resolved: [
        { what: 'Subnets', items: ['subnet-1 in us-west-2a'] },
        { what: 'Security groups', items: [] },
        { what: 'Images', items: ['ami-1 al2023'] },
        { what: 'Capacity reservations', items: [] },
        { what: 'Instance profile', items: [] },
      ],
      decisions: [{ times: 3, text: 'denied, RequestId: 2a1b2c3d-0000-4000-8000-0123456789ab' }],
    });
    expect(list + details).not.toContain('hunter2');
  });

  it('lists at most five hundred NodePools, and counts the others', async () => {
    for (let index = 0; index < 600; index += 1) live.limitedPool(`pool-${index}`);
    const { rows, more } = (await (await get('/api/nodepools')).json()) as { rows: unknown[]; more: number };
    expect([rows.length, more]).toEqual([500, 102]);
  });

  it('shows the lives of nodes with the reasons of their launch and of their end', async () => {
    const at = timestamp(live.clock.now() - 60_000);
    const launched = { at, nodePool: 'gpu', reason: 'provisioned', pods: 3, usdPerHour: 1, examples: [] };
    live.history.decisions.record({ ...launched, kind: 'bought', nodeClaim: 'claim-1' });
    const claims = live.stores.store(NODE_CLAIM);
    const claim = claims.list().find(({ metadata }) => metadata.name === 'claim-1');
    const joined = (type: string, seconds: number) => ({
      ...{ type, status: 'True' as const, reason: type, message: '' },
      lastTransitionTime: timestamp(live.clock.now() - 3_600_000 + seconds * 1_000),
    });
    claims.put(
      live.versioned({
        ...claim,
        metadata: { ...claim?.metadata, deletionTimestamp: at },
        status: {
          ...claim?.status,
          nodeName: 'node-1.internal',
          conditions: [joined('Launched', 2), joined('Registered', 20), joined('Initialized', 30)],
        },
      } as NodeClaim),
    );
    live.cluster.deletionReasons.set('claim-1', 'expired');
    const [last] = claims.list().filter(({ metadata }) => metadata.name === 'claim-1');
    claims.remove(last as NodeClaim);
    const found = (await (await get('/api/timeline?hours=1')).json()) as { lives: Record<string, unknown>[] };
    const startMs = live.clock.now() - 3_600_000;
    expect(found.lives.map(({ nodeClaim }) => nodeClaim)).toEqual(['claim-0', 'claim-1']);
    expect(found.lives[1]).toEqual({
      ...{ nodeClaim: 'claim-1', node: 'node-1.internal', nodePool: 'gpu', instanceType: 'c7g.2xlarge' },
      ...{ zone: 'us-west-2a', capacityType: 'on-demand', createdMs: startMs, launchedMs: startMs + 2_000 },
      ...{ registeredMs: startMs + 20_000, initializedMs: startMs + 30_000, leavingMs: live.clock.now() - 60_000 },
      ...{ endedMs: live.clock.now(), startReason: 'provisioned', pods: 3, endReason: 'expired' },
    });
    for (const hours of ['9e99', '-1', 'x', 'NaN']) {
      const { fromMs, toMs } = (await (await get(`/api/timeline?hours=${hours}`)).json()) as Record<string, number>;
      expect((toMs ?? 0) - (fromMs ?? 0)).toBe(6 * 3_600_000);
    }
  });

  it('limits the lives in a timeline, and counts the others', async () => {
    for (let index = 10; index < 1_500; index += 1) live.claim(index);
    const claims = live.stores.store(NODE_CLAIM);
    for (const claim of claims.list().slice(0, 1_400)) claims.remove(claim);
    const { lives, more } = (await (await get('/api/timeline')).json()) as { lives: unknown[]; more: number };
    // a thousand ended lives are kept
    expect([lives.length, more]).toEqual([300, 1_000 + 92 - 300]);
  });

  it('shows the hourly costs of the NodePools of the last week', async () => {
    const cost = (effective: number): PoolCost => ({ effective, list: 0, idle: 0, daemonSets: 0, surplusCredits: 0 });
    for (let hour = 0; hour < 200; hour += 1)
      live.history.hours.sample(
        (hour + 0.5) * 3_600_000,
        new Map(hour < 199 ? [['default', cost(2)]] : [['gpu', cost(1.5)]]),
      );
    const { hours, ...rest } = (await (await get('/api/costs')).json()) as { hours: unknown[] };
    expect(rest).toEqual({ nodePools: ['default', 'gpu'], isDisabled: false });
    expect(hours).toHaveLength(168);
    expect(hours.slice(-2)).toEqual([
      { hourMs: 198 * 3_600_000, observed: 0.1667, usd: [2, 0] },
      { hourMs: 199 * 3_600_000, observed: 0.1667, usd: [0, 1.5] },
    ]);
  });

  it('compares requests with use by workload, namespace and label, and names the remedy without a metrics API', async () => {
    interface Found {
      readonly groups: readonly { readonly name: string; readonly idleUsdPerMonth: number }[];
      readonly idleUsdPerMonth: number;
    }
    const ask = async (query = '') => (await (await get(`/api/efficiency?${query}`)).json()) as Found;
    expect(await ask()).toEqual({
      ...{ groups: [], more: 0, idleUsdPerMonth: 0, measured: 0, pods: 0 },
      problem: 'no metrics API; install metrics-server',
    });
    const use = (cpu: number) => ({ cpu: { p50: cpu, p95: cpu }, memory: { p50: 2 ** 30, p95: 2 ** 30 } });
    live.uses = new Map([
      ['default/pod-0-0', use(400)],
      ['default/pod-1-0', use(1_200)],
    ]);
    // the next sample is due after a minute
    expect(await ask()).toHaveProperty('problem');
    await live.clock.advance(61_000);
    const found = await ask('by=namespace');
    expect(found).toMatchObject({ source: 'one sample', more: 0, measured: 2, pods: 2 });
    expect(found.groups).toEqual([
      expect.objectContaining({ name: 'default', pods: 2, measured: 2, usedP95: { cpu: 1_600, memory: 2 ** 31 } }),
    ]);
    expect(found.idleUsdPerMonth).toBe(found.groups[0]?.idleUsdPerMonth);
    expect((await ask('by=label&label=team')).groups.map(({ name }) => name)).toEqual(['__none__']);
    expect((await get(`/api/efficiency?by=label&label=${'x'.repeat(600)}`)).status).toBe(400);

    live.uses = undefined;
    await live.clock.advance(61_000);
    expect(await ask()).toHaveProperty('source');
    await live.clock.advance(6 * 60_000);
    expect(await ask()).toHaveProperty('problem');
  });

  it('returns the effect of a change, and rejects invalid changes and concurrent requests', async () => {
    const asked: string[] = [];
    live.whatIf = async (change) => {
      asked.push(change);
      if (change === 'busy') return undefined;
      if (change !== 'drain node-1') throw Object.assign(new Error('expected a change'), { name: 'WhatIfError' });
      return partial<WhatIfResponse>({ addedPods: 0, launches: [] });
    };
    const ask = (change: string) => get(`/api/what-if?${new URLSearchParams({ change })}`);
    expect(await (await ask(' drain node-1 ')).json()).toEqual({ addedPods: 0, launches: [] });
    const invalid = await ask('sacle');
    expect([invalid.status, await invalid.text()]).toEqual([400, 'expected a change\n']);
    const busy = await ask('busy');
    expect([busy.status, busy.headers.get('retry-after')]).toEqual([503, '1']);
    expect((await ask('x'.repeat(600))).status).toBe(400);
    expect((await get('/api/what-if', { method: 'POST', body: 'drain node-1' })).status).toBe(405);
    const foreign = { host: 'localhost', 'sec-fetch-site': 'cross-site' };
    expect(await statusOf('/api/what-if?change=drain%20node-1', foreign)).toBe(403);
    expect(await statusOf('/api/what-if?change=drain%20node-1', { host: 'evil.example' })).toBe(421);
    expect(asked).toEqual(['drain node-1', 'sacle', 'busy']);
  });

  it('closes the connections of clients if it cannot compute changes, and accepts them again', async () => {
    const first = await get('/api/events');
    live.failing = true;
    live.clock.put(60_000);
    await expect(first.text()).rejects.toThrow();
    live.failing = false;
    const [again] = await events(1);
    expect(again?.event).toBe('state');
  });

  it('rejects requests from pages of other sites', async () => {
    const of = async (site: string): Promise<number> =>
      (await statusOf('/api/search?q=node', { host: 'localhost', 'sec-fetch-site': site })) ?? 0;
    expect([await of('cross-site'), await of('same-site'), await of('same-origin'), await of('none')]).toEqual([
      403, 403, 200, 200,
    ]);
  });

  it('reads and serializes the cluster once per update, however many clients reconnect', async () => {
    const startedMs = performance.now();
    live.leadershipReads = 0;
    let states = 0;
    const client = async (): Promise<void> => {
      for (let times = 0; times < 6; times += 1) {
        const [first] = await events(1);
        expect((first?.data.nodes as unknown[]).length).toBe(2);
        states += 1;
      }
    };
    await Promise.all(Array.from({ length: 10 }, client));
    expect(states).toBe(60);
    // Updates are at least a second apart.
    expect(live.leadershipReads).toBeLessThanOrEqual(1 + Math.ceil((performance.now() - startedMs) / 1_000));
  });

  it('sends Retry-After to a client beyond the limit', async () => {
    const watchers = Array.from({ length: 20 }, () => new AbortController());
    await Promise.all(watchers.map(({ signal }) => get('/api/events', { signal })));
    const refused = await get('/api/events');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '10']);
    for (const each of watchers) each.abort();
  });

  it('serves many searches in few passes, and rejects searches beyond a limit', async () => {
    const passes = jest.spyOn(live.cluster.stores.pods, 'list');
    const startedMs = performance.now();
    const answers = await Promise.all(Array.from({ length: 120 }, (_, text) => get(`/api/search?q=node-${text % 60}`)));
    const served = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ status }) => status === 503);
    expect(served.length + refused.length).toBe(120);
    expect(served.length).toBeGreaterThanOrEqual(20);
    expect(refused.every(({ headers }) => headers.get('retry-after') === '1')).toBe(true);
    // Passes are at least 50 ms apart.
    expect(passes.mock.calls.length).toBeLessThanOrEqual(1 + Math.ceil((performance.now() - startedMs) / 50));
  });

  it('serves twenty clients, and another client after one has disconnected', async () => {
    const watchers = Array.from({ length: 20 }, () => new AbortController());
    const answers = await Promise.all(watchers.map(({ signal }) => get('/api/events', { signal })));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect((await get('/api/events')).status).toBe(503);
    watchers[0]?.abort();
    await pause(200);
    const stop = new AbortController();
    expect((await get('/api/events', { signal: stop.signal })).status).toBe(200);
    for (const each of [...watchers, stop]) each.abort();
  });

  it('is not served for another site whose name resolves to loopback', async () => {
    expect(await statusOf('/', { host: 'evil.example' })).toBe(421);
  });

  it('requires its token, and removes it from the address', async () => {
    await page.close();
    page = await open('a-token-that-is-long-enough');
    for (const path of ['/', '/app.js', '/api/events', '/api/search?q=x']) expect((await get(path)).status).toBe(401);
    const entered = await get('/?token=a-token-that-is-long-enough', { redirect: 'manual' });
    expect([entered.status, entered.headers.get('location')]).toEqual([303, '/']);
    const cookie = entered.headers.get('set-cookie')?.split(';')[0] ?? '';
    expect((await get('/', { headers: { cookie } })).status).toBe(200);
  });
});

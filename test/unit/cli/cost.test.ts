/** `karpenter cost` and `karpenter report`, for a dump and for an operator over HTTP. */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { parse } from 'yaml';
import { CostAccount } from '#engine/costs';
import type { Verdict } from '#engine/disruption';
import type { HistoryView, HourView } from '#process/server';
import type { ReplayOptions } from '#replay/testing';
import { OUTPUTS } from '../../../scripts/reference/outputs/catalogue.ts';
import { costHistory } from '../../../src/cli/cost/history.ts';
import { costCommand } from '../../../src/cli/cost.ts';
import { costText, sparkline } from '../../../src/cli/render/cost.ts';
import { PARTS, type ReplayParts } from '../../../src/cli/replay/play.ts';
import { reportCommand } from '../../../src/cli/report.ts';
import { daemon, pod } from '../engine/build.ts';
import { NOW, stateNode } from '../engine/disruption/objects.ts';
import { strictly } from '../scripts/strictly.ts';
import { at80, tooWide } from './at80.ts';
import { livesResult } from './replay/results.ts';

const DUMP = join(import.meta.dirname, 'fixtures/dump.yaml');
const AT = ['--now', '2026-01-15T12:30:00Z'];

function report(surplusUsdPerHour?: number) {
  const account = new CostAccount();
  const extras = { feeUsdPerHour: 0.01, volumesUsdPerHour: 0.002, publicIpv4UsdPerHour: 0 };
  const web = [1, 2].map((at) => pod(`web-${at}`, { nodeName: 'a', cpu: '500m', memory: '1Gi', namespace: 'shop' }));
  const agent = daemon('agent', { nodeName: 'a', cpu: '100m', memory: '128Mi', namespace: 'system' });
  account.add(stateNode('a', { pods: [...web, agent] }), {
    usdPerHour: 0.09,
    listUsdPerHour: 0.1,
    extras,
    coveredUsdPerHour: 0.03,
    surplusUsdPerHour,
  });
  account.add(stateNode('b', { pool: 'batch', type: 'c.large' }), { usdPerHour: 0.2, extras });
  account.add(stateNode('odd', {}), undefined);
  account.add({ ...stateNode('group'), labels: {} }, undefined);
  return account.report(NOW);
}

const hour = (at: string, effective: number, samples = 60): HourView => ({
  at,
  samples,
  nodePools: {
    default: { effective, list: 2 * effective, idle: effective / 2, daemonSets: effective / 10, surplusCredits: 0 },
    batch: { effective: 0.1, list: 0.1, idle: 0, daemonSets: 0, surplusCredits: 0 },
  },
});

const HISTORY: HistoryView = {
  hours: [
    hour('2026-01-14T22:00:00Z', 1),
    hour('2026-01-14T23:00:00Z', 2, 20),
    hour('2026-01-15T10:00:00Z', 3),
    hour('2026-01-15T11:00:00Z', 4),
    hour('2026-01-15T12:00:00Z', 4, 30),
  ],
  decisions: [
    {
      kind: 'bought',
      at: '2026-01-14T22:00:10Z',
      nodeClaim: 'default-a',
      nodePool: 'default',
      reason: 'provisioned',
      pods: 7,
      examples: ['shop/web-1'],
      usdPerHour: 0.2,
      instanceType: 'm.large',
      zone: 'zone-a',
      capacityType: 'spot',
    },
    {
      kind: 'bought',
      at: '2026-01-14T22:00:20Z',
      nodeClaim: 'default-b',
      nodePool: 'default',
      reason: 'underutilized',
      pods: 3,
      examples: [],
      usdPerHour: 0.1,
    },
    {
      kind: 'deleted',
      at: '2026-01-14T22:01:00Z',
      nodeClaim: 'default-c',
      nodePool: 'default',
      reason: 'insufficient_capacity',
      pods: 0,
    },
    {
      kind: 'disrupted',
      at: '2026-01-14T22:05:00Z',
      id: '1',
      method: 'single-node consolidation',
      decision: 'replace',
      reason: 'underutilized',
      command: 'replace: [x]',
      nodePools: ['default'],
      nodes: 1,
      replacements: 1,
      pods: 3,
      predictedUsdPerHour: 0.1,
      outcome: { predictedUsd: 0.05, realisedUsd: 0.04 },
    },
    {
      kind: 'disrupted',
      at: '2026-01-15T10:05:00Z',
      id: '2',
      method: 'emptiness',
      decision: 'delete',
      reason: 'empty',
      command: 'delete: [y]',
      nodePools: ['default'],
      nodes: 2,
      replacements: 0,
      pods: 0,
      predictedUsdPerHour: 0.4,
      outcome: { predictedUsd: 0.2, realisedUsd: -0.1, undone: 'bought-again' },
    },
    {
      kind: 'disrupted',
      at: '2026-01-15T12:05:00Z',
      id: '3',
      method: 'emptiness',
      decision: 'delete',
      reason: 'empty',
      command: 'delete: [z]',
      nodePools: ['default'],
      nodes: 1,
      replacements: 0,
      pods: 0,
      predictedUsdPerHour: 0.2,
    },
    {
      kind: 'deleted',
      at: '2026-01-15T12:10:00Z',
      nodeClaim: 'default-e',
      nodePool: 'default',
      reason: 'expired',
      pods: 4,
    },
    {
      kind: 'interrupted',
      at: '2026-01-15T12:20:00Z',
      nodeClaim: 'default-d',
      nodePool: 'default',
      reason: 'spot_interrupted',
      pods: 5,
      instanceType: 'm.large',
      zone: 'zone-a',
      capacityType: 'spot',
    },
  ],
};

const VERDICTS: readonly Verdict[] = [
  {
    node: 'b',
    code: 'not-consolidatable',
    text: 'its pods changed a short while ago',
    nearestMiss: 'in 12s',
    methods: [],
  },
];

/** History with surplus CPU credits for a fifth of the cost of the default NodePool. */
const BURSTABLE: HistoryView = {
  ...HISTORY,
  hours: HISTORY.hours.map((each) => {
    const pools = Object.entries(each.nodePools);
    const withCredits = pools.map(([name, cost]) => [name, { ...cost, surplusCredits: cost.effective / 5 }]);
    return { ...each, nodePools: Object.fromEntries(withCredits) };
  }),
};

const ANSWERS: Record<string, unknown> = {
  '/debug/cost': report(),
  '/debug/history': HISTORY,
  '/debug/verdicts': VERDICTS,
};

let server: Server;
let url: string;
const asked: string[] = [];
beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(request.url ?? '');
    const answer = ANSWERS[(request.url ?? '').replace(/\?.*/, '')];
    response.writeHead(answer === undefined ? 404 : 200).end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
});

let written: string;
let notes: string;
beforeEach(() => {
  written = '';
  notes = '';
  asked.length = 0;
  ANSWERS['/debug/cost'] = report();
  ANSWERS['/debug/history'] = HISTORY;
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    written += String(text);
    return true;
  });
  jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
    notes += String(text);
    return true;
  });
});
afterEach(() => {
  jest.restoreAllMocks();
});

/** Returns the output of a command. */
async function printed(verb: 'cost' | 'report', ...args: readonly string[]): Promise<string> {
  const command = (verb === 'cost' ? costCommand('test') : reportCommand()).exitOverride();
  await command.parseAsync([...args], { from: 'user' });
  return written;
}
const ofOperator = (verb: 'cost' | 'report', ...args: readonly string[]) => printed(verb, '--server', url, ...args);

const schemaOf = (name: string) => OUTPUTS.find((each) => each.name === name)?.schema;

describe('karpenter cost', () => {
  it.each([
    'nodepool',
    'zone',
    'capacity-type',
    'instance-type',
    'namespace',
    'workload',
  ])('prints the costs of the operator by %s', async (by) => {
    expect(await ofOperator('cost', '--by', by)).toMatchSnapshot();
  });

  it('prints JSON that matches its schema, with groups that add up to the total', async () => {
    for (const by of ['nodepool', 'workload']) {
      written = '';
      const cost = JSON.parse(await ofOperator('cost', '--by', by, '-o', 'json'));
      expect(strictly(schemaOf('cost'), cost)).toEqual([]);
      const nano = (usd: number): number => Math.round(usd * 1e9);
      const sum = cost.groups.reduce(
        (total: number, { usdPerHour }: { usdPerHour: number }) => total + nano(usdPerHour),
        0,
      );
      expect(sum).toBe(nano(cost.total.usdPerHour));
      expect(cost.total.usdPerMonth).toBe(Number((730 * cost.total.usdPerHour).toFixed(2)));
    }
  });

  it('has a column for surplus CPU credits if some nodes have them', async () => {
    ANSWERS['/debug/cost'] = report(0.02);
    expect(await ofOperator('cost', '--by', 'workload')).toMatchSnapshot();
    written = '';
    const cost = JSON.parse(await ofOperator('cost', '--by', 'instance-type', '-o', 'json'));
    const credits = cost.groups.map(({ name, surplusCreditsUsdPerHour: usd }: never) => [name, usd]);
    expect(Object.fromEntries(credits)).toEqual({ 'm.large': 0.02, 'c.large': 0 });
    expect(cost.total.surplusCreditsUsdPerHour).toBe(cost.planning.surplusCreditsUsdPerHour);
  });

  it.each(['nodepool', 'workload'])('fits into 80 columns by %s', async (by) => {
    ANSWERS['/debug/cost'] = report(0.02);
    const json = JSON.parse(await ofOperator('cost', '--by', by, '-o', 'json'));
    const text = at80(() => costText(json));
    expect(text).toMatchSnapshot();
    expect(tooWide(text)).toEqual([]);
  });

  it('prints the same values as YAML', async () => {
    const json = JSON.parse(await ofOperator('cost', '-o', 'json'));
    written = '';
    expect(parse(await ofOperator('cost', '-o', 'yaml'))).toEqual(json);
  });

  it('prints the cost of a dump, and lists unknown parts', async () => {
    expect(await printed('cost', '-f', DUMP, '--now', '2026-06-03T10:30:00Z', '--by', 'workload')).toMatchSnapshot();
    expect(notes).toMatch(/EC2NodeClass default is not in the manifests/);
    written = '';
    const cost = JSON.parse(await printed('cost', '-f', DUMP, '-o', 'json'));
    expect(strictly(schemaOf('cost'), cost)).toEqual([]);
    expect(cost.unknown).toContainEqual(expect.stringMatching(/price book/));
  });

  it.each([
    { args: ['-f', DUMP, '--server', '8080'], error: /either manifests with -f or an operator/ },
    { args: ['-f', DUMP, '--context', 'staging'], error: /cannot be combined with -f or --server/ },
    { args: ['-f', DUMP, '--history'], error: /manifests have no history/ },
    { args: ['--since', '3d'], error: /--since and --per need --history/ },
    { args: ['--per', 'day'], error: /--since and --per need --history/ },
    { args: ['--history', '--per', 'day', '-o', 'focus'], error: /-o focus has a row for each hour/ },
    { args: ['--history', '--by', 'zone'], error: /--by cannot be combined with --history/ },
    { args: ['--history', '--since', 'soon'], error: /Expected a duration of at most 366d/ },
    { args: ['--by', 'team'], error: /Allowed choices are nodepool/ },
  ])('rejects $args', async ({ args, error }) => {
    await expect(printed('cost', ...args)).rejects.toThrow();
    expect(notes).toMatch(error);
  });
});

describe('karpenter cost --history', () => {
  it.each([
    ['day by day', ['--since', '7d']],
    ['hour by hour', ['--since', '2d']],
    ['day by day where that is wanted', ['--since', '1d', '--per', 'day']],
  ])('prints the spending %s', async (_, args) => {
    expect(await ofOperator('cost', '--history', ...args, ...AT)).toMatchSnapshot();
  });

  it('requests only the required period', async () => {
    await ofOperator('cost', '--history', '--since', '36h', ...AT);
    const history = asked.filter((path) => path.startsWith('/debug/history'));
    expect(history).toEqual(['/debug/history?since=2026-01-14T00:30:00.000Z']);
  });

  it('prints JSON that matches its schema', async () => {
    const history = JSON.parse(await ofOperator('cost', '--history', ...AT, '-o', 'json'));
    expect(strictly(schemaOf('cost-history'), history)).toEqual([]);
    // 1.1 and a third of 2.1 of one day; 3.1 + 4.1 and the half of 4.1 of the next
    expect(history.points.map(({ usd, hours }: { usd: number; hours: number }) => [usd, hours])).toEqual([
      [1.8, 1.3],
      [9.25, 2.5],
    ]);
    expect(history.total).toEqual({
      usd: 11.05,
      listUsd: 21.716667,
      idleUsd: 5.333333,
      daemonSetsUsd: 1.066667,
      surplusCreditsUsd: 0,
      hours: 3.8,
    });
  });

  it('writes a row for each NodePool and hour in FOCUS columns, with the same total', async () => {
    const [header = '', ...lines] = (await ofOperator('cost', '--history', ...AT, '-o', 'focus')).trimEnd().split('\n');
    const names = header.split(',');
    const sumOf = (column: string): number =>
      lines.reduce((sum, line) => sum + Number(line.split(',')[names.indexOf(column)]), 0);
    expect(sumOf('BilledCost')).toBeCloseTo(11.05, 6);
    expect(sumOf('ListCost')).toBeCloseTo(21.716667, 5);
    expect(lines.filter((line) => line.includes('nodes of NodePool default'))).not.toHaveLength(0);
    expect(lines[0]).toContain('2026-01-14T23:00:00Z,2026-01-14T22:00:00Z');
  });

  it('names the part for surplus CPU credits if there is one', async () => {
    ANSWERS['/debug/history'] = BURSTABLE;
    expect(await ofOperator('cost', '--history', ...AT)).toContain(
      '; $21.72 at list prices; planning, not included: $2.21 of surplus CPU credits\n',
    );
    ANSWERS['/debug/history'] = HISTORY;
    written = '';
    expect(await ofOperator('cost', '--history', ...AT)).not.toContain('surplus');
  });

  it('is empty without data', async () => {
    const nothing = costHistory({ hours: [] }, { per: 'day', sinceMs: 0, untilMs: NOW });
    expect(nothing).toMatchObject({ points: [], nodePools: [], total: { usd: 0, hours: 0 } });
  });
});

describe('a sparkline', () => {
  it.each([
    { what: 'nothing', values: [], is: '' },
    { what: 'zeros', values: [0, 0], is: '▁▁' },
    { what: 'a gap', values: [1, undefined, 8], is: '▂ █' },
    { what: 'one value', values: [5], is: '█' },
  ])('draws $what as $is', ({ values, is }) => {
    expect(sparkline(values)).toBe(is);
  });
});

describe('karpenter report', () => {
  it.each(['table', 'markdown'])('prints the results as %s', async (format) => {
    expect(await ofOperator('report', ...AT, '-o', format)).toMatchSnapshot();
  });

  it('shows the parts for surplus CPU credits if there are some', async () => {
    ANSWERS['/debug/cost'] = report(0.02);
    ANSWERS['/debug/history'] = BURSTABLE;
    expect(await ofOperator('report', ...AT)).toMatchSnapshot();
  });

  it("shows the savings of a recorded week against Karpenter's rules", async () => {
    const folder = await mkdtemp(join(tmpdir(), 'report-'));
    const record = join(folder, 'week.jsonl');
    const header = { trace: 'karpenter/v1', name: 'web', start: '2026-03-02T00:00:00Z', seconds: 7 * 86_400 };
    const objects = ['ec2nodeclass.yaml', 'nodepool.yaml'].map((name) =>
      parse(readFileSync(join(import.meta.dirname, '../../../examples', name), 'utf8')),
    );
    const lines = [header, ...objects.map((apply) => ({ at: 0, apply }))];
    await writeFile(record, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    let played: ReplayOptions | undefined;
    const replay: ReplayParts['replay'] = async (options) => {
      played = options;
      return livesResult();
    };
    const command = (...args: readonly string[]) =>
      reportCommand({ ...PARTS, replay })
        .exitOverride()
        .parseAsync(['--server', url, ...AT, '--record', record, ...args], { from: 'user' });
    await command('-o', 'json');
    expect(played).toMatchObject({
      lives: 3,
      sets: [
        {
          name: 'karpenter',
          args: ['--packing=compatible', '--consolidation=compatible', '--node-hourly-fee=0', '--spot-risk=0'],
        },
        { name: 'operator', args: [] },
      ],
    });
    const { savings, ...found } = JSON.parse(written);
    expect(strictly(schemaOf('report'), { ...found, savings })).toEqual([]);
    const { karpenter, operator, usdPer30Days, interval } = savings;
    expect(usdPer30Days).toBeCloseTo(((karpenter.usd - operator.usd) * 30) / 7, 6);
    expect(interval.low).toBeLessThan(usdPer30Days);
    expect(interval.high).toBeGreaterThan(usdPer30Days);
    written = '';
    await command();
    expect(written).toMatch(/SAVINGS AGAINST KARPENTER'S RULES\n +30 days like the 7d of .*cost \$[\d.,]+ less \(/s);
    await rm(folder, { recursive: true });
  });

  it('prints JSON that matches its schema', async () => {
    const found = JSON.parse(await ofOperator('report', ...AT, '-o', 'json'));
    expect(strictly(schemaOf('report'), found)).toEqual([]);
    expect(found).toMatchObject({
      since: '2026-01-08T12:30:00Z',
      firstDecision: '2026-01-14T22:00:10Z',
      purchases: { nodes: 2, pods: 10, replacements: 1, failed: 1 },
      moves: {
        moves: 3,
        nodes: 4,
        pods: 3,
        ended: 2,
        undone: 1,
        predictedUsdPerHour: expect.closeTo(0.7, 9),
        realisedUsd: expect.closeTo(-0.06, 9),
      },
      interruptions: { nodes: 1, pods: 5, reasons: [{ reason: 'spot_interrupted', nodes: 1 }] },
      podsDisturbed: 12,
      wasteful: [{ node: 'b', code: 'not-consolidatable', nearestMiss: 'in 12s' }, { node: 'a' }],
    });
    expect(found.wasteful[1]).not.toHaveProperty('code');
  });
});

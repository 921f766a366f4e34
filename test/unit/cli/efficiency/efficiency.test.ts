/** `karpenter efficiency` for a dump, with a Prometheus over HTTP. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ApiError } from '#kube/client';
import { podMetrics, usesFromMetricsApi } from '#live/view';
import { OUTPUTS } from '../../../../scripts/reference/outputs/catalogue.ts';
import { costCommand } from '../../../../src/cli/cost.ts';
import type { Efficiency } from '../../../../src/cli/efficiency/report.ts';
import { efficiencyCommand } from '../../../../src/cli/efficiency.ts';
import { efficiencyText } from '../../../../src/cli/render/efficiency.ts';
import { FOCUS_COLUMNS, focusCsv } from '../../../../src/cli/render/focus.ts';
import { strictly } from '../../scripts/strictly.ts';
import { at80, tooWide } from '../at80.ts';

const DUMP = join(import.meta.dirname, '../fixtures/dump.yaml');
const AT = ['--now', '2026-01-15T12:30:00Z'];
const PODS = ['web-7d9f-a', 'web-7d9f-b', 'batch'];

let server: Server;
let url: string;
/** Answer of Prometheus to a query. */
let answer: (query: string) => unknown;
let written: string[];

const vector = (value: unknown, pods: readonly string[] = PODS): unknown => ({
  status: 'success',
  data: {
    resultType: 'vector',
    result: pods.map((pod) => ({ metric: { namespace: 'shop', pod }, value: [0, value] })),
  },
});
const usual = (query: string): unknown =>
  vector(query.includes('memory') ? String(100 * 2 ** 20) : query.includes('0.95') ? '0.2' : '0.1');

beforeAll(async () => {
  server = createServer((request, response) => {
    const found = answer(new URL(request.url ?? '', 'http://x').searchParams.get('query') ?? '');
    response.end(typeof found === 'string' ? found : JSON.stringify(found));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());
beforeEach(() => {
  answer = usual;
  written = [];
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  jest.spyOn(process.stderr, 'write').mockImplementation(() => true);
});
afterEach(() => void jest.restoreAllMocks());

async function run(...args: readonly string[]): Promise<string> {
  written = [];
  await efficiencyCommand('test').parseAsync(['-f', DUMP, '--prometheus', url, ...AT, ...args], { from: 'user' });
  return written.join('');
}

describe('the command efficiency', () => {
  it('shows the cost of a plan of the operator with requests that fit to the use', async () => {
    const found = JSON.parse(await run('-o', 'json')) as Efficiency;
    expect(strictly(OUTPUTS.find(({ name }) => name === 'efficiency')?.schema, found)).toEqual([]);
    expect(found.groups).toContainEqual(
      expect.objectContaining({
        ...{ name: 'shop/ReplicaSet/web-7d9f', pods: 2, measured: 2 },
        requested: { cpu: 2_000, memory: 2 * 2 ** 30 },
        usedP50: { cpu: 200, memory: 200 * 2 ** 20 },
        usedP95: { cpu: 400, memory: 200 * 2 ** 20 },
        right: { cpu: 460, memory: 2 * 128 * 2 ** 20 },
      }),
    );
    const { now, repacked, withRightRequests } = found;
    expect(repacked.usdPerMonth).toBeLessThan(now.usdPerMonth);
    expect(withRightRequests.usdPerMonth).toBeLessThanOrEqual(repacked.usdPerMonth);
    expect([repacked.unschedulable, withRightRequests.unschedulable]).toEqual([0, 0]);
  });

  it('costs more with requests for a higher use', async () => {
    answer = (query) => vector(query.includes('memory') ? String(40 * 2 ** 30) : '5');
    const { repacked, withRightRequests } = JSON.parse(await run('-o', 'json')) as Efficiency;
    expect(withRightRequests.usdPerMonth).toBeGreaterThan(2 * repacked.usdPerMonth);
  });

  it('keeps the requests of pods without a known use', async () => {
    answer = () => vector('0.1', []);
    const { groups, repacked, withRightRequests } = JSON.parse(
      await run('-o', 'json', '--by', 'namespace'),
    ) as Efficiency;
    expect(groups).toMatchObject([{ name: 'shop', pods: 3, measured: 0, idleUsdPerMonth: 0 }]);
    expect(withRightRequests).toEqual(repacked);
  });

  it('fits into 80 columns, and is Markdown or HTML for a mail', async () => {
    const found = JSON.parse(await run('-o', 'json')) as Efficiency;
    expect(tooWide(at80(() => efficiencyText(found)))).toEqual([]);
    const markdown = await run('-o', 'markdown', '--label', 'app');
    expect(markdown).toContain('## Use by label app');
    expect(markdown).toMatch(/\| web \| 2 \|/);
    const html = await run('-o', 'html');
    expect(html).toMatch(/^<!doctype html>.*<td [^>]*>shop\/ReplicaSet\/web-7d9f<\/td>/s);
  });

  it.each([
    ['NaN', /Prometheus, pod shop\/web-7d9f-a: the cpu use NaN is not possible/],
    ['+Inf', /the cpu use NaN is not possible/],
    ['1e300', /the cpu use 1e\+303 is not possible/],
    ['-1', /the cpu use -1000 is not possible/],
    [{}, /the cpu use NaN is not possible/],
  ])('names the pod with the impossible use %p', async (value, message) => {
    answer = () => vector(value);
    await expect(run()).rejects.toThrow(message);
  });

  it.each([
    ['no JSON', /Prometheus at http:\/\/127\.0\.0\.1:\d+: .*JSON/],
    [{ data: { result: 'many' } }, /Prometheus: expected a list in the field "result"/],
    [null, /Prometheus: expected a list/],
  ])('names Prometheus if it returns %j', async (found, message) => {
    answer = () => found;
    await expect(run()).rejects.toThrow(message);
  });

  it('names the address if there is no server', async () => {
    await expect(run('--prometheus', 'http://127.0.0.1:1')).rejects.toThrow('check the address of --prometheus');
    await expect(run('--prometheus', 'ftp://x')).rejects.toThrow('"ftp://x" is not a valid URL');
  });
});

describe('the metrics API', () => {
  const list = (cpu: unknown, memory: unknown = '1Mi'): unknown => ({
    items: [
      {
        metadata: { namespace: 'shop', name: 'web' },
        containers: [{ usage: { cpu, memory } }, { usage: { cpu, memory } }],
      },
    ],
  });

  it('has one sample for each pod, the sum of its containers', () => {
    expect([...podMetrics(list('1500000n'))]).toEqual([
      ['shop/web', { cpu: { p50: 4, p95: 4 }, memory: { p50: 2 ** 21, p95: 2 ** 21 } }],
    ]);
  });

  it.each([
    [list('many'), /pod shop\/web: the cpu use "many" is not valid/],
    [list('-1'), /pod shop\/web: the cpu use -1000 is not possible/],
    [list('1', '1e30'), /pod shop\/web: the memory use .* is not possible/],
    [list(1), /pod shop\/web: the cpu use 1 is not valid/],
    [{}, /the metrics API: expected a list in the field "items"/],
  ])('names the pod or the field of %j', (found, message) => {
    expect(() => podMetrics(found)).toThrow(message);
  });

  it.each([
    [new Error('HTTP status 404'), /HTTP status 404; install metrics-server and check with kubectl top pods$/],
    [
      new ApiError(403, 'Forbidden', 'pods is forbidden'),
      /pods is forbidden; allow the account to list pods of metrics\.k8s\.io/,
    ],
  ])('names the remedy after %s', async (error, message) => {
    await expect(usesFromMetricsApi({ raw: () => Promise.reject(error) })).rejects.toThrow(message);
  });
});

describe('the FOCUS output', () => {
  it.each(['efficiency', 'cost'])('has a row for each charge, with the total of the cost; command %s', async (name) => {
    const command = name === 'cost' ? costCommand('test') : efficiencyCommand('test');
    await command.parseAsync(['-f', DUMP, ...AT, '-o', 'focus'], { from: 'user' });
    const [header = '', ...lines] = written.join('').trimEnd().split('\n');
    expect(header.split(',')).toEqual([...FOCUS_COLUMNS]);
    const at = (column: (typeof FOCUS_COLUMNS)[number]): number => FOCUS_COLUMNS.indexOf(column);
    // only the tags contain commas, and they are the last column
    const rows = lines.map((line) => line.split(','));
    written = [];
    await costCommand('test').parseAsync(['-f', DUMP, ...AT, '-o', 'json'], { from: 'user' });
    const { total } = JSON.parse(written.join('')) as { total: { usdPerHour: number; listUsdPerHour: number } };
    const sumOf = (column: 'BilledCost' | 'ListCost'): number =>
      rows.reduce((sum, row) => sum + Number(cellsOf(row)[at(column)]), 0);
    expect(sumOf('BilledCost')).toBeCloseTo(total.usdPerHour, 6);
    expect(sumOf('ListCost')).toBeCloseTo(total.listUsdPerHour, 6);
    expect(lines[0]).toContain('2026-01-15T13:00:00Z,2026-01-15T12:00:00Z');
    expect(lines.filter((line) => line.includes('us-west-2'))).toHaveLength(lines.length);
  });

  it('quotes cells, and starts no formula of a spreadsheet', () => {
    const [, line = ''] = focusCsv([{ ResourceName: '=cmd()', ResourceId: 'a "b", c', BilledCost: '-1' }]).split('\n');
    expect(line).toContain(`'=cmd()`);
    expect(line).toContain('"a ""b"", c"');
  });
});

/** The description has a comma within quotes, so its cells are joined. */
function cellsOf(row: readonly string[]): readonly string[] {
  const joined: string[] = [];
  for (const cell of row) {
    const last = joined.at(-1);
    const isOpen = last !== undefined && (last.match(/"/g) ?? []).length % 2 === 1;
    if (isOpen) joined[joined.length - 1] = `${last},${cell}`;
    else joined.push(cell);
  }
  return joined;
}

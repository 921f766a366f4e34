/** `karpenter mcp` as an assistant uses it: 20 questions about a dump of a cluster, with the codes of the results. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { Calls, TOOLS } from '../../../src/cli/mcp.ts';
import { type McpClient, startClient } from './mcp-client.ts';

const DUMP = join(import.meta.dirname, 'fixtures/dump.yaml');
const NOW = '2026-06-03T10:30:00Z';

const pod = (name: string, spec: string, cpu = '1'): string => `apiVersion: v1
kind: Pod
metadata: {name: ${name}, namespace: shop}
spec: {${spec}containers: [{name: main, resources: {requests: {cpu: "${cpu}"}}}]}
status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: ${spec.includes('Gates') ? 'SchedulingGated' : 'Unschedulable'}}]}
`;
const PODS = [
  pod('small', ''),
  pod('large', '', '1000'),
  pod('far', 'nodeSelector: {topology.kubernetes.io/zone: eu-west-1a}, '),
  pod('gpu', 'nodeSelector: {karpenter.sh/nodepool: gpu}, '),
  pod('gated', 'schedulingGates: [{name: example.com/wait}], '),
].join('---\n');

interface Question {
  readonly wording: string;
  readonly tool: string;
  readonly values?: Readonly<Record<string, string>>;
  /** Part of the result. */
  readonly has: object;
}

const QUESTIONS: readonly Question[] = [
  { wording: 'Where will the pod run?', tool: 'explain_pod', values: { pod: 'shop/small' }, has: { code: 'fits' } },
  {
    wording: 'Why is the large pod pending?',
    tool: 'explain_pod',
    values: { pod: 'shop/large' },
    has: { code: 'unschedulable', cause: { code: 'too-large' } },
  },
  {
    wording: 'Why is the pod for Ireland pending?',
    tool: 'explain_pod',
    values: { pod: 'shop/far' },
    has: { code: 'unschedulable' },
  },
  {
    wording: 'Why has the GPU pod no node?',
    tool: 'explain_pod',
    values: { pod: 'shop/gpu' },
    has: { cause: { code: 'no-such-nodepool' } },
  },
  { wording: 'Which pods of the shop wait?', tool: 'explain_pod', values: { namespace: 'shop' }, has: { length: 5 } },
  { wording: 'Why does node-a not go?', tool: 'explain_node', values: { node: 'node-a' }, has: { code: 'deleting' } },
  { wording: 'Why is node-c kept?', tool: 'explain_node', values: { node: 'node-c' }, has: { code: 'do-not-disrupt' } },
  { wording: 'What happens to all nodes?', tool: 'explain_node', has: { length: 3 } },
  {
    wording: 'Why was claim-a launched?',
    tool: 'explain_nodeclaim',
    values: { nodeclaim: 'claim-a' },
    has: { launched: { instanceType: 'm7g.2xlarge' } },
  },
  { wording: 'Can I drain node-b?', tool: 'explain_drain', values: { node: 'node-b' }, has: { canFinish: false } },
  { wording: 'Can I drain node-c?', tool: 'explain_drain', values: { node: 'node-c' }, has: { canFinish: true } },
  {
    wording: 'What is stuck?',
    tool: 'blockers',
    has: expect.arrayContaining([expect.objectContaining({ node: 'node-a', waitsFor: 'drain' })]),
  },
  {
    wording: 'When may drifted nodes go?',
    tool: 'budgets',
    values: { next: '3d' },
    has: { nodePools: [{ nodePool: 'default' }] },
  },
  {
    wording: 'And for one NodePool?',
    tool: 'budgets',
    values: { nodepool: 'default' },
    has: { nodePools: [{ nodes: 3 }] },
  },
  { wording: 'What does the cluster cost?', tool: 'cost', has: { by: 'nodepool', total: { nodes: 3 } } },
  { wording: 'Per namespace?', tool: 'cost', values: { by: 'namespace' }, has: { by: 'namespace' } },
  {
    wording: 'What would these pods need?',
    tool: 'simulate',
    values: { manifests: pod('more', '', '30') },
    has: { unschedulable: { 'shop/large': expect.any(String) } },
  },
  {
    wording: 'What if spot costs more?',
    tool: 'simulate',
    values: { what_if: 'spot+30%' },
    has: { effect: expect.anything() },
  },
  {
    wording: 'What if node-b is drained?',
    tool: 'simulate',
    values: { what_if: 'drain node-b' },
    has: { effect: expect.anything() },
  },
  { wording: 'Why is gated pending?', tool: 'explain_pod', values: { pod: 'shop/gated' }, has: { code: 'waiting' } },
];

describe('karpenter mcp', () => {
  let folder: string;
  let client: McpClient;
  let source: readonly string[];
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'mcp-test-'));
    const pods = join(folder, 'pods.yaml');
    writeFileSync(pods, PODS);
    source = ['-f', DUMP, '-f', pods, '--now', NOW];
    client = await startClient(...source);
  });
  afterAll(async () => {
    expect(await client.stop()).toBe(0);
    rmSync(folder, { recursive: true });
  });

  it.each(QUESTIONS)('has the expected result for "$wording"', async ({ tool, values = {}, has }) => {
    const { content, isError } = await client.call(tool, values);
    expect([isError ?? false, isError ? content : []]).toEqual([false, []]);
    expect(JSON.parse(content[0]?.text ?? '')).toMatchObject(has);
  });

  it('has the output of the command with -o json', async () => {
    const { content } = await client.call('blockers', {});
    const written = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
    const noted = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    await runCommandLine(['explain', 'blockers', ...source, '-o', 'json']);
    const printed = written.mock.calls.map(([text]) => String(text)).join('');
    written.mockRestore();
    noted.mockRestore();
    expect(content[0]?.text).toBe(printed);
  });

  it('lists tools that only read', async () => {
    const { tools } = await client.request<{ readonly tools: readonly { name: string; annotations: object }[] }>(
      'tools/list',
      {},
    );
    expect(tools.map(({ name }) => name)).toEqual(Object.keys(TOOLS));
    for (const { annotations } of tools) expect(annotations).toMatchObject({ readOnlyHint: true });
  });

  it.each([
    ['explain_node', { node: '--server=http://127.0.0.1:1' }],
    ['simulate', { what_if: '/etc/hostname' }],
    ['simulate', { what_if: 'kubeconfig' }],
    ['explain_drain', {}],
    ['explain_node', { node: 'nobody' }],
    ['log', {}],
    ['delete_node', {}],
  ])('returns an error for %s with %j, and serves the next call', async (tool, values) => {
    const failed = await client.call(tool, values as Record<string, string>).then(
      ({ isError }) => isError,
      () => true,
    );
    expect(failed).toBe(true);
    expect((await client.call('budgets', {})).isError ?? false).toBe(false);
  });

  it('reads the cluster of its own kubeconfig with every tool, and no cluster besides an operator', async () => {
    const kubeconfig = join(folder, 'kubeconfig');
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'other',
      clusters: [{ name: 'other', cluster: { server: 'https://127.0.0.1:1' } }],
      users: [{ name: 'other', user: {} }],
      contexts: [{ name: 'other', context: { cluster: 'other', user: 'other' } }],
    };
    writeFileSync(kubeconfig, JSON.stringify(config));
    const other = await startClient('--kubeconfig', kubeconfig);
    for (const tool of ['cost', 'blockers', 'simulate']) {
      const { content, isError } = await other.call(tool, {});
      expect([tool, isError]).toEqual([tool, true]);
      expect(content[0]?.text).toContain('127.0.0.1:1');
    }
    await other.stop();
    const served = await startClient('--server', 'http://127.0.0.1:1');
    expect((await served.call('simulate', {})).content[0]?.text).toContain('start karpenter mcp with -f');
    await served.stop();
  }, 120_000);

  it('runs one call at a time, and refuses more than 20 calls that wait', async () => {
    const calls = new Calls();
    let running = 0;
    let most = 0;
    const call = async (): Promise<void> => {
      running += 1;
      most = Math.max(most, running);
      await Promise.resolve();
      running -= 1;
    };
    const all = Array.from({ length: 20 }, () => calls.run(call));
    expect(() => calls.run(call)).toThrow('20 calls wait already');
    await Promise.all(all);
    expect(most).toBe(1);
    await calls.run(call);
  });
});

/** `karpenter log` over HTTP: decisions with their reasons, also after the end of the operator, and at a webhook. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { isTrue, NODE_CLAIM, NODE_POOL } from '#api/objects';
import { logCommand } from '#cli/testing';
import type { LogLine } from '#observe/history';
import { LOG } from '../../scripts/reference/outputs/cost.ts';
import { strictly } from '../unit/scripts/strictly.ts';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, pool } from './pools.ts';

/** The scenario's clock is ahead of the system clock. */
const AHEAD = ['--now', '2027-06-01T00:00:00Z', '--since', '366d'];

let scenario: Scenario;
let folder: string;
let hook: Server;
let posted: string[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'log-'));
  posted = [];
  hook = createServer((request, response) => {
    let body = '';
    request.on('data', (part) => {
      body += part;
    });
    request.on('end', () => {
      posted.push(body);
      response.end();
    });
  });
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
  scenario = await startScenario({ ...BRISK, operator: false });
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2, 4] }));
  await writeFile(join(folder, 'kubeconfig'), scenario.world.kube.kubeconfig());
});
afterEach(async () => {
  await scenario.stop();
  await new Promise((resolve) => hook.close(resolve));
  await rm(folder, { recursive: true });
});

async function printed(...args: readonly string[]): Promise<string> {
  const written = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  const noted = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    await logCommand('0.0.0').parseAsync([...args], { from: 'user' });
    return written.mock.calls.map(([text]) => String(text)).join('');
  } finally {
    written.mockRestore();
    noted.mockRestore();
  }
}

const kinds = (lines: readonly LogLine[]): readonly string[] => lines.map(({ kind }) => kind);

describe('karpenter log', () => {
  it('lists launches, joins, refusals and deletions by users, from the operator and after its end', async () => {
    const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/`;
    const operator = await scenario.startOperator({ env: { DECISION_WEBHOOK_URL: url } });
    const server = ['--server', `http://127.0.0.1:${operator.metricsPort}`];
    // pods that precede it are refused once more
    await scenario.until('a ready NodePool', async () => {
      const found = await scenario.kube.find(NODE_POOL, { name: 'default' });
      return found !== undefined && isTrue(found, 'Ready');
    });
    await scenario.apply(deployment('web', 3, {}, { cpu: '700m' }), deployment('huge', 2, {}, { cpu: '64' }));
    await scenario.until('running pods', async () => (await scenario.running('web')).length === 3);
    const lines = async (...args: readonly string[]): Promise<readonly LogLine[]> =>
      JSON.parse(await printed(...server, ...AHEAD, '-o', 'json', ...args)) as readonly LogLine[];
    await scenario.until('a refusal and a join', async () => {
      const found = kinds(await lines());
      return found.includes('refusal') && found.includes('join');
    });
    const all = await lines();
    expect(strictly(LOG, all)).toEqual([]);
    expect(all[0]).toMatchObject({ kind: 'leader' });
    const refusals = all.filter(({ kind }) => kind === 'refusal');
    expect(refusals).toMatchObject([{ cause: 'too-large', namespaces: ['default'] }]);
    const [claim] = await scenario.claims();
    const name = claim?.metadata.name ?? '';
    const nodeName = claim?.status?.nodeName ?? '';
    await scenario.kube.delete(NODE_CLAIM, { name });
    await scenario.until('the deletion', async () => kinds(await lines()).includes('deletion'));
    expect(kinds(await lines('--node', nodeName))).toEqual(['launch', 'join', 'deletion']);
    expect(kinds(await lines('--nodepool', 'none'))).toEqual([]);
    const table = await printed(...server, ...AHEAD);
    expect(table).toMatch(/^TIME +KIND +NODES +PRICE PER HOUR/);
    expect(table).toMatch(/Z {2}deletion +\d → \d .*was deleted by another client, \d pods? moves?$/m);
    await scenario.until('the webhook', () => posted.join('').includes('was deleted by another client'));
    expect(posted.join('').split('is the leader').length).toBe(3);

    // the operator runs outside the cluster, and has not written its log yet; its account may not read this namespace
    const elsewhere = printed('--kubeconfig', join(folder, 'kubeconfig'), '--operator-namespace', 'default');
    await expect(elsewhere).rejects.toThrow(
      /^the operator cannot be reached \(.*\), and .*karpenter-history.*; use --server with its metrics port$/,
    );

    await operator.stop();
    const kubeconfig = ['--kubeconfig', join(folder, 'kubeconfig'), '--operator-namespace', 'kube-system'];
    const kept = JSON.parse(await printed(...kubeconfig, ...AHEAD, '-o', 'json')) as readonly LogLine[];
    expect(kinds(kept)).toEqual(expect.arrayContaining(['leader', 'launch', 'join', 'refusal', 'deletion']));
  });
});

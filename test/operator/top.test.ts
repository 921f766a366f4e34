/** `karpenter top` over HTTP: nodes with price and verdict, pending pods with the operator's reason, and its decisions. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { topCommand } from '#cli/testing';
import type { Verdict } from '#engine/disruption';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, pool } from './pools.ts';

let scenario: Scenario;
let folder: string;
let port: number;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'top-'));
  scenario = await startScenario({ ...BRISK, operator: false });
  port = (await scenario.startOperator()).metricsPort;
  await writeFile(join(folder, 'kubeconfig'), scenario.world.kube.kubeconfig());
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2] }));
});
afterEach(async () => {
  await scenario.stop();
  await rm(folder, { recursive: true });
});

async function printed(...args: readonly string[]): Promise<string> {
  const written = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    const config = ['--kubeconfig', join(folder, 'kubeconfig')];
    await topCommand('0.0.0').parseAsync(['--once', ...config, ...args], { from: 'user' });
    return written.mock.calls.map(([text]) => String(text)).join('');
  } finally {
    written.mockRestore();
  }
}

it('shows the cluster with the kubeconfig alone, and more with the address of the operator', async () => {
  await scenario.apply(deployment('web', 2, {}, { cpu: '700m' }), deployment('huge', 1, {}, { cpu: '64' }));
  await scenario.until('running pods', async () => (await scenario.running('web')).length === 2);
  // the operator publishes the reason of a pod with its first attempt
  await scenario.until(
    'the reason',
    async () => (await printed()).match(/default\/huge-\S+ .* {2}(?!not evaluated)\S/) !== null,
  );
  const text = await printed();
  expect(text).toMatch(/1 node {2}3 pods {2}1 pending {2}\$0\.\d\d\/h/);
  expect(text).toMatch(/^default {2}1 node {2}\$0\.\d\d\/h {2}cpu/m);
  expect(text).toMatch(/^ {2}\S+ +\S+\.large .* 2 +0\.\d{3} .* ready/m);
  expect(await printed('-L', 'kubernetes.io/arch', '--sort', 'zone', '--group', 'instance type')).toMatch(
    /^ {2}\S+ +\S+\.large .* (amd64|arm64) /m,
  );
  expect(await printed('-l', 'karpenter.sh/nodepool=default')).toContain('default  1 node');
  expect(await printed('-l', 'karpenter.sh/nodepool notin (default)')).toContain('no nodes');
  await expect(printed('--group', 'team')).rejects.toThrow(/--group "team" is not one of NodePool, zone/);
  const url = `http://127.0.0.1:${port}`;
  await scenario.until('a verdict', async () => {
    const [verdict] = (await scenario.debug('verdicts')) as readonly Verdict[];
    if (verdict === undefined) return false;
    const text = await printed('--server', url);
    // a narrow terminal has the code
    return text.includes(verdict.text.slice(0, 16)) || text.includes(` ${verdict.code.slice(0, 16)}`);
  });
  expect(await printed('--server', 'http://127.0.0.1:9')).toContain(
    'operator: http://127.0.0.1:9/debug/verdicts cannot',
  );
});

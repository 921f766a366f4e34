/** Requests beside their use: `karpenter efficiency` and the live page, with the metrics API of the local world. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { type Efficiency, efficiencyCommand } from '#cli/testing';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, pool } from './pools.ts';

let scenario: Scenario;
let folder: string;
let port: number;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'efficiency-'));
  scenario = await startScenario({ ...BRISK, operator: false, env: { ...BRISK.env, LIVE_PAGE: '127.0.0.1:0' } });
  port = (await scenario.startOperator()).metricsPort;
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'));
  await writeFile(join(folder, 'kubeconfig'), scenario.world.kube.kubeconfig());
});
afterEach(async () => {
  await scenario.stop();
  await rm(folder, { recursive: true });
});

async function efficiency(): Promise<Efficiency> {
  const written = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  const noted = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    const source = ['--kubeconfig', join(folder, 'kubeconfig'), '--instance-types', `http://127.0.0.1:${port}`];
    await efficiencyCommand('test').parseAsync([...source, '-o', 'json'], { from: 'user' });
    return JSON.parse(written.mock.calls.map(([text]) => String(text)).join('')) as Efficiency;
  } finally {
    written.mockRestore();
    noted.mockRestore();
  }
}

async function page<T>(path: string): Promise<T> {
  const url = String(scenario.log.find(({ message }) => message === 'serving the live page')?.url);
  return (await fetch(new URL(path, url))).json() as Promise<T>;
}

it('shows the same use and idle cost on the command line and on the live page, and a cheaper plan', async () => {
  // pods of the local world use 30 % of their CPU and 60 % of their memory
  await scenario.apply(pool({ cpus: [2, 4] }), deployment('web', 6, {}, { cpu: '1', memory: '1Gi' }));
  await scenario.until('running pods', async () => (await scenario.running('web')).length === 6);
  const name = 'default/Deployment/web';
  const onPage = await scenario.until('the use of all pods', async () => {
    const { groups = [] } = await page<{ groups?: Efficiency['groups'] }>('/api/efficiency?by=workload');
    return groups.find((group) => group.name === name && group.measured === 6 && group.usdPerMonth > 0);
  });
  expect(onPage).toMatchObject({
    pods: 6,
    requested: { cpu: 6_000, memory: 6 * 2 ** 30 },
    usedP95: { cpu: 1_800 },
    right: { cpu: 6 * 350 },
  });
  expect(onPage.usedP95.memory / onPage.requested.memory).toBeCloseTo(0.6, 6);
  expect(onPage.idleUsdPerMonth).toBeGreaterThan(onPage.usdPerMonth / 3);

  const found = await efficiency();
  expect(found.groups.find((group) => group.name === name)).toEqual(onPage);
  expect(found.now.unusedUsdPerMonth).toBeGreaterThanOrEqual(onPage.idleUsdPerMonth);
  expect(found.withRightRequests).toMatchObject({ unschedulable: 0 });
  expect(found.withRightRequests.usdPerMonth).toBeLessThan(found.repacked.usdPerMonth);
}, 120_000);

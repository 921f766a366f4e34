/** The prediction of a drain by the operator, over HTTP and with the command line. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { explainCommand, snapshotCommand } from '#cli/testing';
import type { DrainPlan } from '#engine/what-if';
import type { Operator } from '../../src/main.ts';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, budgetFor, pool } from './pools.ts';

let scenario: Scenario;
let operator: Operator;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'explain-drain-'));
  scenario = await startScenario({ ...BRISK, operator: false });
  operator = await scenario.startOperator();
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'));
});
afterAll(async () => {
  await scenario.stop();
  await rm(folder, { recursive: true });
});

/** Returns the output of a command, and resets the exit code. */
async function output(run: () => Promise<unknown>): Promise<{ readonly text: string; readonly exitCode: unknown }> {
  const written = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  const noted = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  const { exitCode: before } = process;
  try {
    await run();
    return { text: written.mock.calls.map(([text]) => String(text)).join(''), exitCode: process.exitCode };
  } finally {
    process.exitCode = before;
    written.mockRestore();
    noted.mockRestore();
  }
}

interface Predicted {
  readonly drain: DrainPlan;
  readonly exitCode: unknown;
}

async function predicted(node: string, ...args: readonly string[]): Promise<Predicted> {
  const { text, exitCode } = await output(() =>
    explainCommand().parseAsync(['drain', node, ...args, '-o', 'json'], { from: 'user' }),
  );
  return { drain: JSON.parse(text), exitCode };
}

/** Waits until the operator accepts the request, because it computes one effect at a time. */
const byOperator = (node: string): Promise<Predicted> =>
  scenario.until('a prediction', () =>
    predicted(node, '--server', `http://127.0.0.1:${operator.metricsPort}`).catch((error: unknown) => {
      if (String(error).includes('another change')) return false as const;
      throw error;
    }),
  );

it('predicts a drain from the operator, the cluster and a snapshot alike', async () => {
  const resources = { cpu: '1', memory: '512Mi' };
  await scenario.apply(pool({ cpus: [4] }), budgetFor('web', 0));
  await scenario.apply(deployment('web', 2, {}, resources), deployment('free', 1, {}, resources));
  await scenario.until(
    'running pods',
    async () => [...(await scenario.running('web')), ...(await scenario.running('free'))].length === 3,
  );
  const [web] = await scenario.pods('web');
  const node = web?.spec.nodeName ?? '';
  const { drain, exitCode } = await byOperator(node);
  expect(exitCode).toBe(2);
  expect(drain).toMatchObject({
    node,
    nodePool: 'default',
    canFinish: false,
    blockers: [
      { code: 'pdb', object: { kind: 'PodDisruptionBudget', namespace: 'default', name: 'web' }, ends: 'never' },
    ],
    newNodesWithoutDrain: 0,
    before: { newNodes: 0 },
  });
  expect(drain.before.usdPerHour).toBeGreaterThan(0);
  expect(drain.pods.some(({ pod }) => pod.startsWith('default/web'))).toBe(true);

  await writeFile(join(folder, 'kubeconfig'), scenario.world.kube.kubeconfig());
  const { drain: inCluster, exitCode: code } = await predicted(node, '--kubeconfig', join(folder, 'kubeconfig'));
  expect(code).toBe(2);
  expect(inCluster.blockers).toEqual(drain.blockers);
  expect(inCluster.pods).toEqual(drain.pods);

  const { text } = await output(() =>
    snapshotCommand('test').parseAsync(['--kubeconfig', join(folder, 'kubeconfig'), '-o', 'json'], { from: 'user' }),
  );
  await writeFile(join(folder, 'dump.json'), text);
  const prices = ['--instance-types', `http://127.0.0.1:${operator.metricsPort}`];
  const { drain: inDump } = await predicted(node, '-f', join(folder, 'dump.json'), ...prices);
  expect(inDump).toEqual(drain);
}, 120_000);

it('refuses a node that does not exist, and has no change to compute', async () => {
  await expect(byOperator('nobody')).rejects.toThrow(/HTTP status 400: Node "nobody" does not exist; check its name/);
  const response = await fetch(`http://127.0.0.1:${operator.metricsPort}/debug/what-if`);
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('expected "scale')]);
}, 60_000);

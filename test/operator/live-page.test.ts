/** The live page of a running operator: NodePools, NodeClasses, the timeline, and the effect of changes. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { NODE_POOL } from '#api/objects';
import { simulate, snapshotCommand } from '#cli/testing';
import type { WhatIfAnswer } from '#controllers/testing';
import type { Operator } from '../../src/main.ts';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, pool } from './pools.ts';

let scenario: Scenario;
let operator: Operator;
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'live-page-'));
  scenario = await startScenario({ ...BRISK, operator: false, env: { LIVE_PAGE: '127.0.0.1:0' } });
  operator = await scenario.startOperator();
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'));
});
afterEach(async () => {
  await scenario.stop();
  await rm(folder, { recursive: true });
});

const get = (path: string): Promise<Response> => {
  const url = String(scenario.log.find(({ message }) => message === 'serving the live page')?.url);
  return fetch(new URL(path, url));
};
const read = async <T>(path: string): Promise<T> => (await get(path)).json() as Promise<T>;
const ask = (change: string): Promise<Response> => get(`/api/what-if?${new URLSearchParams({ change })}`);

/** Waits until the operator accepts the request, because it computes one effect at a time. */
const answer = (change: string): Promise<WhatIfAnswer> =>
  scenario.until(`an answer to ${change}`, async () => {
    const response = await ask(change);
    return response.status === 200 && ((await response.json()) as WhatIfAnswer);
  });

/** Returns the result of `karpenter simulate` for a snapshot of the cluster, with the prices of the operator. */
async function simulated(change: string): Promise<Partial<WhatIfAnswer>> {
  await writeFile(join(folder, 'kubeconfig'), scenario.world.kube.kubeconfig());
  const written = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  const noted = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    await snapshotCommand('test').parseAsync(['--kubeconfig', join(folder, 'kubeconfig'), '-o', 'json'], {
      from: 'user',
    });
    await writeFile(join(folder, 'dump.json'), written.mock.calls.map(([text]) => String(text)).join(''));
  } finally {
    written.mockRestore();
    noted.mockRestore();
  }
  const { simulation } = await simulate({
    filename: [join(folder, 'dump.json')],
    whatIf: [change],
    instanceTypes: `http://127.0.0.1:${operator.metricsPort}`,
  });
  const groups = Map.groupBy(simulation.nodeClaims, ({ nodePool, cheapest }) => `${nodePool} ${cheapest}`);
  return {
    launches: [...groups.values()].map((claims) => ({
      nodePool: String(claims[0]?.nodePool),
      instanceType: String(claims[0]?.cheapest),
      nodes: claims.length,
      pods: claims.reduce((sum, { pods }) => sum + pods.length, 0),
      usdPerHour: Number(claims.reduce((sum, { price }) => sum + price, 0).toFixed(6)),
    })),
    existing: simulation.existingNodes.map(({ name, pods }) => ({ node: name, pods: pods.length })),
    unschedulable: Object.entries(simulation.unschedulable).map(([pod, reason]) => ({ pod, reason })),
  };
}

it('computes the effect of a change as karpenter simulate does, without changing the cluster', async () => {
  await scenario.apply(pool({ cpus: [4] }), deployment('web', 4, {}, { cpu: '1', memory: '512Mi' }));
  await scenario.until('running pods', async () => (await scenario.running('web')).length === 4);
  const [node] = (await scenario.nodes()).map(({ metadata }) => metadata.name);
  const instances = scenario.instances().length;

  const scaled = await answer('scale deploy/web=9');
  expect(scaled).toMatchObject({ addedPods: 5, removedPods: 0, unschedulable: [], notEvaluated: 0 });
  expect(scaled.launches.length).toBeGreaterThan(0);
  expect(scaled).toMatchObject(await simulated('scale deploy/web=9'));

  const drained = await answer(`drain ${node}`);
  expect(drained).toMatchObject({ addedPods: 0, removedPods: 0 });
  expect(drained.usdPerHour).toBeGreaterThan(0);
  expect(drained).toMatchObject(await simulated(`drain ${node}`));

  expect(await answer('scale default/deployment/web=1')).toMatchObject({ removedPods: 3, launches: [] });

  const limited = await answer('limit default cpu=4');
  expect(limited).toMatchObject({ launches: [], unschedulable: [] });
  expect(limited).toMatchObject(await simulated('limit default cpu=4'));

  await scenario.apply(
    deployment('big', 1, { nodeSelector: { 'karpenter.k8s.aws/instance-cpu': '8' } }, { cpu: '1', memory: '512Mi' }),
  );
  const change = 'require default karpenter.k8s.aws/instance-cpu=4,8';
  const required = await scenario.until('an effect', async () => {
    const found = await answer(change);
    return found.launches.length > 0 && found;
  });
  expect(required).toMatchObject({ launches: [{ nodePool: 'default', nodes: 1, pods: 1 }], unschedulable: [] });
  expect(required).toMatchObject(await simulated(change));

  for (const [change, text] of [
    ['drain nobody', 'Node "nobody" does not exist'],
    ['scale deploy/nobody=3', 'has no pods'],
    ['scale cronjob/web=3', '"cronjob" cannot be scaled'],
    ['scale deploy/web=999999', 'at most 2000 can be added'],
    ['limit nobody cpu=4', 'NodePool "nobody" does not exist'],
    ['limit default cpu=4q', 'Cannot read quantity "4q"'],
    ['require default karpenter.sh/nodepool=a', 'NodePool "default" would not be valid'],
    ['require nobody team=a', 'NodePool "nobody" does not exist'],
    ['delete everything', 'expected "scale'],
    ['', 'expected "scale'],
  ] as const) {
    const response = await ask(change);
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining(text)]);
  }
  expect((await scenario.nodes()).map(({ metadata }) => metadata.name)).toContain(node);
  expect(scenario.instances()).toHaveLength(instances);
  const [stored] = (await scenario.kube.list(NODE_POOL)).items;
  expect((stored as { spec?: { limits?: unknown } }).spec?.limits).toBeUndefined();
}, 120_000);

it('shows NodePools, NodeClasses, and the life of a node', async () => {
  await scenario.apply(pool({ cpus: [4] }), deployment('web', 2, {}, { cpu: '1', memory: '512Mi' }));
  await scenario.until('running pods', async () => (await scenario.running('web')).length === 2);
  expect(await read('/api/nodepools')).toMatchObject({
    rows: [{ name: 'default', ready: 'True', problem: '', nodes: 1, nodeClass: 'default' }],
  });
  expect(await read('/api/nodeclass?name=default')).toMatchObject({
    ready: 'True',
    nodePools: ['default'],
    conditions: expect.arrayContaining([expect.objectContaining({ type: 'SubnetsReady', status: 'True' })]),
  });
  interface Lives {
    readonly lives: readonly Readonly<Record<string, unknown>>[];
  }
  const life = await scenario.until('an initialized node', async () => {
    const { lives } = await read<Lives>('/api/timeline');
    return lives.find(({ initializedMs }) => initializedMs !== undefined);
  });
  expect(life).toMatchObject({ nodePool: 'default', startReason: 'provisioned', pods: 2 });
  await scenario.scale('web', 0);
  const ended = await scenario.until('the end of the node', async () => {
    const { lives } = await read<Lives>('/api/timeline');
    return lives.find(({ endedMs }) => endedMs !== undefined);
  });
  expect(ended).toMatchObject({ nodeClaim: life.nodeClaim, endReason: 'empty' });
  await scenario.until('the cost of an hour', async () => {
    const { nodePools } = await read<{ nodePools: readonly string[] }>('/api/costs');
    return nodePools.includes('default');
  });
}, 120_000);

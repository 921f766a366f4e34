/** Writes of the operator to the API server by phase, in virtual time. Events and Leases are apart. */
import { beforeEach, expect, it } from '@jest/globals';
import { ConfigMapDocument } from '#kube/reconcilers';
import { newHistory } from '#observe/history';
import { silent } from '#observe/logger';
import { historyKeeper } from '../../../src/controllers/cost/index.ts';
import { World } from './harness.ts';

const HOUR_SECONDS = 3_600;
const PODS = 22;

let world: World;
beforeEach(() => {
  world = new World();
  const history = newHistory();
  const client = world.kube.client(new AbortController().signal);
  const document = new ConfigMapDocument({ client, log: silent, namespace: 'kube-system', name: 'karpenter-history' });
  world.costHistory = { ...history, keeper: historyKeeper(history, document, world.clock) };
  world.nodePool();
  world.start();
});

/** Returns the number of writes by verb and kind while the time passes. */
async function writesWithin(seconds: number): Promise<Readonly<Record<string, number>>> {
  const from = world.kube.writes.length;
  await world.pass(seconds);
  const groups = Map.groupBy(world.kube.writes.slice(from), (write) => write);
  return Object.fromEntries([...groups].map(([name, all]) => [name, all.length]));
}

/** The costs of a past hour are a new fact. The record of the hour before can wait for minutes. */
const RECORDS = 2;

it('writes only the costs of the hour while nothing changes, without and with nodes', async () => {
  await writesWithin(600);
  for (const replicas of [0, PODS]) {
    if (replicas > 0) world.deploy('web', replicas, '3500m');
    await writesWithin(HOUR_SECONDS);
    expect(world.nodes.length > 0).toBe(replicas > 0);
    const { 'update configmaps': records = 0, ...writes } = await writesWithin(HOUR_SECONDS);
    expect(writes).toEqual({});
    expect(records).toBeLessThanOrEqual(RECORDS);
  }
}, 120_000);

it('writes a limited number of times for each launch and each removal', async () => {
  await writesWithin(300);
  world.deploy('web', PODS, '3500m');
  const launching = await writesWithin(1_800);
  const launches = world.nodes.length;
  expect(launches).toBeGreaterThan(5);
  expect(launching['create nodeclaims']).toBe(launches);
  const perLaunch = {
    'patch nodeclaims': 2,
    'patch nodes': 3,
    'patch-status nodeclaims': 6,
    'patch-status nodepools': 2,
  };
  for (const [write, most] of Object.entries(perLaunch))
    expect((launching[write] ?? 0) / launches).toBeLessThanOrEqual(most);

  world.deploy('web', 4, '3500m');
  const removing = await writesWithin(600);
  const removals = launches - world.nodes.length;
  expect(removals).toBeGreaterThan(3);
  const perRemoval = { 'delete nodeclaims': 1, 'patch nodeclaims': 1, 'patch nodes': 3, 'patch-status nodeclaims': 3 };
  for (const [write, most] of Object.entries(perRemoval))
    expect((removing[write] ?? 0) / removals).toBeLessThanOrEqual(most);
}, 120_000);

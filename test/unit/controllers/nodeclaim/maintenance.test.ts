/** Lifecycle conditions of nodes: maintenance is a reason to replace a node within budgets, and no pod is planned there. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NODE, NODE_CLAIM, NODE_POOL, type Node } from '#api/objects';
import { present } from '../../../support/present.ts';
import { conditionOf, World } from '../harness.ts';

let world: World;
beforeEach(async () => {
  world = new World();
  world.nodePool('default', { disruption: { consolidateAfter: 'Never', budgets: [{ nodes: '0' }] } });
  world.deploy('web', 3, '6');
  world.start();
  await world.pass(30);
  expect(world.nodes).toHaveLength(3);
});
afterEach(() => world.kill());

const set = (node: Node | undefined, type: string, status: 'True' | 'False'): unknown => {
  if (node === undefined) throw new Error('expected a node');
  const conditions = (node.status?.conditions ?? []).filter((condition) => condition.type !== type);
  const lastTransitionTime = new Date(world.clock.now()).toISOString();
  return world.kube.patch(
    NODE,
    node.metadata,
    { status: { conditions: [...conditions, { type, status, reason: 'AdminRequested', lastTransitionTime }] } },
    'status',
  );
};
const open = (nodes: string): unknown =>
  world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { disruption: { budgets: [{ nodes }] } } });
const drifts = (): readonly (string | undefined)[] => world.claims.map((claim) => conditionOf(claim, 'Drifted'));

describe('a node with planned maintenance', () => {
  it.each(['MaintenancePlanned', 'MaintenanceInProgress'])('drifts with the condition %s', async (type) => {
    set(world.nodes[1], type, 'True');
    await world.pass(5);
    expect(drifts()).toEqual([undefined, 'True/MaintenancePlanned', undefined]);
  });

  it('is replaced when a budget allows it, before nodes that drifted earlier', async () => {
    world.kube.patch(
      NODE_POOL,
      { name: 'default' },
      { spec: { template: { metadata: { labels: { 'example.com/generation': '2' } } } } },
    );
    await world.pass(30);
    const [, , last] = world.nodes;
    set(last, 'MaintenancePlanned', 'True');
    await world.pass(60);
    expect(world.nodes).toHaveLength(3);
    const names = world.nodes.map(({ metadata }) => metadata.name);
    open('1');
    for (let second = 0; second < 120 && world.disruptedNodes().length === 0; second += 1) await world.pass(1);
    expect(world.disruptedNodes().map(({ metadata }) => metadata.name)).toEqual([last?.metadata.name]);
    await world.pass(120);
    expect(world.nodes.map(({ metadata }) => metadata.name)).not.toEqual(names);
  });

  it('stays if the maintenance is cancelled', async () => {
    set(world.nodes[0], 'MaintenancePlanned', 'True');
    await world.pass(5);
    set(world.nodes[0], 'MaintenancePlanned', 'False');
    await world.pass(5);
    expect(drifts()).toEqual([undefined, undefined, undefined]);
    open('100%');
    await world.pass(120);
    expect(world.disruptedNodes()).toEqual([]);
  });
});

describe('a node that another client empties', () => {
  it.each([
    'MaintenancePlanned',
    'MaintenanceInProgress',
    'DrainInProgress',
    'Drained',
    'GracefulNodeShutdownInProgress',
  ])('takes no pods of plans with the condition %s', async (type) => {
    const taints = () => world.cluster.nodes().map((node) => node.taints.map(({ key, effect }) => `${key}:${effect}`));
    set(world.nodes[0], type, 'True');
    await world.pass(1);
    expect(taints().flat()).toEqual(['node.kubernetes.io/maintenance:NoSchedule']);
    set(world.nodes[0], type, 'False');
    await world.pass(1);
    expect(taints().flat()).toEqual([]);
  });

  it('has the same taints in plans while the operator itself terminates it', async () => {
    const [first] = world.nodes;
    const claim = world.claims.find(({ status }) => status?.nodeName === first?.metadata.name);
    world.kube.delete(NODE_CLAIM, present(claim).metadata);
    await world.pass(3);
    const taints = () => world.cluster.nodeByName(first?.metadata.name ?? '')?.taints.map(({ key }) => key);
    const before = taints();
    set(
      world.nodes.find(({ metadata }) => metadata.name === first?.metadata.name),
      'DrainInProgress',
      'True',
    );
    await world.pass(1);
    expect(before).toBeDefined();
    expect(taints()).toEqual(before);
  });

  it('does not drift only because it is drained', async () => {
    set(world.nodes[0], 'DrainInProgress', 'True');
    await world.pass(5);
    expect(drifts()).toEqual([undefined, undefined, undefined]);
  });
});

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NODE_CLAIM, NODE_POOL, type NodeClaim } from '#api/objects';
import { conditionOf, World } from '../harness.ts';

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.kill());

async function withNode(pods = 2): Promise<NodeClaim> {
  world.nodePool();
  world.start();
  await world.pass(2);
  world.deploy('web', pods);
  await world.pass(45);
  const [claim] = world.claims;
  if (claim === undefined) throw new Error('expected a claim');
  expect(conditionOf(claim, 'Initialized')).toBe('True/Initialized');
  return claim;
}

const changeTemplate = (): void => {
  const metadata = { labels: { 'example.com/generation': '2' } };
  world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { template: { metadata } } });
};

const find = ({ metadata }: NodeClaim): NodeClaim | undefined => world.kube.find(NODE_CLAIM, metadata);

describe('drift', () => {
  it('replaces a node whose NodePool changed after the new node is initialized', async () => {
    const old = await withNode();
    changeTemplate();
    await world.pass(2);
    expect(conditionOf(find(old), 'Drifted')).toBe('True/NodePoolDrifted');

    let leastReady = Number.POSITIVE_INFINITY;
    for (let second = 0; second < 90 && find(old); second += 1) {
      await world.pass(1);
      const ready = world.claims.filter(
        (claim) => conditionOf(claim, 'Initialized') === 'True/Initialized' && !claim.metadata.deletionTimestamp,
      );
      leastReady = Math.min(leastReady, ready.length);
    }
    await world.pass(20);

    expect(leastReady).toBe(1);
    expect(find(old)).toBeUndefined();
    expect(world.claims).toHaveLength(1);
    expect(world.claims[0]?.metadata.labels).toMatchObject({ 'example.com/generation': '2' });
    expect(world.disruptedNodes()).toEqual([]);
    const [started] = world.lines.filter(({ message }) => message === 'disrupting node(s)');
    expect(started?.fields).toMatchObject({ decision: 'replace', 'replacement-node-count': 1, 'pod-count': 2 });
    for (const reason of ['DisruptionLaunching', 'DisruptionWaitingReadiness', 'DisruptionTerminating']) {
      expect(world.eventReasons()).toContain(reason);
    }
    expect(await world.metrics.text()).toMatch(/nodeclaims_created_total\{reason="drifted",nodepool="default".*\} 1/);
  });

  it('rolls back if the replacement is not initialized in time', async () => {
    const old = await withNode();
    world.joining = false;
    changeTemplate();
    await world.pass(30);
    expect(world.disruptedNodes()).toHaveLength(1);
    expect(conditionOf(find(old), 'DisruptionReason')).toBe('True/Drifted');
    expect(world.claims).toHaveLength(2);

    await world.pass(10 * 60);
    expect(world.lines.map(({ message }) => message)).toContain(
      'failed terminating nodes while executing a disruption command',
    );
    expect(find(old)?.metadata.deletionTimestamp).toBeUndefined();
    expect(await world.metrics.text()).toMatch(/voluntary_disruption_queue_failures_total\{.*reason="drifted".*\} 1/);
    expect(world.pods.every(({ spec }) => spec.nodeName === world.nodes[0]?.metadata.name)).toBe(true);
  });

  it('rolls back immediately if the replacement is deleted', async () => {
    const old = await withNode();
    world.joining = false;
    changeTemplate();
    await world.pass(20);
    const replacement = world.claims.find(({ metadata }) => metadata.name !== old.metadata.name);
    world.kube.beforeWrite = (operation) => {
      if (operation === 'create nodeclaims') throw new Error('no more, thank you');
    };
    world.kube.delete(NODE_CLAIM, replacement?.metadata ?? { name: '' });
    await world.pass(30);

    expect(world.lines.map(({ message }) => message)).toContain(
      'failed terminating nodes while executing a disruption command',
    );
    expect(find(old)?.metadata.deletionTimestamp).toBeUndefined();
    expect(world.pods.every(({ spec }) => spec.nodeName)).toBe(true);
  });

  it('keeps a node whose pods would be unschedulable', async () => {
    const old = await withNode();
    world.cloud.types = world.cloud.types.map((type) => ({
      ...type,
      offerings: type.offerings.map((offering) => ({ ...offering, available: false })),
    }));
    changeTemplate();
    await world.pass(30);

    expect(world.disruptedNodes()).toEqual([]);
    expect(find(old)).toBeDefined();
    const blocked = world.events.filter(({ reason }) => reason === 'DisruptionBlocked').map(({ message }) => message);
    expect(blocked).toContainEqual(expect.stringMatching(/^Not all pods would schedule, default\/web-\d+ => /));
  });

  it('keeps a node that is no longer drifted', async () => {
    const old = await withNode();
    world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { disruption: { budgets: [{ nodes: '0' }] } } });
    world.cloud.drifted = 'AMIDrift';
    await world.pass(6 * 60);
    expect(conditionOf(find(old), 'Drifted')).toBe('True/AMIDrift');

    world.cloud.drifted = undefined;
    await world.pass(6 * 60);
    expect(conditionOf(find(old), 'Drifted')).toBeUndefined();
    expect(world.claims).toHaveLength(1);
  });

  it('detects labels that the NodePool no longer allows and unavailable types', async () => {
    const old = await withNode();
    world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { disruption: { budgets: [{ nodes: '0' }] } } });
    const requirements = [{ key: 'kubernetes.io/arch', operator: 'In', values: ['arm64'] }];
    world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { template: { spec: { requirements } } } });
    await world.pass(3);
    expect(conditionOf(find(old), 'Drifted')).toBe('True/RequirementsDrifted');

    world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { template: { spec: { requirements: [] } } } });
    await world.pass(3);
    expect(conditionOf(find(old), 'Drifted')).toBeUndefined();
    world.cloud.types = world.cloud.types.slice(2);
    await world.pass(70 * 60);
    expect(conditionOf(find(old), 'Drifted')).toBe('True/InstanceTypeNotFound');
  });

  it.each([
    'patch nodes',
    'create nodeclaims',
    'delete nodeclaims',
  ])('ends with one new node if the operator was killed at its first "%s"', async (operation) => {
    await withNode();
    let armed = true;
    world.kube.beforeWrite = (at) => {
      if (at !== operation || !armed) return;
      armed = false;
      world.kill();
      throw new Error('the process is dead');
    };
    changeTemplate();
    await world.pass(60);
    expect(armed).toBe(false);
    world.start();
    await world.pass(240);

    expect(world.claims).toHaveLength(1);
    expect(world.claims[0]?.metadata.labels).toMatchObject({ 'example.com/generation': '2' });
    expect(world.cloud.instances.size).toBe(1);
    expect(world.disruptedNodes()).toEqual([]);
  });
});

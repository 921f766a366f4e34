/** Acts that cannot be undone, while the cache does not show a change that forbids them. */

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NODE, NODE_CLAIM, NODE_POOL } from '#api/objects';
import type { Pressure } from '#process/memory';
import { CLOSED, startWithNodes } from './disruption/disruption-world.ts';
import { conditionOf, World } from './harness.ts';

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.kill());

const alive = () => world.claims.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
const scale = (replicas: number): unknown => world.kube.patch(NODE_POOL, { name: 'fixed' }, { spec: { replicas } });

async function withReplicas(replicas: number): Promise<void> {
  world.nodePool('fixed', { replicas });
  world.start(['--feature-gates=StaticCapacity=true']);
  await world.pass(15);
  expect(alive()).toHaveLength(replicas);
}

describe('a static NodePool', () => {
  it('is not scaled down if its replicas were raised again', async () => {
    await withReplicas(1);
    world.kube.silent.add(NODE_POOL.plural);
    scale(3);
    const [first] = alive();
    if (first === undefined) throw new Error('expected a NodeClaim');
    for (const name of ['second', 'third'])
      world.kube.create(NODE_CLAIM, { ...first, metadata: { name, labels: first.metadata.labels ?? {} } });
    await world.pass(90);
    expect(world.kube.writes).not.toContain('delete nodeclaims');
  });

  it('deletes only as many nodes as the API server has in excess', async () => {
    await withReplicas(6);
    world.kube.silent.add(NODE_CLAIM.plural);
    for (const { metadata } of alive().slice(0, 3)) world.kube.delete(NODE_CLAIM, metadata);
    scale(3);
    await world.pass(90);
    expect(alive()).toHaveLength(3);
  });
});

describe('a deleted NodeClaim', () => {
  it('drains a Node that the cache does not show before its instance is terminated', async () => {
    await startWithNodes(world, { count: 1, disruption: CLOSED, small: 0 });
    const [node] = world.nodes;
    const [claim] = world.claims;
    if (node === undefined || claim === undefined) throw new Error('expected a node');
    // the cache receives the deletion of the Node, and not its return
    world.joining = false;
    world.kube.patch(NODE, node.metadata, { metadata: { finalizers: [] } });
    world.kube.delete(NODE, node.metadata);
    await world.pass(1);
    world.kube.silent.add(NODE.plural);
    world.join(claim.status?.providerID ?? '', claim, { metadata: node.metadata });
    world.kube.delete(NODE_CLAIM, claim.metadata);
    await world.pass(30);
    expect(world.claims.map(({ metadata }) => metadata.uid)).toEqual([claim.metadata.uid]);
    expect(conditionOf(world.claims[0], 'InstanceTerminating')).not.toBe('True/InstanceTerminating');
  });
});

describe('a NodeClaim whose node does not join', () => {
  it('is kept while the watch of Nodes is stale', async () => {
    world.nodePool();
    world.start();
    world.joining = false;
    world.pending(1);
    await world.pass(10);
    expect(alive()).toHaveLength(1);
    const [before] = alive();
    world.kube.watches = [{ resource: 'nodes', ageMs: 70_000, isStale: true }];
    await world.pass(20 * 60);
    expect(alive()[0]?.metadata.uid).toBe(before?.metadata.uid);
    world.kube.watches = [];
    await world.pass(30);
    expect(alive().map(({ metadata }) => metadata.uid)).not.toContain(before?.metadata.uid);
  });
});

describe('a disruption command', () => {
  it('does not start for a node with a protection that the cache does not show', async () => {
    await startWithNodes(world, { count: 1, disruption: CLOSED, small: 0 });
    world.removePods(...world.pods);
    await world.pass(10);
    const [node] = world.nodes;
    world.kube.silent.add(NODE.plural);
    const annotations = { 'karpenter.sh/do-not-disrupt': 'true' };
    world.kube.patch(NODE, node?.metadata ?? { name: '' }, { metadata: { annotations } });
    world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { disruption: { budgets: [{ nodes: '100%' }] } } });
    await world.pass(60);
    expect(alive()).toHaveLength(1);
    expect(world.disruptedNodes()).toEqual([]);
  });

  it('does not start while memory is nearly full', async () => {
    const pressure = {
      stage: 2,
      stretch: 4,
      mostLaunches: () => 1,
      onShort: () => undefined,
      publishTo: () => undefined,
    } as const;
    const held: { -readonly [K in keyof Pressure]: Pressure[K] } = { ...pressure };
    world.pressure = held;
    await startWithNodes(world, { count: 1, disruption: CLOSED, small: 0 });
    world.removePods(...world.pods);
    world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { disruption: { budgets: [{ nodes: '100%' }] } } });
    await world.pass(120);
    expect(alive()).toHaveLength(1);
    held.stage = 1;
    await world.pass(60);
    expect(alive()).toEqual([]);
  });

  it('does not start while a watch is stale', async () => {
    await startWithNodes(world, { count: 1, disruption: CLOSED, small: 0 });
    world.removePods(...world.pods);
    world.kube.watches = [{ resource: 'daemonsets.apps', ageMs: 70_000, isStale: true }];
    world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { disruption: { budgets: [{ nodes: '100%' }] } } });
    await world.pass(120);
    expect(alive()).toHaveLength(1);
    const told = world.lines.filter(({ message }) => message === 'pausing disruption, watches are stale');
    expect(told.map(({ fields }) => fields.resources)).toEqual([['daemonsets.apps']]);
    world.kube.watches = [];
    await world.pass(60);
    expect(alive()).toEqual([]);
  });
});

/** Unproductive launches of every origin in virtual time: their number is limited, and other pods are not affected. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CAPACITY_BUFFER, isTrue, NODE, NODE_CLAIM, NODE_POOL, POD_TEMPLATE } from '#api/objects';
import { LaunchWorld, MINUTE } from './launch-world.ts';

const TOLERATES_AGENT = { tolerations: [{ key: 'agent', operator: 'Exists' }] } as const;

let world: LaunchWorld;

beforeEach(() => {
  world = new LaunchWorld();
});
afterEach(() => world.kill());

describe('a pod of a leaving node with a blocked eviction, while an agent taints new nodes', () => {
  it('has two nodes launched in ten minutes, and few per hour after that', async () => {
    world.blockEvictions();
    world.nodePool();
    await world.begin();
    const pod = world.createPod();
    expect(await world.boundWithin(pod, 30)).toBe(true);
    const before = world.cloud.creations;
    world.meddle = (node) => world.taintNew(node);
    for (const { metadata } of world.claims) world.kube.delete(NODE_CLAIM, metadata);
    await world.pass(10 * MINUTE);
    expect(world.cloud.creations - before).toBe(2);
    expect(world.condition()).toMatchObject({ status: 'False', reason: 'TaintNotTolerated' });
    await world.pass(60 * MINUTE);
    expect(world.cloud.creations - before).toBeLessThanOrEqual(6);
  });
});

describe('a capacity buffer, while an agent taints new nodes', () => {
  it('has three nodes launched in ten minutes', async () => {
    world.meddle = (node) => world.taintNew(node);
    world.nodePool();
    world.kube.create(POD_TEMPLATE, {
      apiVersion: 'v1',
      kind: 'PodTemplate',
      metadata: { name: 'small', namespace: 'default' },
      template: { spec: { containers: [{ name: 'main', resources: { requests: { cpu: '1' } } }] } },
    });
    world.kube.create(CAPACITY_BUFFER, {
      apiVersion: 'autoscaling.x-k8s.io/v1beta1',
      kind: 'CapacityBuffer',
      metadata: { name: 'spare', namespace: 'default' },
      spec: { replicas: 1, podTemplateRef: { name: 'small' } },
    });
    await world.begin('--feature-gates=CapacityBuffer=true');
    await world.pass(10 * MINUTE);
    // two show the cause; the third is planned when the second is initialized, before its taint is judged
    expect(world.cloud.creations).toBe(3);
    expect(world.condition()).toMatchObject({ status: 'False', reason: 'TaintNotTolerated' });
  });
});

describe('a pod that is recreated with different requirements each time', () => {
  it.each([
    { what: '1m more CPU', most: 5, anew: (round: number) => world.createPod({}, `${1000 + round}m`) },
    // once the cause was found for three namespaces, the others get one node at a time
    {
      what: 'another namespace',
      most: 15,
      anew: (round: number) => world.createPod({}, '1', { namespace: `n-${round}` }),
    },
    {
      what: 'another toleration',
      most: 5,
      anew: (round: number) => world.createPod({ tolerations: [{ key: `t-${round}`, operator: 'Exists' }] }),
    },
    {
      what: 'another scheduler name',
      most: 5,
      anew: (round: number) => world.createPod({ priority: round, schedulerName: `s-${round}` }),
    },
  ])('leads to few launches with $what', async ({ anew, most }) => {
    world.meddle = (node) => world.taintNew(node);
    world.nodePool();
    await world.begin();
    let pod = anew(0);
    for (let round = 1; round <= 24; round += 1) {
      await world.pass(5);
      world.removePods(pod);
      pod = anew(round);
    }
    expect(world.cloud.creations).toBeLessThanOrEqual(most);
  });

  it('does not delay an unaffected pod', async () => {
    world.meddle = (node) => world.taintNew(node);
    world.nodePool();
    await world.begin();
    for (let round = 1; round <= 24; round += 1) {
      const pod = world.createPod({}, `${1000 + round}m`);
      await world.pass(5);
      world.removePods(pod);
    }
    world.createPod();
    expect(await world.boundWithin(world.createPod(TOLERATES_AGENT, '7'), 20)).toBe(true);
  });

  it('leads to few launches with always new causes, and fewer per hour afterwards', async () => {
    const keys = Array.from({ length: 30 }, (_, at) => `key-${at}`);
    const requirements = keys.map((key) => ({ key, operator: 'In' as const, values: ['a'] }));
    world.createPoolWith(requirements);
    world.meddle = (node) => {
      const labels = Object.fromEntries(keys.filter((key) => node.metadata.labels?.[key]).map((key) => [key, null]));
      if (Object.keys(labels).length > 0) world.kube.patch(NODE, node.metadata, { metadata: { labels } });
    };
    await world.begin();
    for (let round = 0; round < 60; round += 1) {
      const pod = world.createPod({ nodeSelector: { [`key-${round % 30}`]: 'a' } }, `${1000 + round}m`);
      await world.pass(10);
      world.removePods(pod);
    }
    const first = world.cloud.creations;
    expect(first).toBeLessThanOrEqual(10);
    for (let round = 0; round < 360; round += 1) {
      const pod = world.createPod({ nodeSelector: { [`key-${round % 30}`]: 'a' } }, `${2000 + round}m`);
      await world.pass(10);
      world.removePods(pod);
    }
    expect(world.cloud.creations - first).toBeLessThanOrEqual(5);
    expect(world.condition()).toMatchObject({ status: 'False', reason: 'SeveralCauses' });
  });

  it('does not slow pods of a kind that runs on nodes of the NodePool, with always new causes', async () => {
    world.createPoolWith(['a', 'b', 'c', 'd'].map((key) => ({ key, operator: 'In' as const, values: ['a'] })));
    await world.begin();
    expect(await world.boundWithin(world.createPod({}, '7'), 30)).toBe(true);
    world.meddle = (node) => {
      const labels = { a: null, b: null, c: null, d: null };
      if (node.metadata.labels?.a) world.kube.patch(NODE, node.metadata, { metadata: { labels } });
    };
    for (const key of ['a', 'b', 'c', 'd']) world.createPod({ nodeSelector: { [key]: 'a' } });
    await world.pass(3 * MINUTE);
    const more = Array.from({ length: 20 }, () => world.createPod({}, '7'));
    await world.pass(30);
    expect(more.filter((pod) => !world.isBound(pod))).toEqual([]);
  });
});

describe('an instance that never joins', () => {
  it('is launched for pods at increasing intervals', async () => {
    world.joining = false;
    world.nodePool();
    await world.begin();
    for (let n = 0; n < 3; n += 1) world.createPod({}, '7');
    await world.pass(180 * MINUTE);
    // Three together, then one at a time: each timeout takes 15 minutes.
    expect(world.cloud.creations).toBeLessThanOrEqual(9);
    expect(world.condition()).toMatchObject({ status: 'False', reason: 'NodesNeverJoined' });
    world.joining = true;
    world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { weight: 7 } });
    await world.pass(20 * MINUTE);
    expect(world.pods.every((pod) => world.isBound(pod))).toBe(true);
    expect(world.condition()?.status).toBe('True');
  });

  it('is launched for a static NodePool at increasing intervals', async () => {
    world.joining = false;
    world.nodePool('default', { replicas: 3 });
    await world.begin('--feature-gates=StaticCapacity=true');
    await world.pass(180 * MINUTE);
    expect(world.cloud.creations).toBeLessThanOrEqual(9);
    expect(world.condition()?.reason).toBe('NodesNeverJoined');
  });
});

describe('a NodeClaim that is deleted before its node is initialized', () => {
  const endNew = (): void => {
    for (const claim of world.claims)
      if (isTrue(claim, 'Launched') && !claim.metadata.deletionTimestamp) world.kube.delete(NODE_CLAIM, claim.metadata);
  };

  it.each([
    { of: 'pods', replicas: undefined },
    { of: 'a static NodePool', replicas: 1 },
  ])('is launched for $of at increasing intervals', async ({ replicas }) => {
    world.joining = false;
    world.nodePool('default', replicas === undefined ? {} : { replicas });
    await world.begin('--feature-gates=StaticCapacity=true');
    if (replicas === undefined) world.createPod();
    world.meddle = () => undefined;
    const bindPods = world.bindPods.bind(world);
    world.bindPods = () => {
      endNew();
      bindPods();
    };
    await world.pass(10 * MINUTE);
    expect(world.cloud.creations).toBeLessThanOrEqual(7);
    expect(world.condition()).toMatchObject({ status: 'False', reason: 'NodesTerminated' });
    const after = world.cloud.creations;
    await world.pass(60 * MINUTE);
    expect(world.cloud.creations - after).toBeLessThanOrEqual(4);
  });

  it('does not count if the node was initialized, even a moment before', async () => {
    world.nodePool('default', { replicas: 3 });
    await world.begin('--feature-gates=StaticCapacity=true');
    for (let round = 1; round <= 4; round += 1) {
      while (!(world.claims.length === 3 && world.claims.every((claim) => isTrue(claim, 'Initialized'))))
        await world.pass(1);
      for (const { metadata } of world.claims) world.kube.delete(NODE_CLAIM, metadata);
      while (world.cloud.creations < 3 * (round + 1)) await world.pass(1);
    }
    await world.pass(MINUTE);
    expect(world.lines.filter(({ message }) => message === 'holding back launches')).toEqual([]);
    expect(world.condition()).toBeUndefined();
  });

  it('does not count while its NodePool is being deleted', async () => {
    world.joining = false;
    world.nodePool('default', { replicas: 3 });
    await world.begin('--feature-gates=StaticCapacity=true');
    while (!world.claims.every((claim) => isTrue(claim, 'Launched')) || world.claims.length < 3) await world.pass(1);
    world.kube.patch(NODE_POOL, { name: 'default' }, { metadata: { finalizers: ['foregroundDeletion'] } });
    world.kube.delete(NODE_POOL, { name: 'default' });
    for (const { metadata } of world.claims) world.kube.delete(NODE_CLAIM, metadata);
    await world.pass(MINUTE);
    expect(world.lines.filter(({ message }) => message === 'holding back launches')).toEqual([]);
    expect(await world.metrics.text()).not.toMatch(/launches_unproductive_total\{.*\} [1-9]/);
  });

  it('does not count when a static NodePool is scaled down', async () => {
    world.joining = false;
    world.nodePool('default', { replicas: 0 });
    await world.begin('--feature-gates=StaticCapacity=true');
    for (let round = 0; round < 4; round += 1) {
      world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { replicas: 2 } });
      await world.pass(20);
      world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { replicas: 0 } });
      await world.pass(20);
    }
    expect(world.cloud.creations).toBe(8);
    expect(world.condition()).toBeUndefined();
  });
});

describe('the replacement of a drifted node', () => {
  it('is not launched for pods that do not fit earlier nodes', async () => {
    world.nodePool();
    await world.begin();
    const pod = world.createPod({}, '7');
    expect(await world.boundWithin(pod, 30)).toBe(true);
    world.meddle = (node) => world.taintNew(node);
    const other = world.createPod({}, '7');
    await world.pass(3 * MINUTE);
    expect(world.isBound(other)).toBe(false);
    const before = world.cloud.creations;
    world.cloud.drifted = 'AMIDrift';
    await world.pass(6 * MINUTE);
    expect(world.cloud.creations).toBe(before);
    expect(world.isBound(pod)).toBe(true);
  });

  it('is launched at increasing intervals for a static node if it never joins, and the node is kept', async () => {
    world.nodePool('default', { replicas: 2 });
    await world.begin('--feature-gates=StaticCapacity=true');
    await world.pass(30);
    expect(world.cloud.creations).toBe(2);
    const working = world.claims.map(({ metadata }) => metadata.name);
    world.joining = false;
    world.cloud.drifted = 'AMIDrift';
    await world.pass(180 * MINUTE);
    expect(world.cloud.creations).toBeLessThanOrEqual(11);
    expect(world.claims.map(({ metadata }) => metadata.name)).toEqual(expect.arrayContaining([...working]));
  });
});

describe('a restart of the operator', () => {
  it('continues the back-off in the condition of the NodePool', async () => {
    world.meddle = (node) => world.taintNew(node);
    world.nodePool();
    await world.begin();
    world.createPod();
    await world.pass(4 * MINUTE);
    expect(world.cloud.creations).toBe(2);
    for (let round = 0; round < 5; round += 1) {
      world.kill();
      await world.begin();
      await world.pass(MINUTE);
    }
    expect(world.cloud.creations).toBe(2);
    await world.pass(10 * MINUTE);
    expect(world.cloud.creations).toBe(3);
  });
});

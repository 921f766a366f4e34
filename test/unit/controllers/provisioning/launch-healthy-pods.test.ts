/** The launch budget must not slow launches for pods whose nodes are used. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NODE, type Node, POD } from '#api/objects';
import { LaunchWorld, MINUTE } from './launch-world.ts';

const isLeaving = ({ spec }: Node): boolean => (spec?.taints ?? []).some(({ key }) => key === 'karpenter.sh/disrupted');

let world: LaunchWorld;

beforeEach(() => {
  world = new LaunchWorld();
});
afterEach(() => world.kill());

describe('a healthy pod', () => {
  it('is not slowed in a burst by a pod that no node fits', async () => {
    world.meddle = (node) => {
      if (node.metadata.labels?.team) world.kube.patch(NODE, node.metadata, { metadata: { labels: { team: null } } });
    };
    world.createPoolWith([{ key: 'team', operator: 'In', values: ['a'] }]);
    await world.begin();
    world.createPod({ nodeSelector: { team: 'a' } });
    await world.pass(3 * MINUTE);
    const before = world.cloud.creations;
    const burst = Array.from({ length: 1_000 }, () => world.createPod({}, '1'));
    await world.pass(12);
    expect(world.cloud.creations - before).toBeGreaterThanOrEqual(130);
    await world.pass(15);
    expect(burst.every((pod) => world.isBound(pod))).toBe(true);
  });

  it('is not slowed in a burst by a taint that an agent removes half a minute after initialization', async () => {
    world.taintFor(0);
    world.nodePool('default', { disruption: { consolidateAfter: '5m', budgets: [{ nodes: '100%' }] } });
    await world.begin();
    world.createPod({}, '7');
    world.createPod({}, '7');
    // The nodes now have the taint.
    await world.pass(6);
    const before = world.cloud.creations;
    const burst = Array.from({ length: 100 }, (_, at) => world.createPod({}, '1', { namespace: `n-${at % 5}` }));
    await world.pass(4);
    expect(world.cloud.creations - before).toBeGreaterThanOrEqual(14);
    await world.pass(40);
    expect(burst.every((pod) => world.isBound(pod))).toBe(true);
    expect(world.condition()?.status).not.toBe('False');
  });

  it('is not slowed by nodes that are used after they were counted', async () => {
    world.nodePool('default', { disruption: { consolidateAfter: '5m', budgets: [{ nodes: '100%' }] } });
    world.taintFor(0);
    await world.begin();
    for (let round = 0; round < 8; round += 1) {
      const pods = Array.from({ length: 3 }, () =>
        world.createPod({ tolerations: [{ key: `t-${round}`, operator: 'Exists' }] }, '7'),
      );
      await world.pass(80);
      expect(pods.every((pod) => world.isBound(pod))).toBe(true);
    }
    expect(world.launches?.holds()(world.createPod())).toBeUndefined();
  });

  it('gets a node of another NodePool if nodes of the preferred NodePool do not fit', async () => {
    world.nodePool('preferred', { weight: 10 });
    world.nodePool('other');
    world.meddle = (node) => {
      if (node.metadata.labels?.['karpenter.sh/nodepool'] === 'preferred') world.taintNew(node);
    };
    await world.begin();
    expect(await world.boundWithin(world.createPod(), 3 * MINUTE)).toBe(true);
  });

  it('is not slowed after short-lived pods of the same kind, which ended within seconds', async () => {
    world.nodePool('default', { disruption: { consolidateAfter: '0s', budgets: [{ nodes: '100%' }] } });
    await world.begin();
    for (let round = 0; round < 6; round += 1) {
      const pod = world.createPod({}, '7');
      expect(await world.boundWithin(pod, 20)).toBe(true);
      await world.pass(1);
      world.kube.delete(POD, pod.metadata);
      // The next pod is created when the empty node is about to be deleted.
      while (!world.nodes.some(isLeaving)) await world.pass(1);
    }
    expect(await world.metrics.text()).not.toMatch(/launches_unproductive_total\{.*\} [1-9]/);
  });

  it('is not slowed after a workload of the same kind was scaled down before its nodes were ready', async () => {
    world.nodePool('default', { disruption: { consolidateAfter: '0s', budgets: [{ nodes: '100%' }] } });
    await world.begin();
    for (let round = 0; round < 4; round += 1) {
      const pods = Array.from({ length: 2 }, () => world.createPod({}, '7'));
      while (world.claims.length === 0) await world.pass(1);
      expect(pods.some((pod) => world.isBound(pod))).toBe(false);
      for (const { metadata } of pods) world.kube.delete(POD, metadata);
      // The nodes are empty and are deleted.
      await world.pass(MINUTE);
      expect(world.nodes).toEqual([]);
    }
    expect(await world.boundWithin(world.createPod({}, '7'), 20)).toBe(true);
    expect(await world.metrics.text()).not.toMatch(/launches_unproductive_total\{.*\} [1-9]/);
  });
});

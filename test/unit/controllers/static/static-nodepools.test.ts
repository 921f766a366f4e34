import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, NODE_CLAIM, NODE_POOL, type NodePool, POD, type Pod } from '#api/objects';
import { InsufficientCapacity } from '#cloud';
import { World } from '../harness.ts';

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.kill());

const begin = async (spec: Partial<NodePool['spec']>, gates = 'StaticCapacity=true'): Promise<void> => {
  world.nodePool('fixed', spec);
  world.start([`--feature-gates=${gates}`]);
  await world.pass(15);
};
const scale = (replicas: number): unknown => world.kube.patch(NODE_POOL, { name: 'fixed' }, { spec: { replicas } });
const messages = (text: string): number => world.lines.filter(({ message }) => message === text).length;
const alive = () => world.claims.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
const names = (): readonly string[] => alive().map(({ metadata }) => metadata.name);

describe('a static NodePool', () => {
  it('launches its nodes without pods from its template', async () => {
    const requirements = [
      { key: CAPACITY_TYPE_LABEL, operator: 'In' as const, values: ['on-demand'] },
      { key: 'team', operator: 'In' as const, values: ['blue'] },
    ];
    const { template } = world.nodePool('other').spec;
    await begin({ replicas: 3, template: { ...template, spec: { ...template.spec, requirements } } });

    expect(world.nodes).toHaveLength(3);
    const [claim] = world.claims;
    expect(claim?.metadata.labels).toMatchObject({ 'karpenter.sh/nodepool': 'fixed', team: 'blue' });
    expect(claim?.spec.requirements.map(({ key }) => key)).not.toContain('node.kubernetes.io/instance-type');
    expect(await world.metrics.text()).toMatch(
      /nodeclaims_created_total\{reason="provisioned",nodepool="fixed",.*\} 3/,
    );
    expect(world.errors()).toEqual([]);
  });

  it('launches no nodes if the feature gate is disabled, and reports that', async () => {
    await begin({ replicas: 3 }, 'StaticCapacity=false');
    expect(world.claims).toEqual([]);
    expect(world.events.filter(({ reason }) => reason === 'StaticCapacityDisabled')).toHaveLength(1);
  });

  it('launches no nodes while it is not ready', async () => {
    const { template } = world.nodePool('other').spec;
    const nodeClassRef = { ...template.spec.nodeClassRef, name: 'gone' };
    await begin({ replicas: 3, template: { spec: { ...template.spec, nodeClassRef } } });
    expect(world.claims).toEqual([]);
  });

  it('grows and shrinks with its replicas, down to 0', async () => {
    await begin({ replicas: 1 });
    for (const replicas of [4, 2, 0, 1]) {
      scale(replicas);
      await world.pass(40);
      expect(alive()).toHaveLength(replicas);
      expect(world.nodes).toHaveLength(replicas);
    }
  });

  it('accepts pods like any node, but does not launch nodes for them', async () => {
    await begin({ replicas: 1 });
    world.pending(1, '1500m');
    await world.pass(5);
    expect(world.pods.every(({ spec }) => spec.nodeName)).toBe(true);
    world.pending(1, '1500m');
    await world.pass(30);
    expect(alive()).toHaveLength(1);
    expect(messages('no dynamic nodepools found')).toBeGreaterThan(0);
  });

  it('keeps its empty nodes during consolidation', async () => {
    await begin({ replicas: 2 });
    await world.pass(120);
    expect(world.nodes).toHaveLength(2);
    expect(world.disruptedNodes()).toEqual([]);
  });

  it('respects its limit of nodes, and reports that', async () => {
    await begin({ replicas: 5, limits: { nodes: '2' } });
    expect(world.claims).toHaveLength(2);
    await world.pass(35);
    expect(world.claims).toHaveLength(2);
    expect(messages('nodepool node limit reached')).toBeGreaterThan(0);
    world.kube.patch(NODE_POOL, { name: 'fixed' }, { spec: { limits: { nodes: '4' } } });
    await world.pass(15);
    expect(world.claims).toHaveLength(4);
  });

  it('replaces a deleted node', async () => {
    await begin({ replicas: 2 });
    const [first] = names();
    world.kube.delete(NODE_CLAIM, { name: first ?? '' });
    await world.pass(30);
    expect(alive()).toHaveLength(2);
    expect(names()).not.toContain(first);
  });

  it.each([
    ['', 0],
    [', even if the clock is set back', -3_600_000],
  ])('recreates lost claims without capacity only every ten seconds%s', async (_, ms) => {
    world.cloud.beforeCreate = () => {
      throw new InsufficientCapacity('none left');
    };
    await begin({ replicas: 2 });
    const before = world.kube.writes.filter((operation) => operation === 'create nodeclaims').length;
    world.clock.put(ms);
    await world.pass(60);
    const made = world.kube.writes.filter((operation) => operation === 'create nodeclaims').length - before;
    expect(made).toBeGreaterThanOrEqual(8);
    expect(made).toBeLessThanOrEqual(14);
  });

  it('does not replace claims that are not launched yet', async () => {
    world.cloud.beforeCreate = () => {
      throw new Error('throttled');
    };
    await begin({ replicas: 3 });
    await world.pass(30);
    expect(world.claims).toHaveLength(3);
  });

  it('deletes unlaunched claims before nodes, and empty nodes before others', async () => {
    await begin({ replicas: 3 });
    world.pending(2, '1500m'); // on two of the three nodes
    await world.pass(5);
    world.cloud.beforeCreate = () => {
      throw new Error('throttled');
    };
    scale(4);
    await world.pass(15);
    const unlaunched = world.claims.find(({ status }) => !status?.providerID)?.metadata.name ?? '';
    scale(3);
    await world.pass(15);
    expect(names()).not.toContain(unlaunched);
    expect(world.nodes).toHaveLength(3);

    scale(2);
    await world.pass(40);
    expect(world.nodes).toHaveLength(2);
    expect(world.pods.every(({ spec }) => world.nodes.some(({ metadata }) => metadata.name === spec.nodeName))).toBe(
      true,
    );
    expect(world.eventReasons()).not.toContain('Evicted');
  });

  it('deletes nodes of a running gang after nodes with other pods, and all nodes of one gang before another', async () => {
    await begin({ replicas: 5 });
    const memberOf = (gang: string): Pod => {
      const [pod] = world.pending(1, '1500m');
      if (pod === undefined) throw new Error('no pod');
      const annotations = { 'karpenter-ts.sh/gang': gang, 'karpenter-ts.sh/gang-disruption': 'Together' };
      return world.kube.patch(POD, pod.metadata, { metadata: { annotations } });
    };
    for (const gang of ['a', 'b', 'a', 'b']) memberOf(gang);
    world.pending(1, '1500m');
    await world.pass(5);
    expect(world.pods.every(({ spec }) => spec.nodeName)).toBe(true);
    const gangs = (): readonly (string | undefined)[] =>
      world.pods
        .filter(
          ({ metadata, spec }) =>
            !metadata.deletionTimestamp &&
            world.nodes.some((node) => node.metadata.name === spec.nodeName && !node.metadata.deletionTimestamp),
        )
        .map(({ metadata }) => metadata.annotations?.['karpenter-ts.sh/gang']);
    scale(4);
    await world.pass(20);
    expect(gangs().toSorted()).toEqual(['a', 'a', 'b', 'b']);
    scale(2);
    await world.pass(20);
    expect(gangs()).toHaveLength(2);
    expect(new Set(gangs()).size).toBe(1);
  });

  it('replaces drifted nodes one by one, each after its replacement', async () => {
    await begin({ replicas: 2 });
    const before = names();
    world.cloud.drifted = 'AMIDrift';
    let [most, least] = [0, 2];
    for (let second = 0; second < 400 && names().some((name) => before.includes(name)); second += 2) {
      await world.pass(2);
      if (alive().length > 2) world.cloud.drifted = undefined;
      most = Math.max(most, alive().length);
      least = Math.min(least, world.nodes.length);
    }
    await world.pass(60);
    expect(names().filter((name) => before.includes(name))).toEqual([]);
    expect(names()).toHaveLength(2);
    expect(most).toBeLessThanOrEqual(4);
    expect(least).toBe(2);
  });

  it.each([
    { from: 0, to: 4, dies: 'create nodeclaims', at: 1 },
    { from: 0, to: 4, dies: 'create nodeclaims', at: 3 },
    { from: 4, to: 1, dies: 'delete nodeclaims', at: 1 },
    { from: 4, to: 1, dies: 'delete nodeclaims', at: 2 },
  ])('scales from $from to $to nodes even if the operator is killed at $dies number $at', async (given) => {
    await begin({ replicas: given.from });
    let times = 0;
    world.kube.beforeWrite = (operation) => {
      if (operation !== given.dies || ++times !== given.at) return;
      world.kill();
      throw new Error('the operator is dead');
    };
    scale(given.to);
    await world.pass(10);
    expect(times).toBeGreaterThanOrEqual(given.at);
    world.start(['--feature-gates=StaticCapacity=true']);
    await world.pass(60);
    expect(alive()).toHaveLength(given.to);
    expect(world.nodes).toHaveLength(given.to);
  });
});

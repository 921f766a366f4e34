/** Marks of nodes that kube-scheduler should fill last. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DO_NOT_DISRUPT_ANNOTATION, EMPTYING_TAINT, NODE, NODE_POOL, type Taint } from '#api/objects';
import { World } from '../harness.ts';
import { CLOSED, largePods, startWithNodes } from './disruption-world.ts';

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.kill());

const marks = (): readonly Taint[] =>
  world.nodes.flatMap(({ spec }) => (spec?.taints ?? []).filter(({ key }) => key === EMPTYING_TAINT.key));
const markedNodes = (): readonly string[] =>
  world.nodes
    .filter(({ spec }) => spec?.taints?.some(({ key }) => key === EMPTYING_TAINT.key))
    .map(({ metadata }) => metadata.name);
const nodeWrites = (): number => world.kube.writes.filter((operation) => operation === 'patch nodes').length;

/** Starts nodes of 8 vCPUs with one pod of 1 vCPU each, so that all but one can become empty. Budgets allow no disruption. */
async function withIdleNodes(count: number, flags: readonly string[] = ['--steering=auto']): Promise<void> {
  await startWithNodes(world, { count, disruption: CLOSED, small: count, flags });
  world.removePods(...largePods(world));
}

describe('steering', () => {
  it('marks the nodes whose pods fit elsewhere, two minutes after their launch', async () => {
    await withIdleNodes(3);
    expect(marks()).toEqual([]);
    await world.pass(180);
    expect(marks()).toHaveLength(2);
    expect(marks()[0]).toMatchObject({ effect: 'PreferNoSchedule', timeAdded: expect.stringMatching(/Z$/) });
    expect(await world.metrics.text()).toMatch(/karpenter_voluntary_disruption_emptying_nodes 2/);
    expect(world.nodes).toHaveLength(3);
  });

  it('writes nothing while the cluster is steady', async () => {
    await withIdleNodes(3);
    await world.pass(180);
    const before = nodeWrites();
    expect(before).toBeGreaterThan(0);
    await world.pass(1200);
    expect(nodeWrites()).toBe(before);
  });

  it('releases a node when its room is needed, and marks it again afterwards', async () => {
    await withIdleNodes(2);
    await world.pass(180);
    const [marked] = markedNodes();
    expect(markedNodes()).toHaveLength(1);
    world.pending(2, '6', 'more');
    await world.pass(240);
    expect(marks()).toEqual([]);
    const told = world.events.filter(({ reason, object }) => /^Emptying/.test(reason) && object.kind === 'Node');
    expect(told.map(({ reason, object }) => [reason, object.metadata.name])).toEqual([
      ['Emptying', marked],
      ['EmptyingEnded', marked],
    ]);

    world.removePods(...world.pods.filter(({ metadata }) => metadata.name.startsWith('more')));
    await world.pass(180);
    expect(markedNodes()).toHaveLength(1);
  });

  it('launches no node while a marked node has room', async () => {
    await withIdleNodes(2);
    await world.pass(180);
    const [marked] = markedNodes();
    world.pending(2, '6', 'more');
    await world.pass(30);
    expect(world.nodes).toHaveLength(2);
    expect(world.pods.some(({ spec }) => spec.nodeName === marked)).toBe(true);
  });

  it('does not mark a node that must stay', async () => {
    await withIdleNodes(2);
    for (const { metadata } of world.nodes)
      world.kube.patch(
        NODE,
        { name: metadata.name },
        { metadata: { annotations: { [DO_NOT_DISRUPT_ANNOTATION]: 'true' } } },
      );
    await world.pass(180);
    expect(marks()).toEqual([]);
  });

  it.each([
    ['the setting is off', ['--steering=false']],
    ['consolidation is compatible', ['--steering=auto', '--consolidation=compatible']],
  ])('removes the marks of an earlier process if %s', async (_, flags) => {
    await withIdleNodes(2, flags);
    const [node] = world.nodes;
    const taints = [
      { key: 'team', effect: 'NoSchedule' },
      { ...EMPTYING_TAINT, timeAdded: '2026-01-01T00:00:00Z' },
    ];
    world.kube.patch(NODE, { name: node?.metadata.name ?? '' }, { spec: { taints } });
    await world.pass(180);
    expect(marks()).toEqual([]);
    expect(world.kube.get(NODE, { name: node?.metadata.name ?? '' }).spec?.taints).toMatchObject([{ key: 'team' }]);
  });

  it('keeps the marks if instance types cannot be listed', async () => {
    await withIdleNodes(2);
    await world.pass(180);
    const before = markedNodes();
    world.cloud.instanceTypes = async () => {
      throw new Error('throttled');
    };
    world.kube.patch(NODE_POOL, { name: 'default' }, { metadata: { labels: { changed: 'true' } } });
    await world.pass(300);
    expect(markedNodes()).toEqual(before);
  });

  it('removes an empty marked node immediately, like any other empty node', async () => {
    await withIdleNodes(2);
    await world.pass(180);
    const [marked] = markedNodes();
    world.removePods(...world.pods.filter(({ spec }) => spec.nodeName === marked));
    world.kube.patch(
      NODE_POOL,
      { name: 'default' },
      { spec: { disruption: { consolidateAfter: '0s', budgets: [{ nodes: '100%' }] } } },
    );
    await world.pass(90);
    expect(world.nodes.map(({ metadata }) => metadata.name)).not.toContain(marked);
  });
});

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DISRUPTED_TAINT, DO_NOT_DISRUPT_ANNOTATION, NODE, NODE_CLAIM, type NodePool } from '#api/objects';
import { conditionOf, World } from '../harness.ts';

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.kill());

/** Creates a number of nodes with one pod each. */
async function withNodes(count: number, disruption: NodePool['spec']['disruption']): Promise<void> {
  const { spec } = world.nodePool('default', disruption === undefined ? {} : { disruption });
  expect(spec.disruption).toBeDefined();
  world.start();
  await world.pass(2);
  for (let node = 0; node < count; node += 1) {
    world.pending(1, '7');
    await world.pass(8);
  }
  await world.pass(5);
  expect(world.nodes).toHaveLength(count);
  expect(world.pods.every(({ spec: { nodeName } }) => nodeName)).toBe(true);
}

describe('emptiness', () => {
  it('deletes an empty node after the validation delay', async () => {
    await withNodes(1, { consolidateAfter: '0s', budgets: [{ nodes: '100%' }] });
    await world.pass(60);
    expect(world.nodes).toHaveLength(1);

    world.removePods(...world.pods);
    await world.pass(90);
    expect(world.claims).toEqual([]);
    expect(world.nodes).toEqual([]);
    expect(world.cloud.instances.size).toBe(0);
    const [started] = world.lines.filter(({ message }) => message === 'disrupting node(s)');
    expect(started?.fields).toMatchObject({ decision: 'delete', 'disrupted-node-count': 1, 'pod-count': 0 });
    expect(started?.fields.command).toMatch(
      /^Empty\/[0-9a-f-]{36}: delete: nodepools=\[default\]: \[node-\d+\] \(savings: \$0\.16\)$/,
    );
    expect(world.eventReasons()).toContain('DisruptionTerminating');
    const text = await world.metrics.text();
    expect(text).toMatch(
      /nodeclaims_disrupted_total\{reason="empty",nodepool="default",capacity_type="spot",consolidation_policy="when_empty_or_underutilized",termination_mode="graceful"\} 1/,
    );
    expect(text).toMatch(
      /voluntary_disruption_decisions_total\{decision="delete",reason="empty",consolidation_type="empty"\} 1/,
    );
    expect(world.errors()).toEqual([]);
  });

  it('waits for consolidateAfter after the last pod was removed', async () => {
    await withNodes(1, { consolidateAfter: '5m', budgets: [{ nodes: '100%' }] });
    await world.pass(30);
    const [pod] = world.pods;
    if (pod)
      world.kube.patch(
        NODE_CLAIM,
        world.claims[0]?.metadata ?? { name: '' },
        { status: { lastPodEventTime: new Date(world.clock.now()).toISOString() } },
        'status',
      );
    world.removePods(...world.pods);
    await world.pass(4 * 60);
    expect(conditionOf(world.claims[0], 'Consolidatable')).toBeUndefined();
    expect(world.nodes).toHaveLength(1);
    await world.pass(3 * 60);
    expect(world.nodes).toEqual([]);
  });

  it('deletes no more nodes at a time than the budget allows', async () => {
    await withNodes(3, { consolidateAfter: '0s', budgets: [{ nodes: '1' }] });
    world.joining = false;
    world.removePods(...world.pods);
    const away: number[] = [];
    for (let second = 0; second < 240; second += 1) {
      await world.pass(1);
      away.push(world.claims.filter(({ metadata }) => metadata.deletionTimestamp).length);
    }
    expect(Math.max(...away)).toBe(1);
    expect(world.claims).toEqual([]);
  });

  it('keeps all nodes if the budget is 0, and publishes an event for the NodePool', async () => {
    await withNodes(1, { consolidateAfter: '0s', budgets: [{ nodes: '0' }] });
    world.removePods(...world.pods);
    await world.pass(90);
    expect(world.nodes).toHaveLength(1);
    const blocked = world.events.filter(
      ({ object, reason }) => object.kind === 'NodePool' && reason === 'DisruptionBlocked',
    );
    expect(blocked).toContainEqual({
      object: expect.objectContaining({ kind: 'NodePool' }),
      type: 'Normal',
      reason: 'DisruptionBlocked',
      message: 'No allowed disruptions for disruption reason Empty due to blocking budget',
      dedupe: [blocked[0]?.object.metadata.uid, 'Empty'],
      windowMs: 60_000,
      isLasting: true,
    });
    expect(await world.metrics.text()).toMatch(/nodepools_allowed_disruptions\{nodepool="default",reason="Empty"\} 0/);
  });

  it('respects do-not-disrupt on the Node', async () => {
    await withNodes(1, { consolidateAfter: '0s', budgets: [{ nodes: '100%' }] });
    const annotations = { [DO_NOT_DISRUPT_ANNOTATION]: 'true' };
    world.kube.patch(NODE, world.nodes[0]?.metadata ?? { name: '' }, { metadata: { annotations } });
    world.removePods(...world.pods);
    await world.pass(90);
    expect(world.nodes).toHaveLength(1);
    const blocked = world.events.filter(({ reason }) => reason === 'DisruptionBlocked').map(({ message }) => message);
    expect(blocked).toContain('Disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation');
  });

  it('keeps all nodes if consolidation is disabled', async () => {
    await withNodes(1, { consolidateAfter: 'Never', budgets: [{ nodes: '100%' }] });
    world.removePods(...world.pods);
    await world.pass(120);
    expect(world.nodes).toHaveLength(1);
    const told = world.events.find(({ reason }) => reason === 'Unconsolidatable');
    expect(told?.message).toBe('NodePool "default" has consolidation disabled');
  });

  it('abandons the command if a pod arrives during the validation delay', async () => {
    await withNodes(1, { consolidateAfter: '0s', budgets: [{ nodes: '100%' }] });
    world.removePods(...world.pods);
    await world.pass(12);
    world.pending(1, '7');
    await world.pass(60);
    expect(world.nodes).toHaveLength(1);
    expect(world.claims[0]?.metadata.deletionTimestamp).toBeUndefined();
    expect(world.lines.filter(({ message }) => message === 'disrupting node(s)')).toEqual([]);
  });

  it('removes taints and conditions of a killed operator', async () => {
    await withNodes(1, { consolidateAfter: '0s', budgets: [{ nodes: '100%' }] });
    world.kill();
    const [node] = world.nodes;
    const [claim] = world.claims;
    const marked = { type: 'DisruptionReason', status: 'True', reason: 'Empty', message: 'Empty' };
    world.kube.patch(NODE, node?.metadata ?? { name: '' }, { spec: { taints: [DISRUPTED_TAINT] } });
    const status = { conditions: [...(claim?.status?.conditions ?? []), marked] };
    world.kube.patch(NODE_CLAIM, claim?.metadata ?? { name: '' }, { status }, 'status');
    world.start();
    await world.pass(15);

    expect(world.disruptedNodes()).toEqual([]);
    expect(conditionOf(world.claims[0], 'DisruptionReason')).toBeUndefined();
  });

  it.each([
    'patch nodes',
    'patch-status nodeclaims',
    'delete nodeclaims',
  ])('completes after a restart if the operator was killed at its first "%s"', async (operation) => {
    await withNodes(1, { consolidateAfter: '0s', budgets: [{ nodes: '100%' }] });
    world.removePods(...world.pods);
    let armed = true;
    world.kube.beforeWrite = (at) => {
      if (at !== operation || !armed) return;
      armed = false;
      world.kill();
      throw new Error('the process is dead');
    };
    await world.pass(60);
    expect(armed).toBe(false);
    world.start();
    await world.pass(120);
    expect(world.claims).toEqual([]);
    expect(world.cloud.instances.size).toBe(0);
  });
});

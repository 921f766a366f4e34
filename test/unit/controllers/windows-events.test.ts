/** Events and metrics of the windows of NodePolicies. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NODE_POLICY, NODE_POOL } from '#api/objects';
import type { NodePolicySpec } from '#api/testing';
import { timestamp } from '#lib';
import { World } from './harness.ts';

const MINUTE = 60_000;

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.kill());

const windowEvents = (): readonly string[] =>
  world.events.filter(({ reason }) => reason.startsWith('DisruptionWindows')).map(({ message }) => message);

const clockAt = (ms: number): string => new Date(ms).toISOString().slice(11, 16);

/** Creates a policy whose window is open from ten to twenty minutes from now on. */
function policy(reasons?: NonNullable<NodePolicySpec['windows']>['allowed'][number]['reasons']) {
  const nowMs = Math.ceil(world.clock.now() / MINUTE) * MINUTE;
  const [openMs, closeMs] = [nowMs + 10 * MINUTE, nowMs + 20 * MINUTE];
  const allowed = [{ start: clockAt(openMs), end: clockAt(closeMs), ...(reasons && { reasons: [...reasons] }) }];
  world.kube.create(NODE_POLICY, {
    apiVersion: 'karpenter-ts.sh/v1alpha1',
    kind: 'NodePolicy',
    metadata: { name: 'night' },
    spec: { windows: { allowed } },
  });
  return { openMs, closeMs };
}

/** Creates a NodePool whose nodes expire after a minute. */
function expiring(): void {
  const { spec } = world.nodePool('template');
  world.kube.delete(NODE_POOL, { name: 'template' });
  const template = { ...spec.template, spec: { ...spec.template.spec, expireAfter: '1m' } };
  world.nodePool('default', { template });
}

const passTo = (ms: number): Promise<void> => world.pass(Math.ceil((ms - world.clock.now()) / 1_000));

describe('windows of a NodePolicy', () => {
  it('have an event when they open and close for a NodePool with nodes that wait for them, and a gauge', async () => {
    expiring();
    world.start();
    await world.pass(2);
    const { openMs, closeMs } = policy(['Expired']);
    world.deploy('web', 1);
    await passTo(openMs - MINUTE);
    expect(world.claims).toHaveLength(1);
    expect(windowEvents()).toEqual([]);
    expect(await world.metrics.text()).toContain(
      'karpenter_nodepools_window_open{nodepool="default",reason="Expired"} 0',
    );
    await passTo(openMs + 1_000);
    expect(windowEvents()).toEqual([`Windows of NodePolicy night opened for Expired (1) until ${timestamp(closeMs)}`]);
    expect(await world.metrics.text()).toContain(
      'karpenter_nodepools_window_open{nodepool="default",reason="Expired"} 1',
    );
    world.kube.delete(NODE_POLICY, { name: 'night' });
    await world.pass(2);
    expect(await world.metrics.text()).not.toContain('karpenter_nodepools_window_open{');
  });

  it('have no event for a NodePool without such nodes', async () => {
    world.nodePool();
    world.start();
    const { openMs, closeMs } = policy(['Drifted']);
    await passTo(openMs + MINUTE);
    await passTo(closeMs + MINUTE);
    expect(windowEvents()).toEqual([]);
  });

  it('have no event when a new leader starts', async () => {
    expiring();
    world.start();
    await world.pass(2);
    const { openMs } = policy(['Expired']);
    world.deploy('web', 1);
    await passTo(openMs - MINUTE);
    world.kill();
    await passTo(openMs + MINUTE);
    world.start();
    await world.pass(30);
    expect(windowEvents()).toEqual([]);
  });
});

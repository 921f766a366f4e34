/** Conditions of NodePolicies. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { getCondition, NODE_POLICY, NODE_POOL, type NodePolicy } from '#api/objects';
import type { NodePolicySpec } from '#api/testing';
import { World } from './harness.ts';

let world: World;
beforeEach(() => {
  world = new World();
  world.nodePool();
  world.start();
});
afterEach(() => world.kill());

const policy = (name: string, spec: NodePolicySpec): unknown =>
  world.kube.create(NODE_POLICY, {
    apiVersion: 'karpenter-ts.sh/v1alpha1',
    kind: 'NodePolicy',
    metadata: { name },
    spec,
  });
const stored = (name: string): NodePolicy => {
  const found = world.kube.find(NODE_POLICY, { name });
  if (found === undefined) throw new Error(`there is no NodePolicy ${name}`);
  return found;
};
const condition = (name: string, type: string) => getCondition(stored(name), type);

describe('a condition of a NodePolicy', () => {
  it('is True for a valid policy, and names the field of an invalid one', async () => {
    policy('valid', { mode: 'Act' });
    policy('invalid', { nodePools: { names: ['x'] }, windows: { timeZone: 'Mars/Base', allowed: [{}] } });
    await world.pass(2);
    expect(condition('valid', 'Ready')).toMatchObject({ status: 'True' });
    expect(condition('invalid', 'Ready')).toMatchObject({ status: 'False' });
    expect(condition('invalid', 'ValidationSucceeded')).toMatchObject({
      reason: 'InvalidSection',
      message: expect.stringContaining('spec.windows.timeZone: "Mars/Base" is unknown'),
    });
  });

  it('names the policy that sets the same section, until it is gone or selects other NodePools', async () => {
    policy('all', { mode: 'Act' });
    policy('named', { nodePools: { names: ['default'] }, mode: 'Observe' });
    await world.pass(2);
    expect(condition('all', 'Overruled')).toMatchObject({
      status: 'True',
      reason: 'MoreSpecific',
      message: 'mode of NodePool default is set by NodePolicy named, which is more specific',
    });
    expect(condition('all', 'Ready')).toMatchObject({ status: 'True' });
    expect(condition('named', 'Overruled')).toBeUndefined();

    world.kube.delete(NODE_POLICY, { name: 'named' });
    await world.pass(2);
    expect(condition('all', 'Overruled')).toBeUndefined();
  });

  it('follows the labels of NodePools', async () => {
    policy('all', { mode: 'Act' });
    policy('team', { nodePools: { matchLabels: { team: 'a' } }, mode: 'Observe' });
    await world.pass(2);
    expect(condition('all', 'Overruled')).toBeUndefined();
    world.kube.patch(NODE_POOL, { name: 'default' }, { metadata: { labels: { team: 'a' } } });
    await world.pass(2);
    expect(condition('all', 'Overruled')).toMatchObject({ status: 'True' });
  });

  it('is written once', async () => {
    policy('all', { mode: 'Act' });
    await world.pass(2);
    const { resourceVersion } = stored('all').metadata;
    await world.pass(60);
    expect(stored('all').metadata.resourceVersion).toBe(resourceVersion);
  });

  it('show since when NodePools are observed, and do not change with the time', async () => {
    policy('watch', { mode: 'Observe' });
    await world.pass(2);
    const first = condition('watch', 'Observing');
    expect(first).toMatchObject({ status: 'True', message: expect.stringContaining('NodePool default') });
    await world.pass(3_600);
    expect(condition('watch', 'Observing')).toEqual(first);
    expect(await world.metrics.text()).toMatch(
      /operator_nodepolicy_status_condition_current_status_seconds\{.*name="watch".*type="Observing".*status="True".*\} 3[56]/,
    );
    policy('act', { nodePools: { names: ['default'] }, mode: 'Act' });
    await world.pass(2);
    expect(condition('watch', 'Observing')).toBeUndefined();
  });
});

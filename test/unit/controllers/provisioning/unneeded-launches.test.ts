/** Launches for deleted pods are not requested, or end before their nodes join, unless another pod could use the node. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NODE_CLAIM, POD, type Pod } from '#api/objects';
import { ApiError } from '#kube/client';
import { LaunchWorld, MINUTE } from './launch-world.ts';

const IN_A = { nodeSelector: { team: 'a' } } as const;

let world: LaunchWorld;

beforeEach(async () => {
  world = new LaunchWorld();
  world.createPoolWith([{ key: 'team', operator: 'In', values: ['a', 'b'] }]);
  await world.begin();
  world.joining = false;
});
afterEach(() => world.kill());

async function launchFor(...pods: readonly Pod[]): Promise<void> {
  while (world.cloud.creations === 0) await world.pass(1);
  expect(pods.some((pod) => world.isBound(pod))).toBe(false);
}

const notNeeded = (): readonly string[] => world.eventReasons().filter((reason) => reason === 'LaunchNotNeeded');

describe('a NodeClaim whose pods are deleted', () => {
  it('is deleted without a request for its instance', async () => {
    const pod = world.createPod(IN_A);
    world.kube.beforeWrite = (operation) => {
      if (operation === 'create nodeclaims') world.removePods(pod);
    };
    await world.pass(20);
    expect(world.lines.filter(({ message }) => message === 'created nodeclaim')).toHaveLength(1);
    expect([world.cloud.creations, world.claims.length]).toEqual([0, 0]);
    expect(notNeeded()).toHaveLength(1);
  });

  it('is deleted before its node joins, and its instance is terminated', async () => {
    const pod = world.createPod(IN_A);
    await launchFor(pod);
    world.removePods(pod);
    await world.pass(30);
    expect(world.claims).toEqual([]);
    expect(notNeeded()).toHaveLength(1);
    expect(await world.cloud.list()).toEqual([]);
    expect(world.condition()).toBeUndefined();
  });

  it('stays while one of its pods waits', async () => {
    const pods = [world.createPod(IN_A), world.createPod(IN_A)];
    await launchFor(...pods);
    world.removePods(...pods.slice(1));
    await world.pass(MINUTE);
    expect(world.claims).toHaveLength(1);
  });

  it.each([
    { by: 'a pod that replaces them', spec: IN_A, stays: true },
    { by: 'a pod that kube-scheduler has not tried', spec: IN_A, stays: true, isUntried: true },
    { by: 'a pod that only another node can run', spec: { nodeSelector: { team: 'b' } }, stays: false },
    { by: 'a gated pod', spec: { ...IN_A, schedulingGates: [{ name: 'quota' }] }, stays: false, isUntried: true },
  ])('is kept if its node is needed by $by: $stays', async ({ spec, stays, isUntried = false }) => {
    const pod = world.createPod(IN_A);
    await launchFor(pod);
    const [claim] = world.claims;
    world.removePods(pod);
    const other = world.createPod(spec);
    if (isUntried) world.kube.patch(POD, other.metadata, { status: { conditions: [] } }, 'status');
    await world.pass(MINUTE);
    expect(world.claims.some(({ metadata }) => metadata.name === claim?.metadata.name)).toBe(stays);
  });

  it('is not touched once its node has joined', async () => {
    const pod = world.createPod(IN_A);
    await launchFor(pod);
    world.joining = true;
    await world.pass(1);
    world.removePods(pod);
    await world.pass(MINUTE);
    expect(notNeeded()).toEqual([]);
  });

  it('is not touched while its node cannot be registered, although its pods run on it', async () => {
    const pod = world.createPod({ tolerations: [{ operator: 'Exists' }] });
    await launchFor(pod);
    const [claim] = world.claims;
    world.kube.beforeWrite = (operation) => {
      if (/^(patch|update) nodes$/.test(operation))
        throw new ApiError(403, 'Forbidden', 'a webhook refuses the change');
    };
    world.joining = true;
    await world.pass(MINUTE);
    expect(world.isBound(pod)).toBe(true);
    expect(notNeeded()).toEqual([]);
    expect(world.claims.map(({ metadata }) => metadata.name)).toEqual([claim?.metadata.name]);
  });

  it('does not end launches for pods of leaving nodes, whose replacements have other names', async () => {
    world.joining = true;
    world.deploy('web', 1);
    await world.pass(20);
    const { creations } = world.cloud;
    for (const { metadata } of world.claims) world.kube.delete(NODE_CLAIM, metadata);
    await world.pass(MINUTE);
    expect(world.cloud.creations).toBe(creations + 1);
    expect(notNeeded()).toEqual([]);
  });
});

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NODE_CLAIM, POD, type Pod } from '#api/objects';
import { isUnschedulable } from '#engine/model';
import { timestamp } from '#lib';
import { untriedReplicas } from '#state';
import { present } from '../../../support/present.ts';
import { World } from '../harness.ts';

const UNSCHEDULABLE = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable' } as const;

interface Shape {
  readonly owner?: string;
  readonly ownerKind?: string;
  readonly cpu?: string;
  readonly tried?: boolean;
  readonly spec?: object;
  readonly status?: object;
}

/** A pending pod. kube-scheduler has tried it only if `tried` is set. */
function waiting(name: string, { owner = 'web', ownerKind = 'ReplicaSet', cpu = '1', ...rest }: Shape = {}): Pod {
  const { tried = false, spec, status } = rest;
  const reference = { apiVersion: 'apps/v1', kind: ownerKind, name: owner, uid: `uid-${owner}`, controller: true };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', uid: `uid-${name}`, ownerReferences: [reference] },
    spec: { containers: [{ name: 'main', resources: { requests: { cpu } } }], ...spec },
    status: { phase: 'Pending', ...(tried ? { conditions: [UNSCHEDULABLE] } : {}), ...status },
  } as Pod;
}

/** Returns the untried replicas. Pods with the nominated node `preempting` wait for a preemption. */
const untried = (pods: readonly Pod[]): readonly Pod[] =>
  untriedReplicas(pods, {
    isProvisionable: (pod) => isUnschedulable(pod) && pod.status?.nominatedNodeName !== 'preempting',
  });

const names = (pods: readonly Pod[]): readonly string[] => pods.map(({ metadata }) => metadata.name);

describe('a replica that kube-scheduler has not tried', () => {
  it.each<[string, Shape]>([
    ['of a ReplicaSet', {}],
    ['of a Job', { ownerKind: 'Job' }],
    ['with a nominated node', { status: { nominatedNodeName: 'node-1' } }],
    ['of a ReplicationController', { ownerKind: 'ReplicationController' }],
  ])('counts %s together with an unschedulable replica', (_, shape) => {
    expect(names(untried([waiting('first', { ...shape, tried: true }), waiting('next', shape)]))).toEqual(['next']);
  });

  it.each<[string, Shape, Shape]>([
    ['if none of them is unschedulable', {}, {}],
    ['of another controller', { tried: true }, { owner: 'other' }],
    ['with other requests, after the template was edited', { tried: true }, { cpu: '2' }],
    ['of a StatefulSet', { tried: true, ownerKind: 'StatefulSet' }, { ownerKind: 'StatefulSet' }],
    ['of a DaemonSet', { tried: true, ownerKind: 'DaemonSet' }, { ownerKind: 'DaemonSet' }],
    [
      'with resource claims',
      { tried: true, spec: { resourceClaims: [{ name: 'gpu' }] } },
      { spec: { resourceClaims: [{ name: 'gpu' }] } },
    ],
    [
      'with scheduling gates',
      { tried: true },
      { status: { conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }] } },
    ],
    ['that have ended', { tried: true }, { status: { phase: 'Failed' } }],
    [
      'if the unschedulable pod preempts other pods',
      { tried: true, status: { nominatedNodeName: 'preempting', conditions: [UNSCHEDULABLE] } },
      {},
    ],
  ])('does not count %s', (_, first, next) => {
    expect(names(untried([waiting('first', first), waiting('next', next)]))).toEqual([]);
  });
});

describe('provisioning', () => {
  let world: World;
  beforeEach(async () => {
    world = new World();
    world.joining = false;
    world.nodePool();
    world.start();
    await world.pass(2);
  });
  afterEach(() => world.kill());

  const create = (name: string, shape: Shape = {}): Pod => world.kube.create(POD, waiting(name, shape));
  const placed = (): readonly string[] =>
    world.events.filter(({ reason }) => reason === 'Nominated').map(({ object }) => object.metadata.name);
  const unschedulableNow = () => ({ ...UNSCHEDULABLE, lastTransitionTime: timestamp(world.clock.now()) });
  const mark = (pod: Pod): void =>
    void world.kube.patch(POD, pod.metadata, { status: { conditions: [unschedulableNow()] } }, 'status');

  it('launches nodes for the untried replicas of an unschedulable pod together with it, and only once', async () => {
    const pods = Array.from({ length: 6 }, (_, index) => create(`web-${index}`));
    await world.pass(5);
    expect(world.claims).toHaveLength(0);
    mark(pods[0] as Pod);
    await world.pass(3);
    expect(new Set(placed()).size).toBe(6);
    const bought = world.claims.length;

    for (const pod of pods.slice(1)) {
      mark(pod);
      await world.pass(3);
    }
    expect(world.claims).toHaveLength(bought);
  });

  it('does not wait until all replicas have been tried', async () => {
    const pods = Array.from({ length: 8 }, (_, index) => create(`web-${index}`));
    for (const pod of pods.slice(0, 4)) {
      mark(pod);
      await world.clock.advance(900);
    }
    expect(new Set(placed()).size).toBe(8);
  });

  it('waits for replicas that are still being created', async () => {
    mark(create('web-0'));
    for (let index = 1; index < 5; index += 1) {
      create(`web-${index}`);
      await world.clock.advance(800);
      expect(world.claims).toHaveLength(0);
    }
    await world.pass(2);
    expect(new Set(placed()).size).toBe(5);
    expect(world.claims).toHaveLength(1);
  });

  it('launches again for a replica whose node does not join', async () => {
    mark(create('web-0'));
    const late = create('web-1');
    await world.pass(3);
    mark(late);
    const [claim] = world.claims;
    world.kube.delete(NODE_CLAIM, present(claim).metadata);
    await world.pass(15);
    expect(world.claims.filter(({ metadata }) => metadata.name !== claim?.metadata.name)).toHaveLength(1);
  });
});

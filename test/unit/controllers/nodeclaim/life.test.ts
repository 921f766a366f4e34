import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  INITIALIZED_LABEL,
  NODE,
  NODE_CLAIM,
  NODE_POOL,
  POD,
  REGISTERED_LABEL,
  TERMINATION_FINALIZER,
  TERMINATION_TIMESTAMP_ANNOTATION,
  UNREGISTERED_TAINT,
} from '#api/objects';
import { CreateFailed, InsufficientCapacity, NodeClassNotReady } from '#cloud';
import type { HookAnswer } from '#cloud/testing';
import { conditionOf, World } from '../harness.ts';

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.kill());

/** Creates a NodePool, and pods that need one node. */
async function withPendingPods(count = 3, spec: Parameters<World['nodePool']>[1] = {}): Promise<void> {
  world.nodePool('default', spec);
  world.start();
  await world.pass(2);
  world.pending(count);
}

describe('a NodeClaim', () => {
  it('is launched, registered and initialized, and its pods run', async () => {
    await withPendingPods();
    await world.pass(15);

    expect(world.errors()).toEqual([]);
    expect(world.claims).toHaveLength(1);
    const [claim] = world.claims;
    expect(claim?.metadata.finalizers).toEqual([TERMINATION_FINALIZER]);
    expect(['Launched', 'Registered', 'Initialized', 'Ready'].map((type) => conditionOf(claim, type))).toEqual([
      'True/Launched',
      'True/Registered',
      'True/Initialized',
      'True/Ready',
    ]);
    const [node] = world.nodes;
    expect(claim?.status?.nodeName).toBe(node?.metadata.name);
    expect(node?.metadata.labels).toMatchObject({ [REGISTERED_LABEL]: 'true', [INITIALIZED_LABEL]: 'true' });
    expect(node?.metadata.ownerReferences?.[0]?.uid).toBe(claim?.metadata.uid);
    expect(node?.spec?.taints).toEqual([]);
    expect(world.pods.every(({ spec }) => spec.nodeName === node?.metadata.name)).toBe(true);
    const messages = world.lines.map(({ message }) => message);
    for (const message of ['created', 'launched', 'registered', 'initialized']) {
      expect(messages.filter((line) => line === `${message} nodeclaim`)).toHaveLength(1);
    }
    const [pool] = world.kube.all(NODE_POOL);
    expect(pool?.status?.conditions?.find(({ type }) => type === 'NodeRegistrationHealthy')?.status).toBe('True');
  });

  it('is nominated for its pods', async () => {
    await withPendingPods(1);
    await world.pass(5);

    const [nominated] = world.events.filter(({ reason }) => reason === 'Nominated');
    expect(nominated?.message).toBe(`Pod should schedule on: nodeclaim/${world.claims[0]?.metadata.name}`);
  });

  it('is deleted without capacity, and its pods are scheduled again', async () => {
    let refusals = 1;
    world.cloud.beforeCreate = () => {
      refusals -= 1;
      if (refusals >= 0) throw new InsufficientCapacity('all requested types were unavailable');
    };
    await withPendingPods();
    await world.pass(25);

    expect(world.eventReasons()).toContain('InsufficientCapacityError');
    expect(world.claims).toHaveLength(1);
    expect(world.pods.every(({ spec }) => spec.nodeName)).toBe(true);
    expect(await world.metrics.text()).toMatch(/nodeclaims_disrupted_total\{reason="insufficient_capacity".*\} 1/);
  });

  it('is deleted without an event if its NodeClass cannot be used', async () => {
    world.cloud.beforeCreate = () => {
      throw new NodeClassNotReady('subnets are missing');
    };
    await withPendingPods();
    await world.pass(6);

    expect(world.lines.filter(({ message }) => message === 'failed launching nodeclaim').length).toBeGreaterThan(0);
    expect(world.eventReasons()).not.toContain('InsufficientCapacityError');
    expect(world.eventReasons()).toContain('NodeClassNotReady');
    expect(await world.metrics.text()).toMatch(/nodeclaims_disrupted_total\{reason="nodeclass_not_ready"/);
  });

  it('reports the error of a failed launch, and is retried', async () => {
    let authorized = false;
    world.cloud.beforeCreate = () => {
      if (!authorized) throw new CreateFailed('UnauthorizedOperation', 'You are not authorized');
    };
    await withPendingPods();
    await world.pass(4);
    const launched = world.claims[0]?.status?.conditions?.find(({ type }) => type === 'Launched');
    expect(launched).toMatchObject({
      status: 'Unknown',
      reason: 'UnauthorizedOperation',
      message: 'You are not authorized',
    });

    authorized = true;
    await world.pass(30);
    expect(conditionOf(world.claims[0], 'Launched')).toBe('True/Launched');
    expect(world.claims).toHaveLength(1);
  });

  it('is deleted if it cannot be launched for five minutes', async () => {
    world.cloud.beforeCreate = () => {
      throw new Error('the cloud is down');
    };
    await withPendingPods();
    await world.pass(10);
    const first = world.claims[0]?.metadata.name;
    await world.pass(320);

    expect(world.claims.map(({ metadata }) => metadata.name)).not.toContain(first);
    expect(await world.metrics.text()).toMatch(/nodeclaims_disrupted_total\{reason="launch_timeout"/);
  });

  it('is deleted if its instance does not join within fifteen minutes, and a second failure makes its NodePool unhealthy', async () => {
    world.joining = false;
    await withPendingPods();
    await world.pass(30);
    const [first] = world.claims;
    expect(conditionOf(first, 'Registered')).toBe('Unknown/NodeNotFound');
    await world.pass(15 * 60);
    expect(world.kube.find(NODE_CLAIM, first?.metadata ?? { name: '' })).toBeUndefined();
    await world.pass(16 * 60);

    const healthy = world.kube
      .get(NODE_POOL, { name: 'default' })
      .status?.conditions?.find(({ type }) => type === 'NodeRegistrationHealthy');
    expect(healthy).toMatchObject({ status: 'False', reason: 'RegistrationFailed' });
    expect([...world.cloud.instances.values()].filter(({ terminatedMs }) => terminatedMs === undefined)).toHaveLength(
      1,
    );
  });

  it('waits for startup taints that another component removes', async () => {
    const taint = { key: 'example.com/agent', effect: 'NoSchedule' as const };
    const template = world.nodePool('seed').spec.template;
    await withPendingPods(1, { template: { spec: { ...template.spec, startupTaints: [taint] } } });
    world.kube.delete(NODE_POOL, { name: 'seed' });
    await world.pass(15);
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('Unknown/StartupTaintsExist');

    const [node] = world.nodes;
    world.kube.patch(NODE, node?.metadata ?? { name: '' }, { spec: { taints: [] } });
    await world.pass(3);
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('True/Initialized');
  });

  describe('after its Node was removed with its finalizer', () => {
    async function removeNode(): Promise<void> {
      await withPendingPods(1, { disruption: { consolidateAfter: 'Never' } });
      await world.pass(15);
      const metadata = world.nodes[0]?.metadata ?? { name: '' };
      world.joining = false;
      world.kube.patch(NODE, metadata, { metadata: { finalizers: null } });
      world.kube.delete(NODE, metadata);
      expect(world.nodes).toEqual([]);
    }

    it('keeps its instance if the kubelet registers again, and its Node gets the same metadata', async () => {
      await removeNode();
      await world.pass(60);
      for (const [providerID, { created }] of world.cloud.instances)
        world.join(providerID, created, { spec: { providerID, taints: [UNREGISTERED_TAINT] } });
      await world.pass(10 * 60);
      const [claim] = world.claims;
      const [node] = world.nodes;
      expect([world.claims.length, world.cloud.instances.size]).toEqual([1, 1]);
      expect(claim?.status?.nodeName).toBe(node?.metadata.name);
      expect(node?.metadata.labels).toMatchObject({ [REGISTERED_LABEL]: 'true', [INITIALIZED_LABEL]: 'true' });
      expect(node?.metadata.finalizers).toEqual([TERMINATION_FINALIZER]);
      expect(node?.metadata.ownerReferences?.[0]?.uid).toBe(claim?.metadata.uid);
      expect(node?.spec?.taints).toEqual([]);
      const registered = world.lines.filter(({ message }) => message.startsWith('registered nodeclaim'));
      expect(registered.map(({ message }) => message)).toEqual(['registered nodeclaim', 'registered nodeclaim again']);
    });

    it('ends with its instance if the kubelet does not register again', async () => {
      await removeNode();
      const [name] = world.claims.map(({ metadata }) => metadata.name);
      for (const { metadata } of world.pods) world.kube.delete(POD, metadata);
      world.pending(1);
      await world.pass(4 * 60);
      world.joining = true;
      await world.pass(60);
      expect(world.claims.map(({ metadata }) => metadata.name)).not.toContain(name);
      expect(world.cloud.instances.size).toBe(1);
      expect(world.pods.every(({ spec }) => spec.nodeName === world.nodes[0]?.metadata.name)).toBe(true);
    });
  });

  it('waits for the registration hooks of the provider', async () => {
    let answers: HookAnswer[] = [{ done: false, waitMs: 7_000 }];
    const asked: number[] = [];
    const ask = async (): Promise<HookAnswer> => {
      asked.push(world.clock.now());
      const answer = answers.shift();
      if (answer === undefined) throw new Error('EC2 is silent');
      return answer;
    };
    world.cloud.registrationHooks = [
      { name: 'first', ask: async () => ({ done: true }) },
      { name: 'partition', ask },
    ];
    await withPendingPods();
    await world.pass(4);
    expect(conditionOf(world.claims[0], 'Registered')).toBe('Unknown/RegistrationHookPending');
    expect(world.claims[0]?.status?.conditions?.find(({ type }) => type === 'Registered')?.message).toBe('partition');
    // The Node has its owner and finalizer, but still has the unregistered taint.
    expect(world.nodes[0]?.spec?.taints).toEqual([UNREGISTERED_TAINT]);
    expect(world.nodes[0]?.metadata.finalizers).toEqual([TERMINATION_FINALIZER]);

    await world.pass(7);
    expect(asked.length).toBeGreaterThan(1);
    expect(world.errors().at(-1)).toMatch(/registration hook "partition" failed, EC2 is silent/);
    expect(conditionOf(world.claims[0], 'Registered')).toBe('Unknown/RegistrationHookPending');

    answers = [{ done: true, labels: { 'example.com/partition': '3' } }];
    await world.pass(20);
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('True/Initialized');
    for (const { metadata } of [world.claims[0], world.nodes[0]].filter((object) => object !== undefined))
      expect(metadata.labels?.['example.com/partition']).toBe('3');
  });

  it('is registered with a warning if its Node has no unregistered taint', async () => {
    world.joining = false;
    await withPendingPods(1);
    await world.pass(5);
    for (const [providerID, { created }] of world.cloud.instances)
      world.join(providerID, created, { spec: { providerID } });
    await world.pass(3);

    expect(world.eventReasons()).toContain('UnregisteredTaintMissing');
    expect(conditionOf(world.claims[0], 'Registered')).toBe('True/Registered');
  });

  it('is never registered if it matches two Nodes', async () => {
    world.joining = false;
    await withPendingPods(1);
    await world.pass(5);
    world.kill();
    for (const [providerID, { created }] of world.cloud.instances) {
      world.join(providerID, created);
      world.join(providerID, created);
    }
    world.start();
    await world.pass(3);

    expect(conditionOf(world.claims[0], 'Registered')).toBe('False/MultipleNodesFound');
    expect(world.nodes.every(({ spec }) => spec?.taints?.some(({ key }) => key === UNREGISTERED_TAINT.key))).toBe(true);
  });

  it('registers concurrently with many others', async () => {
    world.joining = false;
    await withPendingPods(8 * 7, {});
    await world.pass(6);
    expect(world.cloud.instances.size).toBe(8);
    world.joinInstances();
    await world.pass(4);

    expect(world.claims.map((claim) => conditionOf(claim, 'Initialized'))).toEqual(Array(8).fill('True/Initialized'));
    for (const zone of ['zone-a', 'zone-b'])
      expect(await world.metrics.text()).toContain(`nodes_created_total{nodepool="default",zone="${zone}"} 4`);
  });

  it('terminates with its Node, its pods and its instance when it is deleted', async () => {
    await withPendingPods();
    await world.pass(15);
    const { metadata } = world.claims[0] ?? { metadata: { name: '' } };
    world.kube.delete(NODE_CLAIM, metadata);
    await world.pass(60);

    expect(world.kube.find(NODE_CLAIM, metadata)).toBeUndefined();
    expect(world.nodes).toEqual([]);
    expect(world.cloud.instances.size).toBe(0);
    expect(world.lines.filter(({ message }) => message === 'deleted nodeclaim')).toHaveLength(1);
    expect(world.errors()).toEqual([]);
  });

  it('gets its termination deadline once if it has a grace period', async () => {
    const template = world.nodePool('seed').spec.template;
    world.kube.delete(NODE_POOL, { name: 'seed' });
    await withPendingPods(1, { template: { spec: { ...template.spec, terminationGracePeriod: '30m' } } });
    await world.pass(15);
    const [claim] = world.claims;
    world.kube.delete(NODE_CLAIM, claim?.metadata ?? { name: '' });
    const deletedMs = world.clock.now();
    await world.pass(1);

    const stamp = world.claims[0]?.metadata.annotations?.[TERMINATION_TIMESTAMP_ANNOTATION];
    expect(stamp).toBe(new Date(deletedMs + 30 * 60_000).toISOString().replace('.000Z', 'Z'));
    expect(world.eventReasons()).toContain('TerminationGracePeriodExpiring');
  });

  it('expires at its age and is replaced', async () => {
    const template = world.nodePool('seed').spec.template;
    world.kube.delete(NODE_POOL, { name: 'seed' });
    await withPendingPods(2, { template: { spec: { ...template.spec, expireAfter: '10m' } } });
    await world.pass(20);
    const [old] = world.claims;
    await world.pass(9 * 60);
    expect(world.claims[0]?.metadata.deletionTimestamp).toBeUndefined();
    await world.pass(80);

    expect(world.claims.map(({ metadata }) => metadata.name)).not.toContain(old?.metadata.name);
    expect(await world.metrics.text()).toMatch(/nodeclaims_disrupted_total\{reason="expired"/);
  });

  it('is collected if its instance does not exist, but not while its Node is Ready', async () => {
    await withPendingPods();
    await world.pass(20);
    const [claim] = world.claims;
    world.joining = false;
    world.cloud.instances.clear();
    await world.pass(4 * 60);
    expect(world.claims[0]?.metadata.deletionTimestamp).toBeUndefined();

    const [node] = world.nodes;
    const status = { conditions: [{ type: 'Ready', status: 'Unknown' }] };
    world.kube.patch(NODE, node?.metadata ?? { name: '' }, { status }, 'status');
    await world.pass(4 * 60);
    expect(world.kube.find(NODE_CLAIM, claim?.metadata ?? { name: '' })).toBeUndefined();
  });
});

describe('an operator that is killed', () => {
  it('finds the instance of the launch before the write again, without a leak or a duplicate', async () => {
    world.joining = false;
    world.kube.beforeWrite = (operation) => {
      if (operation === 'patch-status nodeclaims' && world.cloud.creations > 0) world.kill();
    };
    await withPendingPods();
    await world.pass(5);
    expect(world.cloud.creations).toBe(1);

    world.kube.beforeWrite = () => undefined;
    world.joining = true;
    world.start();
    await world.pass(20);
    expect(world.cloud.creations).toBe(1);
    expect(world.cloud.instances.size).toBe(1);
    expect(world.claims).toHaveLength(1);
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('True/Initialized');
  });

  it.each([
    'create nodeclaims',
    'patch nodeclaims',
    'patch-status nodeclaims',
    'patch nodes',
  ])('continues after a restart if it is killed at its first "%s"', async (operation) => {
    let armed = true;
    world.kube.beforeWrite = (at) => {
      if (at !== operation || !armed) return;
      armed = false;
      world.kill();
      throw new Error('the process is dead');
    };
    await withPendingPods();
    await world.pass(8);
    expect(armed).toBe(false);
    world.start();
    await world.pass(30);

    expect(world.claims).toHaveLength(1);
    expect(world.cloud.instances.size).toBe(1);
    expect(world.pods.every(({ spec }) => spec.nodeName)).toBe(true);
  });

  it.each([
    'delete nodes',
    'patch-status nodeclaims',
    'patch nodes',
    'patch nodeclaims',
  ])('completes a termination after a restart if it is killed at its first "%s"', async (operation) => {
    await withPendingPods();
    await world.pass(20);
    let armed = true;
    world.kube.beforeWrite = (at) => {
      if (at !== operation || !armed) return;
      armed = false;
      world.kill();
      throw new Error('the process is dead');
    };
    const { metadata } = world.claims[0] ?? { metadata: { name: '' } };
    world.removePods(...world.pods);
    world.kube.delete(NODE_CLAIM, metadata);
    await world.pass(30);
    world.start();
    await world.pass(60);

    expect(armed).toBe(false);
    expect(world.claims).toEqual([]);
    expect(world.nodes).toEqual([]);
    expect(world.cloud.instances.size).toBe(0);
  });
});

/** Nodes that are deleted, change or are never created during registration and initialization. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  DO_NOT_SYNC_TAINTS_LABEL,
  INITIALIZED_LABEL,
  NODE,
  NODE_CLAIM,
  NODE_POOL,
  REGISTERED_LABEL,
  type Taint,
  UNREGISTERED_TAINT,
} from '#api/objects';
import { ApiError } from '#kube/client';
import { conditionOf } from '../harness.ts';
import { broken, TroubledWorld } from './troubled-world.ts';

let world: TroubledWorld;
beforeEach(() => {
  world = new TroubledWorld();
});
afterEach(() => world.kill());

describe('registration', () => {
  it('ignores a Node that was deleted meanwhile, and uses the next one', async () => {
    world.joining = false;
    await world.begin();
    await world.pass(4);
    world.joinAs({});
    world.kube.beforeWrite = (operation) => {
      if (operation === 'patch nodes') world.removeNode();
    };
    await world.pass(2);
    expect(world.nodes).toEqual([]);
    expect(conditionOf(world.claims[0], 'Registered')).toBe('Unknown/NodeNotFound');
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('Unknown/AwaitingReconciliation');

    world.joinInstances();
    await world.pass(3);
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('True/Initialized');
  });

  it('succeeds even if the status of its NodePool cannot be written', async () => {
    world.kube.beforeWrite = (operation, name) => {
      const { conditions: known = [] } = world.kube.find(NODE_POOL, { name })?.status ?? {};
      const isReady = known.some(({ type, status }) => type === 'Ready' && status === 'True');
      if (operation === 'patch-status nodepools' && isReady) throw new ApiError(403, 'Forbidden', 'a webhook says no');
    };
    await world.begin();
    await world.pass(20);
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('True/Initialized');
    expect(world.errors().join()).toContain('a webhook says no');
    expect(world.lines.filter(({ message }) => message === 'registered nodeclaim')).toHaveLength(1);
    expect(await world.metrics.text()).toMatch(/nodes_created_total\{nodepool="default",zone="zone-a"\} 1/);
  });

  it('keeps a taint that another client adds to the Node concurrently', async () => {
    const theirs: Taint = { key: 'example.com/theirs', effect: 'PreferNoSchedule' };
    let armed = true;
    world.kube.beforeWrite = (operation, name) => {
      if (!armed || operation !== 'patch nodes') return;
      armed = false;
      world.kube.patch(NODE, { name }, { spec: { taints: [UNREGISTERED_TAINT, theirs] } });
    };
    await world.begin();
    await world.pass(10);
    expect(world.nodes[0]?.spec?.taints).toEqual([theirs]);
    expect(conditionOf(world.claims[0], 'Registered')).toBe('True/Registered');
    expect(world.errors()).toEqual([]);
  });

  it.each([
    {
      when: 'another client writes the Node concurrently',
      error: new ApiError(409, 'Conflict', 'modified'),
      errors: 0,
    },
    { when: 'the API server fails', error: broken, errors: 1 },
  ])('is retried if $when', async ({ error, errors }) => {
    const failed = world.failing('patch nodes', error);
    await world.begin();
    await world.pass(15);
    expect(failed()).toBe(1);
    expect(world.errors()).toHaveLength(errors);
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('True/Initialized');
  });

  const team: Taint = { key: 'team', value: 'ours', effect: 'NoSchedule' };
  const startup: Taint = { key: 'example.com/agent', effect: 'NoExecute' };
  it.each<{ when: string; labels: Record<string, string>; taints: readonly Taint[]; gets: readonly Taint[] }>([
    { when: 'the Node has none', labels: {}, taints: [], gets: [team, startup] },
    {
      when: 'the Node has one with another value',
      labels: {},
      taints: [{ ...team, value: 'theirs' }],
      gets: [{ ...team, value: 'theirs' }, startup],
    },
    {
      when: 'the Node has one with another effect',
      labels: {},
      taints: [{ ...team, effect: 'NoExecute' }],
      gets: [{ ...team, effect: 'NoExecute' }, team, startup],
    },
    {
      when: 'the Node manages its taints itself',
      labels: { [DO_NOT_SYNC_TAINTS_LABEL]: 'true' },
      taints: [],
      gets: [],
    },
    {
      when: 'the label on the Node is not "true"',
      labels: { [DO_NOT_SYNC_TAINTS_LABEL]: 'yes' },
      taints: [],
      gets: [team, startup],
    },
  ])('syncs the taints of the claim to the Node if $when', async ({ labels, taints, gets }) => {
    world.joining = false;
    await world.begin({ startupTaints: [startup] }, { labels: { tier: 'claim' }, annotations: { a: 'claim' } });
    await world.pass(4);
    world.kube.patch(NODE_CLAIM, world.claimRef, { spec: { taints: [team] } });
    world.joinAs({
      metadata: { name: 'joined', labels: { tier: 'node', own: 'yes', ...labels }, annotations: { a: 'node' } },
      spec: { providerID: [...world.cloud.instances.keys()][0] ?? '', taints: [UNREGISTERED_TAINT, ...taints] },
    });
    await world.pass(1);
    const [node] = world.nodes;
    expect(node?.spec?.taints).toEqual(gets);
    expect(node?.metadata.labels).toMatchObject({ tier: 'claim', own: 'yes', [REGISTERED_LABEL]: 'true' });
    expect(node?.metadata.annotations).toMatchObject({ a: 'claim' });
    expect(node?.metadata.ownerReferences).toEqual([
      {
        apiVersion: 'karpenter.sh/v1',
        kind: 'NodeClaim',
        name: world.claimRef.name,
        uid: world.claims[0]?.metadata.uid,
        blockOwnerDeletion: true,
      },
    ]);
  });

  it('does not restore a startup taint that its agent removed during a hook', async () => {
    const agent: Taint = { key: 'example.com/agent', effect: 'NoSchedule' };
    let done = false;
    const ask = async () => (done ? ({ done: true } as const) : ({ done: false, waitMs: 2_000 } as const));
    world.cloud.registrationHooks = [{ name: 'slow', ask }];
    await world.begin({ startupTaints: [agent] });
    await world.pass(4);
    expect(world.nodes[0]?.spec?.taints).toEqual([UNREGISTERED_TAINT, agent]);
    world.kube.patch(NODE, world.nodes[0]?.metadata ?? { name: '' }, { spec: { taints: [UNREGISTERED_TAINT] } });
    done = true;
    await world.pass(4);
    expect(world.nodes[0]?.spec?.taints).toEqual([]);
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('True/Initialized');
  });
});

describe('initialization', () => {
  it.each(['vanishes', 'gets a duplicate'])('waits for the Node if it %s after registration', async (how) => {
    world.joining = false;
    await world.begin();
    await world.pass(4);
    world.joinAs({ status: { conditions: [] } });
    await world.pass(2);
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('Unknown/NodeNotReady');

    const { metadata } = world.nodes[0] ?? { metadata: { name: '' } };
    const [{ created } = { created: undefined }] = [...world.cloud.instances.values()];
    const status = { conditions: [{ type: 'Ready', status: 'True' }], allocatable: created?.status?.allocatable };
    if (how === 'vanishes') {
      world.kube.beforeWrite = (operation) => {
        if (operation === 'patch nodes') world.removeNode();
      };
    } else world.joinAs({ status: { conditions: [] } });
    world.kube.patch(NODE, metadata, { status }, 'status');
    await world.pass(2);
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('Unknown/NodeNotFound');
    expect(world.messageOf('Initialized')).toBe('Node not registered with cluster');
    expect(world.nodes.filter(({ metadata: { labels } }) => labels?.[INITIALIZED_LABEL])).toEqual([]);
  });

  it('is not reverted, and has the current generation', async () => {
    await world.begin();
    await world.pass(10);
    const { metadata } = world.nodes[0] ?? { metadata: { name: '' } };
    world.kube.patch(NODE, metadata, { status: { conditions: [] } }, 'status');
    world.kube.patch(NODE_CLAIM, world.claimRef, { spec: { expireAfter: '700h' } });
    await world.pass(3);
    for (const type of ['Launched', 'Registered', 'Initialized', 'Ready']) {
      expect(world.conditions.find((condition) => condition.type === type)).toMatchObject({
        status: 'True',
        observedGeneration: 2,
      });
    }
  });
});

describe('liveness', () => {
  const disrupted = async (reason: string): Promise<number> =>
    Number(
      new RegExp(`nodeclaims_disrupted_total\\{reason="${reason}".*\\} (\\d+)`).exec(await world.metrics.text())?.[1] ??
        0,
    );

  it('checks registration even if the launch is overdue', async () => {
    world.cloud.beforeCreate = () => {
      throw new Error('the cloud is down');
    };
    await world.begin();
    await world.pass(3);
    const uid = world.kube.get(NODE_POOL, { name: 'default' }).metadata.uid ?? '';
    world.removePods(...world.pods);
    world.kill();
    await world.clock.advance(16 * 60_000);
    world.start();
    await world.pass(5);
    expect([await disrupted('launch_timeout'), await disrupted('registration_timeout')]).toEqual([1, 1]);
    expect(world.cluster.registrationHealth.status(uid)).toBe('unhealthy');
    const health = world.kube
      .get(NODE_POOL, { name: 'default' })
      .status?.conditions?.find(({ type }) => type === 'NodeRegistrationHealthy');
    expect(health).toMatchObject({ status: 'False', reason: 'LaunchFailed', message: 'the cloud is down' });
    expect(world.claims).toEqual([]);
  });

  /** Lets an instance fail to join for the second time while the status of the NodePool cannot be written. */
  async function notJoining(error: Error): Promise<void> {
    world.joining = false;
    await world.begin();
    await world.pass(3);
    world.cluster.registrationHealth.record(world.kube.get(NODE_POOL, { name: 'default' }).metadata.uid ?? '', false);
    world.leaveUntried(...world.pods);
    world.kube.beforeWrite = (operation) => {
      if (operation === 'patch-status nodepools') throw error;
    };
    await world.clock.advance(14 * 60_000);
    await world.pass(90);
  }

  it('deletes a claim whose instance does not join even if its NodePool cannot be written', async () => {
    await notJoining(new ApiError(403, 'Forbidden', 'a webhook says no'));
    expect(world.claims).toEqual([]);
    expect(world.cloud.instances.size).toBe(0);
    expect(world.errors().join()).toContain('failed recording registration failure: ApiError: a webhook says no');
  });

  it('waits while other clients write the NodePool concurrently', async () => {
    await notJoining(new ApiError(409, 'Conflict', 'modified'));
    expect(world.claims).toHaveLength(1);
    world.kube.beforeWrite = () => undefined;
    await world.pass(90);
    expect(world.claims).toEqual([]);
    expect(await disrupted('registration_timeout')).toBe(1);
    // Logged after repeated conflicts.
    const told = 'repeated write conflicts, retrying';
    expect(world.errors().filter((text) => !text.startsWith(told))).toEqual([]);
  });
});

/** What a NodeClaim's life survives: writes that fail, Nodes that vanish, clouds and pools that say no. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NODE, NODE_CLAIM, NODE_POOL } from '../../../../src/api/kinds.ts';
import type { Condition, Taint } from '../../../../src/api/kubernetes.ts';
import {
  DO_NOT_SYNC_TAINTS_LABEL,
  INITIALIZED_LABEL,
  INSTANCE_TYPE_LABEL,
  REGISTERED_LABEL,
  TERMINATION_FINALIZER,
  TERMINATION_TIMESTAMP_ANNOTATION,
  UNREGISTERED_TAINT,
} from '../../../../src/api/labels.ts';
import type { NodePool } from '../../../../src/api/nodepool.ts';
import { InsufficientCapacity, NodeClaimNotFound } from '../../../../src/cloud/errors.ts';
import { ApiError } from '../../../../src/kube/client.ts';
import { conditionOf, World } from '../harness.ts';

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.kill());

type Template = NodePool['spec']['template'];

/** A pool that nothing is consolidated in, and one pending pod. */
async function begin(template: Partial<Template['spec']> = {}, metadata: Template['metadata'] = {}): Promise<void> {
  const seed = world.nodePool('seed');
  world.kube.delete(NODE_POOL, seed.metadata);
  world.nodePool('default', {
    template: { metadata, spec: { ...seed.spec.template.spec, ...template } },
    disruption: { consolidateAfter: 'Never' },
  });
  world.start();
  await world.pass(2);
  world.pending(1);
}

const broken = new ApiError(500, 'InternalError', 'the API server has a bad day');

/** The first writes of a kind fail, as many as there are errors. */
function failing(operation: string, ...errors: readonly Error[]): () => number {
  let failed = 0;
  world.kube.beforeWrite = (at) => {
    const error = at === operation ? errors[failed] : undefined;
    if (error === undefined) return;
    failed += 1;
    throw error;
  };
  return () => failed;
}

const claimRef = () => world.claims[0]?.metadata ?? { name: '' };
const conditions = (): readonly Condition[] => world.claims[0]?.status?.conditions ?? [];
const messageOf = (type: string) => conditions().find((condition) => condition.type === type)?.message;
const removeNode = (): void => {
  const { metadata } = world.nodes[0] ?? { metadata: { name: '' } };
  world.kube.beforeWrite = () => undefined;
  world.kube.patch(NODE, metadata, { metadata: { finalizers: [] } });
  world.kube.delete(NODE, metadata);
};
const joinAs = (more: Parameters<World['join']>[2]): void => {
  for (const [providerID, { created }] of world.cloud.instances) world.join(providerID, created, more);
};

describe('launch', () => {
  it('asks the cloud only once the claim is protected by its finalizer', async () => {
    const failed = failing('patch nodeclaims', new ApiError(409, 'Conflict', 'somebody was faster'), broken);
    const seen: (readonly string[] | undefined)[] = [];
    world.cloud.beforeCreate = ({ metadata }) =>
      void seen.push(world.kube.get(NODE_CLAIM, metadata).metadata.finalizers);
    await begin();
    await world.pass(15);
    expect(failed()).toBe(2);
    expect(seen).toEqual([[TERMINATION_FINALIZER]]);
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('True/Initialized');
  });

  it.each([
    'patch nodeclaims',
    'patch-status nodeclaims',
  ])('buys once although "%s" fails afterwards', async (operation) => {
    let purchases = 0;
    let failures = 0;
    world.cloud.beforeCreate = () => {
      purchases += 1;
    };
    world.kube.beforeWrite = (at) => {
      if (at !== operation || purchases === 0 || failures === 3) return;
      failures += 1;
      throw broken;
    };
    await begin();
    await world.pass(30);
    expect([failures, purchases]).toEqual([3, 1]);
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('True/Initialized');
    expect(world.lines.filter(({ message }) => message === 'launched nodeclaim')).toHaveLength(1);
  });

  it('leaks no instance that was bought for a claim that is deleted before it can say so', async () => {
    let purchases = 0;
    world.joining = false;
    world.cloud.beforeCreate = () => {
      purchases += 1;
    };
    world.kube.beforeWrite = (operation) => {
      if (purchases > 0 && operation.startsWith('patch')) throw broken;
    };
    await begin();
    await world.pass(3);
    expect([world.cloud.instances.size, world.claims[0]?.status?.providerID]).toEqual([1, undefined]);
    world.removePods(...world.pods);
    world.kube.delete(NODE_CLAIM, claimRef());
    world.kube.beforeWrite = () => undefined;
    await world.pass(40);
    expect(world.claims).toEqual([]);
    expect(world.cloud.instances.size).toBe(0);
  });

  it('merges what was bought with what was asked for', async () => {
    const create = world.cloud.create.bind(world.cloud);
    world.cloud.create = async (claim, adjust) => {
      const created = await create(claim, adjust);
      const { metadata, status } = created;
      const labels = { ...metadata.labels, team: 'theirs', rack: '7' };
      return {
        ...created,
        metadata: { ...metadata, labels, annotations: { note: 'theirs' } },
        status: { ...status, imageID: 'ami-1' },
      };
    };
    await begin({}, { labels: { team: 'ours' }, annotations: { note: 'ours', own: 'yes' } });
    await world.pass(2);
    expect(world.claims[0]?.metadata).toMatchObject({
      labels: { team: 'ours', rack: '7', [INSTANCE_TYPE_LABEL]: 'm.large' },
      annotations: { note: 'theirs', own: 'yes' },
    });
    expect(world.claims[0]?.status).toMatchObject({
      providerID: 'fake:///i-1',
      imageID: 'ami-1',
      capacity: { cpu: '2' },
      allocatable: { cpu: '1900m' },
    });
  });

  it('shows the first 300 characters of what went wrong', async () => {
    world.cloud.beforeCreate = () => {
      throw new Error('x'.repeat(400));
    };
    await begin();
    await world.pass(2);
    expect(conditionOf(world.claims[0], 'Launched')).toBe('Unknown/LaunchFailed');
    expect(messageOf('Launched')).toBe(`${'x'.repeat(300)}...`);
    expect(world.errors().join()).toContain('Reconciler error: Error: launching nodeclaim, xxx');
  });

  it.each([
    { texts: 'the same text', textOf: () => 'not authorized' },
    { texts: 'another text each time', textOf: (tries: number) => `not authorized, request ${tries}` },
  ])('backs off from a second to a minute while the cloud fails with $texts', async ({ textOf }) => {
    const triesMs: number[] = [];
    let isDown = true;
    world.cloud.beforeCreate = () => {
      triesMs.push(world.clock.now());
      if (isDown) throw new Error(textOf(triesMs.length));
    };
    await begin();
    await world.pass(200);
    const waits = triesMs.slice(1).map((atMs, index) => Math.floor((atMs - (triesMs[index] ?? 0)) / 1000));
    // each wait is up to a tenth longer: that shows in whole seconds only from the fifth on
    expect(waits.slice(0, 4)).toEqual([1, 2, 4, 8]);
    expect(waits.length).toBeLessThanOrEqual(8);
    expect(waits.at(-1)).toBeGreaterThanOrEqual(60);
    expect(messageOf('Launched')).toBe(textOf(triesMs.length));
    isDown = false;
    await world.pass(80);
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('True/Initialized');
  });

  it('counts a claim without capacity once, when its deletion has worked', async () => {
    world.cloud.beforeCreate = () => {
      throw new InsufficientCapacity('y'.repeat(400));
    };
    world.kube.beforeWrite = (operation) => {
      if (operation === 'delete nodeclaims') throw broken;
    };
    await begin();
    await world.pass(3);
    const first = world.events.find(({ reason }) => reason === 'InsufficientCapacityError');
    expect(first).toMatchObject({ type: 'Warning', dedupe: [first?.object.metadata.uid] });
    expect(first?.message).toMatch(/^NodeClaim default-\S+ event: insufficient capacity, y{277}\.\.\.$/);
    expect(await world.metrics.text()).not.toContain('insufficient_capacity');
    expect(conditionOf(world.claims[0], 'Launched')).toBe('Unknown/AwaitingReconciliation');
    world.kube.beforeWrite = () => undefined;
    world.removePods(...world.pods);
    await world.pass(10);
    expect(world.claims).toEqual([]);
    expect(await world.metrics.text()).toMatch(/nodeclaims_disrupted_total\{reason="insufficient_capacity".*\} 1/);
  });
});

describe('a claim without capacity', () => {
  it('is not counted when somebody else removed it meanwhile', async () => {
    world.cloud.beforeCreate = ({ metadata }) => {
      world.removePods(...world.pods);
      world.kube.patch(NODE_CLAIM, metadata, { metadata: { finalizers: [] } });
      world.kube.delete(NODE_CLAIM, metadata);
      throw new InsufficientCapacity('none left');
    };
    await begin();
    await world.pass(10);
    expect(world.claims).toEqual([]);
    expect(await world.metrics.text()).not.toContain('reason="insufficient_capacity"');
    expect(world.cluster.synced()).toBe(true);
  });
});

describe('the lifecycle controller', () => {
  it('does not act on a claim again that it has deleted, while its cache shows it as it was', async () => {
    let asked = 0;
    world.cloud.beforeCreate = ({ metadata }) => {
      asked += 1;
      world.kube.patch(NODE_CLAIM, metadata, { metadata: { annotations: { touched: 'yes' } } });
      world.removePods(...world.pods);
      throw new InsufficientCapacity('none left');
    };
    await begin();
    await world.pass(20);
    expect(asked).toBe(1);
    expect(world.events.filter(({ reason }) => reason === 'InsufficientCapacityError')).toHaveLength(1);
  });

  it('does not overwrite conditions that another controller sets at the same time', async () => {
    let armed = true;
    world.kube.beforeWrite = (operation, name) => {
      if (!armed || operation !== 'patch-status nodeclaims' || world.nodes.length === 0) return;
      armed = false;
      const { conditions: present = [] } = world.kube.get(NODE_CLAIM, { name }).status ?? {};
      const other = { type: 'Other', status: 'True', reason: 'Theirs', message: '' } as const;
      world.kube.patch(NODE_CLAIM, { name }, { status: { conditions: [...present, other] } }, 'status');
    };
    await begin();
    await world.pass(15);
    expect(armed).toBe(false);
    expect(conditionOf(world.claims[0], 'Other')).toBe('True/Theirs');
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('True/Initialized');
    expect(world.errors()).toEqual([]);
  });
});

describe('registration', () => {
  it('does not count a Node that vanished meanwhile, and takes the next one', async () => {
    world.joining = false;
    await begin();
    await world.pass(4);
    joinAs({});
    world.kube.beforeWrite = (operation) => {
      if (operation === 'patch nodes') removeNode();
    };
    await world.pass(2);
    expect(world.nodes).toEqual([]);
    expect(conditionOf(world.claims[0], 'Registered')).toBe('Unknown/NodeNotFound');
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('Unknown/AwaitingReconciliation');

    world.joinInstances();
    await world.pass(3);
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('True/Initialized');
  });

  it('stands although its NodePool cannot be told', async () => {
    world.kube.beforeWrite = (operation, name) => {
      const { conditions: known = [] } = world.kube.find(NODE_POOL, { name })?.status ?? {};
      const isReady = known.some(({ type, status }) => type === 'Ready' && status === 'True');
      if (operation === 'patch-status nodepools' && isReady) throw new ApiError(403, 'Forbidden', 'a webhook says no');
    };
    await begin();
    await world.pass(20);
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('True/Initialized');
    expect(world.errors().join()).toContain('a webhook says no');
    expect(world.lines.filter(({ message }) => message === 'registered nodeclaim')).toHaveLength(1);
    expect(await world.metrics.text()).toMatch(/nodes_created_total\{nodepool="default",zone="zone-a"\} 1/);
  });

  it('keeps the taint that somebody else gives the Node at the same time', async () => {
    const theirs: Taint = { key: 'example.com/theirs', effect: 'PreferNoSchedule' };
    let armed = true;
    world.kube.beforeWrite = (operation, name) => {
      if (!armed || operation !== 'patch nodes') return;
      armed = false;
      world.kube.patch(NODE, { name }, { spec: { taints: [UNREGISTERED_TAINT, theirs] } });
    };
    await begin();
    await world.pass(10);
    expect(world.nodes[0]?.spec?.taints).toEqual([theirs]);
    expect(conditionOf(world.claims[0], 'Registered')).toBe('True/Registered');
    expect(world.errors()).toEqual([]);
  });

  it.each([
    { when: 'somebody writes the Node at the same time', error: new ApiError(409, 'Conflict', 'modified'), errors: 0 },
    { when: 'the API server fails', error: broken, errors: 1 },
  ])('is tried again when $when', async ({ error, errors }) => {
    const failed = failing('patch nodes', error);
    await begin();
    await world.pass(15);
    expect(failed()).toBe(1);
    expect(world.errors()).toHaveLength(errors);
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('True/Initialized');
  });

  const team: Taint = { key: 'team', value: 'ours', effect: 'NoSchedule' };
  const startup: Taint = { key: 'example.com/agent', effect: 'NoExecute' };
  it.each<{ when: string; labels: Record<string, string>; taints: readonly Taint[]; gets: readonly Taint[] }>([
    { when: 'it has none', labels: {}, taints: [], gets: [team, startup] },
    {
      when: 'it has one with another value',
      labels: {},
      taints: [{ ...team, value: 'theirs' }],
      gets: [{ ...team, value: 'theirs' }, startup],
    },
    {
      when: 'it has one with another effect',
      labels: {},
      taints: [{ ...team, effect: 'NoExecute' }],
      gets: [{ ...team, effect: 'NoExecute' }, team, startup],
    },
    { when: 'it gives them to itself', labels: { [DO_NOT_SYNC_TAINTS_LABEL]: 'true' }, taints: [], gets: [] },
    {
      when: 'its label is no "true"',
      labels: { [DO_NOT_SYNC_TAINTS_LABEL]: 'yes' },
      taints: [],
      gets: [team, startup],
    },
  ])('gives the Node the taints of its claim when $when', async ({ labels, taints, gets }) => {
    world.joining = false;
    await begin({ startupTaints: [startup] }, { labels: { tier: 'claim' }, annotations: { a: 'claim' } });
    await world.pass(4);
    world.kube.patch(NODE_CLAIM, claimRef(), { spec: { taints: [team] } });
    joinAs({
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
        name: claimRef().name,
        uid: world.claims[0]?.metadata.uid,
        blockOwnerDeletion: true,
      },
    ]);
  });

  it('does not bring a startup taint back that its agent removed while a hook was waiting', async () => {
    const agent: Taint = { key: 'example.com/agent', effect: 'NoSchedule' };
    let done = false;
    const ask = async () => (done ? ({ done: true } as const) : ({ done: false, waitMs: 2_000 } as const));
    world.cloud.registrationHooks = [{ name: 'slow', ask }];
    await begin({ startupTaints: [agent] });
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
  it.each(['vanishes', 'gets a double'])('waits for the Node when it %s after registration', async (how) => {
    world.joining = false;
    await begin();
    await world.pass(4);
    joinAs({ status: { conditions: [] } });
    await world.pass(2);
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('Unknown/NodeNotReady');

    const { metadata } = world.nodes[0] ?? { metadata: { name: '' } };
    const [{ created } = { created: undefined }] = [...world.cloud.instances.values()];
    const status = { conditions: [{ type: 'Ready', status: 'True' }], allocatable: created?.status?.allocatable };
    if (how === 'vanishes') {
      world.kube.beforeWrite = (operation) => {
        if (operation === 'patch nodes') removeNode();
      };
    } else joinAs({ status: { conditions: [] } });
    world.kube.patch(NODE, metadata, { status }, 'status');
    await world.pass(2);
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('Unknown/NodeNotFound');
    expect(messageOf('Initialized')).toBe('Node not registered with cluster');
    expect(world.nodes.filter(({ metadata: { labels } }) => labels?.[INITIALIZED_LABEL])).toEqual([]);
  });

  it('is not undone, and shows the generation that it was looked at', async () => {
    await begin();
    await world.pass(10);
    const { metadata } = world.nodes[0] ?? { metadata: { name: '' } };
    world.kube.patch(NODE, metadata, { status: { conditions: [] } }, 'status');
    world.kube.patch(NODE_CLAIM, claimRef(), { spec: { expireAfter: '700h' } });
    await world.pass(3);
    for (const type of ['Launched', 'Registered', 'Initialized', 'Ready']) {
      expect(conditions().find((condition) => condition.type === type)).toMatchObject({
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

  it('looks at registration too when the launch is overdue', async () => {
    world.cloud.beforeCreate = () => {
      throw new Error('the cloud is down');
    };
    await begin();
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

  /** An instance does not join, for the second time, and the status of the NodePool cannot be written. */
  async function notJoining(error: Error): Promise<void> {
    world.joining = false;
    await begin();
    await world.pass(3);
    world.cluster.registrationHealth.record(world.kube.get(NODE_POOL, { name: 'default' }).metadata.uid ?? '', false);
    world.removePods(...world.pods);
    world.kube.beforeWrite = (operation) => {
      if (operation === 'patch-status nodepools') throw error;
    };
    await world.clock.advance(14 * 60_000);
    await world.pass(90);
  }

  it('ends a claim whose instance does not join although its NodePool cannot be told', async () => {
    await notJoining(new ApiError(403, 'Forbidden', 'a webhook says no'));
    expect(world.claims).toEqual([]);
    expect(world.cloud.instances.size).toBe(0);
    expect(world.errors().join()).toContain('failed recording registration failure: ApiError: a webhook says no');
  });

  it('waits as long as others write the NodePool at the same time', async () => {
    await notJoining(new ApiError(409, 'Conflict', 'modified'));
    expect(world.claims).toHaveLength(1);
    world.kube.beforeWrite = () => undefined;
    await world.pass(90);
    expect(world.claims).toEqual([]);
    expect(await disrupted('registration_timeout')).toBe(1);
    // said once it is known that they do not end
    const told = 'writes conflict again and again, retrying';
    expect(world.errors().filter((text) => !text.startsWith(told))).toEqual([]);
  });
});

describe('the end of a claim', () => {
  const remove = (): void => {
    world.removePods(...world.pods);
    world.kube.delete(NODE_CLAIM, claimRef());
  };

  it('waits for a cloud that fails, and counts once', async () => {
    await begin();
    await world.pass(10);
    removeNodeLeavingClaim();
    let failures = 2;
    const terminate = world.cloud.delete.bind(world.cloud);
    world.cloud.delete = async (claim) => {
      failures -= 1;
      if (failures >= 0) throw new Error('RequestLimitExceeded');
      return terminate(claim);
    };
    remove();
    await world.pass(1);
    expect(conditionOf(world.claims[0], 'InstanceTerminating')).toBeUndefined();
    world.kube.beforeWrite = conflictOnce('patch nodeclaims');
    await world.pass(40);
    expect(world.claims).toEqual([]);
    expect(world.lines.filter(({ message }) => message === 'deleted nodeclaim')).toHaveLength(1);
    const text = await world.metrics.text();
    for (const name of [
      'nodeclaims_terminated_total',
      'instance_termination_duration_seconds_count',
      'nodeclaims_termination_duration_seconds_count',
    ])
      expect(text).toMatch(new RegExp(`${name}\\{nodepool="default".*\\} 1`));
  });

  it('keeps a deadline that is there already', async () => {
    await begin({ terminationGracePeriod: '30m' });
    await world.pass(10);
    const annotations = { [TERMINATION_TIMESTAMP_ANNOTATION]: '2026-01-01T09:00:00Z' };
    world.kube.patch(NODE_CLAIM, claimRef(), { metadata: { annotations } });
    world.kube.delete(NODE_CLAIM, claimRef());
    await world.pass(2);
    expect(world.claims[0]?.metadata.annotations).toMatchObject(annotations);
    expect(world.lines.map(({ message }) => message)).not.toContain('annotated nodeclaim');
  });

  it('leaves the Node of a claim alone that never registered', async () => {
    world.joining = false;
    await begin();
    await world.pass(3);
    joinAs({});
    joinAs({});
    world.kill();
    world.start();
    await world.pass(2);
    remove();
    await world.pass(20);
    expect(world.claims).toEqual([]);
    expect(world.kube.writes).not.toContain('delete nodes');
  });

  it('expires again when the first deletion fails', async () => {
    await begin({ expireAfter: '10m' });
    await world.pass(10);
    world.removePods(...world.pods);
    const failed = failing('delete nodeclaims', broken, broken);
    await world.clock.advance(9 * 60_000);
    await world.pass(90);
    expect(failed()).toBe(2);
    expect(world.claims).toEqual([]);
    expect(await world.metrics.text()).toMatch(/nodeclaims_disrupted_total\{reason="expired".*\} 1/);
  });

  /** As if somebody had removed the finalizer of the Node. */
  function removeNodeLeavingClaim(): void {
    world.joining = false;
    removeNode();
  }

  function conflictOnce(operation: string): (at: string) => void {
    let armed = true;
    return (at) => {
      if (at !== operation || !armed) return;
      armed = false;
      throw new ApiError(409, 'Conflict', 'modified');
    };
  }
});

describe('garbage collection', () => {
  it.each([
    { when: 'is not known', known: 'never', ready: 'Unknown', collected: true },
    { when: 'is ending', known: 'ending', ready: 'Unknown', collected: true },
    { when: 'is missing from one list alone', known: 'unlisted', ready: 'Unknown', collected: false },
    { when: 'is not known, while its Node reports', known: 'never', ready: 'True', collected: false },
  ])('of a claim whose instance $when: $collected', async ({ known, ready, collected }) => {
    await begin();
    await world.pass(10);
    world.joining = false;
    world.removePods(...world.pods);
    const [{ created } = { created: undefined }] = [...world.cloud.instances.values()];
    const ending = created && {
      ...created,
      metadata: { ...created.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
    };
    world.cloud.list = async () => (known === 'ending' && ending ? [ending] : []);
    const { get } = world.cloud;
    world.cloud.get = async (id) => {
      if (known === 'ending' && ending) return ending;
      if (known === 'unlisted') return get.call(world.cloud, id);
      throw new NodeClaimNotFound(id);
    };
    world.kube.patch(
      NODE,
      world.nodes[0]?.metadata ?? { name: '' },
      { status: { conditions: [{ type: 'Ready', status: ready }] } },
      'status',
    );
    await world.clock.advance(2 * 60_000);
    await world.pass(20);
    expect(world.claims.length === 0).toBe(collected);
    expect((await world.metrics.text()).includes('reason="garbage_collected"')).toBe(collected);
  });
});

describe('the conditions of disruption', () => {
  it('say that a node may be consolidated although its drift cannot be found out', async () => {
    world.nodePool('default', { disruption: { consolidateAfter: '30s', budgets: [{ nodes: '0' }] } });
    world.cloud.isDrifted = async () => {
      throw new Error('no amis exist given constraints');
    };
    world.start();
    await world.pass(2);
    world.pending(1);
    await world.pass(120); // back-off has grown by the end of the window
    expect(conditionOf(world.claims[0], 'Consolidatable')).toBe('True/Consolidatable');
    expect(world.errors().join()).toContain('no amis exist given constraints');
  });
});

describe('the time of the last pod event', () => {
  const last = (): number => Date.parse(world.claims[0]?.status?.lastPodEventTime ?? '');

  it('is written although the first try fails', async () => {
    await begin();
    await world.pass(60);
    const before = last();
    const failed = failing('patch-status nodeclaims', broken);
    world.pending(1, '100m');
    await world.pass(3);
    expect(failed()).toBe(1);
    expect(last()).toBeGreaterThan(before);
  });

  it('is written once for pods that come at the same moment', async () => {
    await begin();
    await world.pass(60);
    const written = (): number => world.kube.writes.filter((write) => write === 'patch-status nodeclaims').length;
    const before = written();
    world.pending(3, '100m');
    await world.pass(3);
    expect(written()).toBe(before + 1);
  });

  it('is the start of the process once that has started again', async () => {
    await begin();
    await world.pass(60);
    world.kill();
    await world.clock.advance(60_000);
    const startedMs = world.clock.now();
    world.start();
    await world.pass(2);
    expect(last()).toBeGreaterThanOrEqual(startedMs);
  });
});

/** Launches that fail, are rejected, or whose claim is deleted meanwhile. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { INSTANCE_TYPE_LABEL, NODE_CLAIM, TERMINATION_FINALIZER } from '#api/objects';
import { InsufficientCapacity } from '#cloud';
import { ApiError } from '#kube/client';
import { conditionOf } from '../harness.ts';
import { broken, TroubledWorld } from './troubled-world.ts';

let world: TroubledWorld;
beforeEach(() => {
  world = new TroubledWorld();
});
afterEach(() => world.kill());

describe('launch', () => {
  it('calls the cloud provider only after the claim has its finalizer', async () => {
    const failed = world.failing('patch nodeclaims', new ApiError(409, 'Conflict', 'somebody was faster'), broken);
    const seen: (readonly string[] | undefined)[] = [];
    world.cloud.beforeCreate = ({ metadata }) =>
      void seen.push(world.kube.get(NODE_CLAIM, metadata).metadata.finalizers);
    await world.begin();
    await world.pass(15);
    expect(failed()).toBe(2);
    expect(seen).toEqual([[TERMINATION_FINALIZER]]);
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('True/Initialized');
  });

  it.each([
    'patch nodeclaims',
    'patch-status nodeclaims',
  ])('launches once even if "%s" fails afterwards', async (operation) => {
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
    await world.begin();
    await world.pass(30);
    expect([failures, purchases]).toEqual([3, 1]);
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('True/Initialized');
    expect(world.lines.filter(({ message }) => message === 'launched nodeclaim')).toHaveLength(1);
  });

  it('leaks no instance that was launched for a claim that is deleted before the status is written', async () => {
    let purchases = 0;
    world.joining = false;
    world.cloud.beforeCreate = () => {
      purchases += 1;
    };
    world.kube.beforeWrite = (operation) => {
      if (purchases > 0 && operation.startsWith('patch')) throw broken;
    };
    await world.begin();
    await world.pass(3);
    expect([world.cloud.instances.size, world.claims[0]?.status?.providerID]).toEqual([1, undefined]);
    world.removePods(...world.pods);
    world.kube.delete(NODE_CLAIM, world.claimRef);
    world.kube.beforeWrite = () => undefined;
    await world.pass(40);
    expect(world.claims).toEqual([]);
    expect(world.cloud.instances.size).toBe(0);
  });

  it('merges the launched with the requested labels', async () => {
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
    await world.begin({}, { labels: { team: 'ours' }, annotations: { note: 'ours', own: 'yes' } });
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

  it('reports the first 300 characters of the error', async () => {
    world.cloud.beforeCreate = () => {
      throw new Error('x'.repeat(400));
    };
    await world.begin();
    await world.pass(2);
    expect(conditionOf(world.claims[0], 'Launched')).toBe('Unknown/LaunchFailed');
    expect(world.messageOf('Launched')).toBe(`${'x'.repeat(300)}...`);
    expect(world.errors().join()).toContain('Reconciler error: Error: launching nodeclaim, xxx');
  });

  it.each([
    { texts: 'the same text', textOf: () => 'not authorized' },
    { texts: 'another text each time', textOf: (tries: number) => `not authorized, request ${tries}` },
  ])('backs off from a second to a minute while the cloud provider fails with $texts', async ({ textOf }) => {
    const triesMs: number[] = [];
    let isDown = true;
    world.cloud.beforeCreate = () => {
      triesMs.push(world.clock.now());
      if (isDown) throw new Error(textOf(triesMs.length));
    };
    await world.begin();
    await world.pass(200);
    const waits = triesMs.slice(1).map((atMs, index) => Math.floor((atMs - (triesMs[index] ?? 0)) / 1000));
    // Jitter adds up to a tenth to each wait. This is visible in whole seconds only from the fifth on.
    expect(waits.slice(0, 4)).toEqual([1, 2, 4, 8]);
    expect(waits.length).toBeLessThanOrEqual(8);
    expect(waits.at(-1)).toBeGreaterThanOrEqual(60);
    expect(world.messageOf('Launched')).toBe(textOf(triesMs.length));
    isDown = false;
    await world.pass(80);
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('True/Initialized');
  });

  it('counts a claim without capacity once, after its deletion succeeded', async () => {
    world.cloud.beforeCreate = () => {
      throw new InsufficientCapacity('y'.repeat(400));
    };
    world.kube.beforeWrite = (operation) => {
      if (operation === 'delete nodeclaims') throw broken;
    };
    await world.begin();
    await world.pass(3);
    const first = world.events.find(({ reason }) => reason === 'InsufficientCapacityError');
    expect(first).toMatchObject({ type: 'Warning', dedupe: [first?.object.metadata.uid] });
    expect(first?.message).toMatch(/^NodeClaim default-\S+ event: insufficient capacity, y{277}\.\.\.$/);
    expect(await world.metrics.text()).not.toContain('insufficient_capacity');
    expect(conditionOf(world.claims[0], 'Launched')).toBe('Unknown/AwaitingReconciliation');
    world.kube.beforeWrite = () => undefined;
    world.leaveUntried(...world.pods);
    await world.pass(10);
    expect(world.claims).toEqual([]);
    expect(await world.metrics.text()).toMatch(/nodeclaims_disrupted_total\{reason="insufficient_capacity".*\} 1/);
  });
});

describe('a claim without capacity', () => {
  it('is not counted if another client deleted it meanwhile', async () => {
    world.cloud.beforeCreate = ({ metadata }) => {
      world.removePods(...world.pods);
      world.kube.patch(NODE_CLAIM, metadata, { metadata: { finalizers: [] } });
      world.kube.delete(NODE_CLAIM, metadata);
      throw new InsufficientCapacity('none left');
    };
    await world.begin();
    await world.pass(10);
    expect(world.claims).toEqual([]);
    expect(await world.metrics.text()).not.toContain('reason="insufficient_capacity"');
    expect(world.cluster.synced()).toBe(true);
  });
});

describe('the lifecycle controller', () => {
  it('does not process a claim that it has deleted, while its cache contains the old state', async () => {
    let asked = 0;
    world.cloud.beforeCreate = ({ metadata }) => {
      asked += 1;
      world.kube.patch(NODE_CLAIM, metadata, { metadata: { annotations: { touched: 'yes' } } });
      world.removePods(...world.pods);
      throw new InsufficientCapacity('none left');
    };
    await world.begin();
    await world.pass(20);
    expect(asked).toBe(1);
    expect(world.events.filter(({ reason }) => reason === 'InsufficientCapacityError')).toHaveLength(1);
  });

  it('does not overwrite conditions that another controller sets concurrently', async () => {
    let armed = true;
    world.kube.beforeWrite = (operation, name) => {
      if (!armed || operation !== 'patch-status nodeclaims' || world.nodes.length === 0) return;
      armed = false;
      const { conditions: present = [] } = world.kube.get(NODE_CLAIM, { name }).status ?? {};
      const other = { type: 'Other', status: 'True', reason: 'Theirs', message: '' } as const;
      world.kube.patch(NODE_CLAIM, { name }, { status: { conditions: [...present, other] } }, 'status');
    };
    await world.begin();
    await world.pass(15);
    expect(armed).toBe(false);
    expect(conditionOf(world.claims[0], 'Other')).toBe('True/Theirs');
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('True/Initialized');
    expect(world.errors()).toEqual([]);
  });
});

/** Drift reasons, and the time from which a node can be consolidated. */
import { describe, expect, it } from '@jest/globals';
import {
  CAPACITY_RESERVATION_ID_LABEL,
  CAPACITY_TYPE_LABEL,
  EC2_NODE_CLASS,
  INSTANCE_TYPE_LABEL,
  NODE_CLAIM,
  NODE_POOL,
  NODEPOOL_HASH_ANNOTATION,
  NODEPOOL_HASH_VERSION_ANNOTATION,
  NODEPOOL_LABEL,
  type NodeClaim,
  type NodePool,
  ZONE_LABEL,
} from '#api/objects';
import { driftReason } from '#engine/model';
import type { ClusterState } from '#state';
import { DisruptionConditions, driftChecks } from '../../../../src/controllers/nodeclaim/disruption.ts';
import { invalid, partial } from '../../../support/partial.ts';
import { virtualClock } from '../../virtualclock.ts';
import { FakeCloud, instanceType } from '../fake-cloud.ts';
import { bench, claimOf, condition, settledClaim } from '../node/bench.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
type Bench = ReturnType<typeof bench>;

const poolOf = (spec: Partial<NodePool['spec']> = {}, annotations: Record<string, string> = {}): NodePool => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'default', uid: 'pool', generation: 1, annotations },
  spec: {
    template: { spec: { nodeClassRef: claimOf('x').spec.nodeClassRef, requirements: [] } },
    disruption: { consolidateAfter: '5m', budgets: [] },
    ...spec,
  },
});

describe('drift of a NodeClaim', () => {
  const labels = {
    [NODEPOOL_LABEL]: 'default',
    [INSTANCE_TYPE_LABEL]: 'm.large',
    [ZONE_LABEL]: 'zone-a',
    [CAPACITY_TYPE_LABEL]: 'on-demand',
  };
  const hashes = (hash?: string, version?: string): Record<string, string> => ({
    ...(hash !== undefined && { [NODEPOOL_HASH_ANNOTATION]: hash }),
    ...(version !== undefined && { [NODEPOOL_HASH_VERSION_ANNOTATION]: version }),
  });
  const requiring = (key: string, operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist', values?: readonly string[]) => {
    const { template } = poolOf().spec;
    const requirements = [{ key, operator, ...(values && { values: [...values] }) }];
    return poolOf({ template: { spec: { ...template.spec, requirements } } });
  };
  const setUp = () => {
    const clock = virtualClock();
    const cloud = new FakeCloud(clock);
    const cluster = partial<ClusterState>({ nodeOfClaim: () => undefined });
    const checksFor = driftChecks({ clock, cloud, cluster });
    const check = (claim: NodeClaim, pool: NodePool) => driftReason(claim, pool, checksFor(claim, pool), clock.now());
    return { clock, cloud, check };
  };
  const setUpWith = (types: FakeCloud['types']) => {
    const world = setUp();
    world.cloud.types = types;
    return world;
  };
  const claim = (more: Partial<NodeClaim['metadata']> = {}): NodeClaim => {
    const base = settledClaim('claim');
    return { ...base, metadata: { ...base.metadata, labels, creationTimestamp: '2025-12-31T22:59:00Z', ...more } };
  };

  it.each([
    { own: hashes('1', 'v3'), pool: hashes('2', 'v3'), is: 'NodePoolDrifted' },
    { own: hashes('1', 'v3'), pool: hashes('1', 'v3'), is: undefined },
    { own: hashes('1', 'v2'), pool: hashes('2', 'v3'), is: undefined },
    { own: hashes('1'), pool: hashes('2'), is: undefined },
    { own: hashes('1', 'v3'), pool: hashes('2'), is: undefined },
    { own: hashes(undefined, 'v3'), pool: hashes('2', 'v3'), is: undefined },
    { own: hashes('1', 'v3'), pool: hashes(undefined, 'v3'), is: undefined },
  ])('returns, for a claim with $own and a NodePool with $pool, $is', async ({ own, pool, is }) => {
    expect(await setUp().check(claim({ annotations: own }), poolOf({}, pool))).toBe(is);
  });

  it.each([
    { pool: requiring(ZONE_LABEL, 'In', ['zone-a', 'zone-b']), is: undefined },
    { pool: requiring(ZONE_LABEL, 'In', ['zone-b']), is: 'RequirementsDrifted' },
    { pool: requiring('team', 'In', ['blue']), is: 'RequirementsDrifted' },
    { pool: requiring('team', 'Exists'), is: 'RequirementsDrifted' },
    { pool: requiring('team', 'NotIn', ['blue']), is: undefined },
    { pool: requiring('team', 'DoesNotExist'), is: undefined },
  ])('returns, for requirements $pool.spec.template.spec.requirements, $is', async ({ pool, is }) => {
    expect(await setUp().check(claim(), pool)).toBe(is);
  });

  const reserved = { ...labels, [CAPACITY_TYPE_LABEL]: 'reserved', [CAPACITY_RESERVATION_ID_LABEL]: 'cr-1' };
  it.each([
    { of: 'whose type exists', labels, is: undefined },
    {
      of: 'whose type does not exist anymore',
      labels: { ...labels, [INSTANCE_TYPE_LABEL]: 'gone' },
      is: 'InstanceTypeNotFound',
    },
    {
      of: 'whose zone has no offering anymore',
      labels: { ...labels, [ZONE_LABEL]: 'zone-z' },
      is: 'InstanceTypeNotFound',
    },
    { of: 'with labels that offerings do not define', labels: { ...labels, team: 'blue' }, is: undefined },
    { of: 'whose reservation has ended', labels: reserved, is: undefined },
  ])('returns, for a claim $of, $is', async ({ labels: own, is }) => {
    expect(await setUp().check(claim({ labels: own }), poolOf())).toBe(is);
  });

  it('does not compare the reservation of an offering', async () => {
    const { cloud, check } = setUp();
    const { offerings, ...type } = instanceType('m.large', 2, 1);
    const values = {
      [ZONE_LABEL]: 'zone-a',
      [CAPACITY_TYPE_LABEL]: 'reserved',
      [CAPACITY_RESERVATION_ID_LABEL]: 'cr-2',
    };
    const requirements = Object.entries(values).map(([key, value]) => ({
      key,
      operator: 'In' as const,
      values: [value],
    }));
    cloud.types = [
      { ...type, offerings: offerings.slice(0, 1).map((each) => ({ ...each, requirements, available: false })) },
    ];
    expect(await check(claim({ labels: reserved }), poolOf())).toBeUndefined();
    expect(await setUpWith(cloud.types).check(claim(), poolOf())).toBe('InstanceTypeNotFound');
  });

  it('checks the types of claims that are older than an hour, and again half an hour after a success', async () => {
    const { clock, cloud, check } = setUp();
    const young = claim({ creationTimestamp: '2025-12-31T23:00:01Z' });
    cloud.types = [instanceType('other', 2, 1)];
    expect(await check(young, poolOf())).toBeUndefined();
    await clock.advance(2 * SECOND);
    expect(await check(young, poolOf())).toBe('InstanceTypeNotFound');
    expect(await check(young, poolOf())).toBe('InstanceTypeNotFound');

    cloud.types = [instanceType('m.large', 2, 1)];
    expect(await check(young, poolOf())).toBeUndefined();
    cloud.types = [instanceType('other', 2, 1)];
    await clock.advance(30 * MINUTE - SECOND);
    expect(await check(young, poolOf())).toBeUndefined();
    await clock.advance(SECOND);
    expect(await check(young, poolOf())).toBe('InstanceTypeNotFound');
  });

  it('ignores a NodePool whose types are unknown', async () => {
    expect(await setUpWith([]).check(claim(), poolOf())).toBeUndefined();
  });

  it('calls the provider last, and checks nothing before the launch', async () => {
    const { cloud, check } = setUp();
    cloud.drifted = 'AMIDrift';
    expect(await check(claim(), poolOf())).toBe('AMIDrift');
    expect(await check(claim(), requiring('team', 'Exists'))).toBe('RequirementsDrifted');
    const waiting = { ...claim({ annotations: hashes('1', 'v3') }), status: { conditions: [] } };
    expect(await check(waiting, poolOf({}, hashes('2', 'v3')))).toBeUndefined();
  });
});

describe('a disruption condition', () => {
  const drift = { reason: undefined as string | undefined, asked: 0 };
  const start = (): Bench => {
    Object.assign(drift, { reason: undefined, asked: 0 });
    return bench([], (deps) => {
      const isDrifted = async (): Promise<string | undefined> => {
        drift.asked += 1;
        return drift.reason;
      };
      return [new DisruptionConditions({ ...deps, cloud: Object.assign(deps.cloud, { isDrifted }) })];
    });
  };
  const young = (b: Bench, status: Partial<NonNullable<NodeClaim['status']>> = {}): NodeClaim => {
    const claim = settledClaim('claim', status);
    return { ...claim, metadata: { ...claim.metadata, creationTimestamp: b.time() } };
  };
  const CONSOLIDATABLE = 'Consolidatable';
  const NODE_CLASS = { apiVersion: 'karpenter.k8s.aws/v1', kind: 'EC2NodeClass', metadata: { name: 'default' } };

  it.each([
    { after: '5m', initialized: -299, event: undefined, is: undefined },
    { after: '5m', initialized: -300, event: undefined, is: 'True/Consolidatable' },
    { after: '5m', initialized: -900, event: -299, is: undefined },
    { after: '5m', initialized: -1, event: -300, is: 'True/Consolidatable' },
    { after: '0s', initialized: 0, event: 0, is: 'True/Consolidatable' },
    { after: 'Never', initialized: -900, event: -900, is: undefined },
    { after: invalid<string>(undefined), initialized: -900, event: -900, is: undefined },
    { after: '0s', initialized: undefined, event: -900, is: undefined },
  ])('is set with consolidateAfter $after, initialized $initialized s and quiet $event s ago: $is', async (given) => {
    const b = start();
    const initialized = condition(
      'Initialized',
      given.initialized === undefined
        ? { status: 'Unknown' }
        : { lastTransitionTime: b.time(given.initialized * SECOND) },
    );
    const conditions = [condition('Launched'), condition('Registered'), initialized, condition(CONSOLIDATABLE)];
    const event = given.event === undefined ? {} : { lastPodEventTime: b.time(given.event * SECOND) };
    b.put(NODE_POOL, poolOf({ disruption: { consolidateAfter: given.after, budgets: [] } }));
    b.put(NODE_CLAIM, young(b, { conditions, ...event }));
    await b.clock.advance(10);
    expect(b.condition('claim', CONSOLIDATABLE)).toBe(given.is);
  });

  it('changes at the exact end of the window', async () => {
    const b = start();
    b.put(NODE_POOL, poolOf({ disruption: { consolidateAfter: '2m', budgets: [] } }));
    b.put(NODE_CLAIM, young(b, { lastPodEventTime: b.time() }));
    await b.clock.advance(2 * MINUTE - 1);
    expect(b.condition('claim', CONSOLIDATABLE)).toBeUndefined();
    await b.clock.advance(1);
    expect(b.condition('claim', CONSOLIDATABLE)).toBe('True/Consolidatable');
  });

  it('follows the drift of the claim every five minutes, and the drift of its NodeClass immediately', async () => {
    const b = start();
    b.put(NODE_POOL, poolOf({ disruption: { consolidateAfter: 'Never', budgets: [] } }));
    b.put(NODE_CLAIM, young(b));
    await b.clock.advance(SECOND);
    drift.reason = 'AMIDrift';
    await b.clock.advance(5 * MINUTE - 2 * SECOND);
    expect(b.condition('claim', 'Drifted')).toBeUndefined();
    await b.clock.advance(2 * SECOND);
    expect(b.condition('claim', 'Drifted')).toBe('True/AMIDrift');
    expect(b.claim('claim')?.status?.conditions?.find(({ type }) => type === 'Drifted')?.message).toBe('AMIDrift');

    drift.reason = undefined;
    b.put(EC2_NODE_CLASS, NODE_CLASS);
    await b.clock.advance(SECOND);
    expect(b.condition('claim', 'Drifted')).toBeUndefined();
    const said = b.lines.map(({ message }) => message);
    expect(said.filter((line) => line.includes('drifted'))).toEqual([
      'marking drifted',
      'removing drifted status condition, not drifted',
    ]);
  });

  it('follows a changed NodeClass immediately, AWS within five minutes, and the clock', async () => {
    const b = start();
    b.put(NODE_POOL, poolOf({ disruption: { consolidateAfter: '20m', budgets: [] } }));
    b.put(NODE_CLAIM, young(b, { lastPodEventTime: b.time() }));
    await b.clock.advance(SECOND);
    expect(drift.asked).toBe(1);
    drift.reason = 'AMIDrift';
    b.put(EC2_NODE_CLASS, NODE_CLASS);
    await b.clock.advance(SECOND);
    expect(b.condition('claim', 'Drifted')).toBe('True/AMIDrift');
    drift.reason = undefined;
    await b.clock.advance(5 * MINUTE);
    expect(b.condition('claim', 'Drifted')).toBeUndefined();
    await b.clock.advance(15 * MINUTE);
    expect(b.condition('claim', CONSOLIDATABLE)).toBe('True/Consolidatable');
  });

  it('follows its NodePool immediately, and is never Consolidatable in a static NodePool', async () => {
    const b = start();
    b.put(NODE_POOL, poolOf({ disruption: { consolidateAfter: 'Never', budgets: [] } }));
    b.put(NODE_CLAIM, young(b));
    await b.clock.advance(SECOND);
    const quick = poolOf({ disruption: { consolidateAfter: '0s', budgets: [] } });
    b.put(NODE_POOL, { ...quick, metadata: { ...quick.metadata, generation: 2 } });
    await b.clock.advance(SECOND);
    expect(b.condition('claim', CONSOLIDATABLE)).toBe('True/Consolidatable');
    const fixed = start();
    fixed.put(NODE_POOL, poolOf({ replicas: 1, disruption: { consolidateAfter: '0s', budgets: [] } }));
    fixed.put(NODE_CLAIM, young(fixed));
    await fixed.clock.advance(SECOND);
    expect(fixed.condition('claim', CONSOLIDATABLE)).toBeUndefined();
    expect(drift.asked).toBe(1);
  });

  it('is evaluated again if the hash of its NodePool changes, but not if only its status changes', async () => {
    const b = start();
    const pool = poolOf({ disruption: { consolidateAfter: 'Never', budgets: [] } });
    b.put(NODE_POOL, pool);
    b.put(NODE_CLAIM, young(b));
    await b.clock.advance(SECOND);
    const asked = drift.asked;
    b.put(NODE_POOL, { ...pool, status: { resources: { nodes: '2' } } });
    await b.clock.advance(SECOND);
    expect(drift.asked).toBe(asked);
    b.put(NODE_POOL, { ...pool, metadata: { ...pool.metadata, annotations: { [NODEPOOL_HASH_ANNOTATION]: '2' } } });
    await b.clock.advance(SECOND);
    expect(drift.asked).toBe(asked + 1);
  });

  it.each<{ what: string; change: (claim: NodeClaim) => NodeClaim }>([
    {
      what: 'that is being deleted',
      change: (claim) => ({ ...claim, metadata: { ...claim.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }),
    },
    { what: 'without a NodePool', change: (claim) => ({ ...claim, metadata: { ...claim.metadata, labels: {} } }) },
    {
      what: 'of a NodePool that does not exist',
      change: (claim) => ({ ...claim, metadata: { ...claim.metadata, labels: { [NODEPOOL_LABEL]: 'gone' } } }),
    },
    {
      what: 'of another provider',
      change: (claim) => ({ ...claim, spec: { ...claim.spec, nodeClassRef: { group: 'x', kind: 'X', name: 'x' } } }),
    },
  ])('is not set for a claim $what', async ({ change }) => {
    const b = start();
    drift.reason = 'AMIDrift';
    b.put(NODE_CLAIM, change(young(b)));
    b.put(NODE_POOL, poolOf());
    await b.clock.advance(10 * MINUTE);
    expect(b.writesTo('NodeClaim')).toBe(0);
  });
});

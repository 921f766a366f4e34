/** Controllers that look after claims of running nodes, one at a time: consistency, pod events, drift, windows. */
import { describe, expect, it } from '@jest/globals';
import { EC2_NODE_CLASS, NODE, NODE_CLAIM, NODE_POOL, POD } from '../../../src/api/kinds.ts';
import type { Condition, Pod } from '../../../src/api/kubernetes.ts';
import {
  CAPACITY_RESERVATION_ID_LABEL,
  CAPACITY_TYPE_LABEL,
  INSTANCE_TYPE_LABEL,
  NODEPOOL_HASH_ANNOTATION,
  NODEPOOL_HASH_VERSION_ANNOTATION,
  NODEPOOL_LABEL,
  ZONE_LABEL,
} from '../../../src/api/labels.ts';
import type { NodeClaim } from '../../../src/api/nodeclaim.ts';
import type { NodePool } from '../../../src/api/nodepool.ts';
import { consistency } from '../../../src/controllers/nodeclaim/consistency.ts';
import { disruptionConditions } from '../../../src/controllers/nodeclaim/disruption.ts';
import { driftCheck } from '../../../src/controllers/nodeclaim/drift.ts';
import { podEvents } from '../../../src/controllers/nodeclaim/podevents.ts';
import { ApiError } from '../../../src/kube/client.ts';
import { virtualClock } from '../virtualclock.ts';
import { FakeCloud, instanceType } from './fakecloud.ts';
import { bench, claimOf, daemonOf, nodeOf, podOf } from './node/bench.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
type Bench = ReturnType<typeof bench>;

const condition = (type: string, more: Partial<Condition> = {}): Condition => ({
  type,
  status: 'True',
  reason: type,
  message: '',
  observedGeneration: 1,
  lastTransitionTime: '2025-12-31T00:00:00Z',
  ...more,
});
const settledClaim = (name: string, status: Partial<NonNullable<NodeClaim['status']>> = {}): NodeClaim => {
  const claim = claimOf(name);
  const conditions = ['Launched', 'Registered', 'Initialized', 'Ready'].map((type) => condition(type));
  return { ...claim, status: { ...claim.status, conditions, ...status } };
};
const writesTo = (b: Bench, kind: string): number =>
  b.writes.filter((write) => write.startsWith(`patch ${kind}`)).length;

describe('consistency', () => {
  const start = (): Bench => bench([], (deps) => [consistency(deps)]);
  const bought = (more: Partial<NodeClaim> = {}): NodeClaim => {
    const claim = settledClaim('claim', { capacity: { cpu: '10', memory: '10Gi', 'example.com/gpu': '0' } });
    const requests = { cpu: '1', memory: '0', 'example.com/gpu': '1' };
    return { ...claim, spec: { ...claim.spec, resources: { requests } }, ...more };
  };
  const node = (cpu: string) => {
    const base = nodeOf('node');
    return { ...base, status: { ...base.status, capacity: { cpu, memory: '1Gi' } } };
  };
  const STATE = 'ConsistentStateFound';

  it.each([
    { cpu: '9', state: 'True/ConsistentStateFound', issues: [] },
    {
      cpu: '8990m',
      state: 'False/ConsistencyCheckFailed',
      issues: ['expected 10 of resource cpu, but found 8990m (89.9% of expected)'],
    },
    {
      cpu: '0',
      state: 'False/ConsistencyCheckFailed',
      issues: ['expected 10 of resource cpu, but found 0 (0.0% of expected)'],
    },
  ])('with $cpu of 10 processors is $state', async ({ cpu, state, issues }) => {
    const b = start();
    b.put(NODE_CLAIM, bought());
    b.put(NODE, node(cpu));
    await b.clock.advance(SECOND);
    expect(b.condition('claim', STATE)).toBe(state);
    expect(b.events.map(({ type, reason, message, dedupe }) => [type, reason, message, dedupe])).toEqual(
      issues.map((issue) => ['Warning', 'FailedConsistencyCheck', issue, ['uid-claim', issue]]),
    );
    expect(
      b.lines.filter(({ message }) => message === 'failed consistency check').map(({ fields }) => fields.issue),
    ).toEqual(issues);
  });

  it.each([
    {
      what: 'that is being deleted',
      claim: bought({ metadata: { ...bought().metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }),
    },
    { what: 'that is not initialised', claim: bought({ status: { ...bought().status, conditions: [] } }) },
  ])('finds no fault with the shape of a node $what', async ({ claim }) => {
    const b = start();
    b.put(NODE_CLAIM, claim);
    b.put(NODE, node('1'));
    await b.clock.advance(SECOND);
    expect(b.condition('claim', STATE)).toBe('True/ConsistentStateFound');
  });

  it('looks once in ten minutes, whatever happens between', async () => {
    const b = start();
    b.put(NODE_CLAIM, bought());
    b.put(NODE, node('10'));
    await b.clock.advance(SECOND);
    b.put(NODE, node('1'));
    await b.clock.advance(9 * MINUTE);
    b.put(NODE, node('2'));
    await b.clock.advance(58 * SECOND);
    expect(b.condition('claim', STATE)).toBe('True/ConsistentStateFound');
    await b.clock.advance(2 * SECOND);
    expect(b.condition('claim', STATE)).toBe('False/ConsistencyCheckFailed');
  });

  it('waits for the next slot when it comes before the Node, and for a second Node to go', async () => {
    const b = start();
    b.put(NODE_CLAIM, bought());
    await b.clock.advance(MINUTE);
    const double = { ...node('10'), metadata: { ...node('10').metadata, name: 'double', uid: 'double' } };
    b.put(NODE, double);
    b.put(NODE, node('10'));
    await b.clock.advance(10 * MINUTE);
    expect(b.condition('claim', STATE)).toBeUndefined();
    b.remove(NODE, double);
    await b.clock.advance(8 * MINUTE);
    expect(b.condition('claim', STATE)).toBeUndefined();
    await b.clock.advance(2 * MINUTE);
    expect(b.condition('claim', STATE)).toBe('True/ConsistentStateFound');
  });

  it('does not lose its slot to a write that is refused, nor to a namesake before it', async () => {
    const b = start();
    let refusals = 2;
    b.world.failure = (operation) =>
      operation === 'patch NodeClaim' && refusals-- > 0 ? new ApiError(409, 'Conflict', 'modified') : undefined;
    const first = b.put(NODE_CLAIM, bought());
    b.put(NODE, node('10'));
    await b.clock.advance(SECOND);
    expect(b.condition('claim', STATE)).toBe('True/ConsistentStateFound');
    b.remove(NODE_CLAIM, first);
    b.put(NODE_CLAIM, { ...bought(), metadata: { ...bought().metadata, uid: 'successor' } });
    await b.clock.advance(SECOND);
    expect(b.condition('claim', STATE)).toBe('True/ConsistentStateFound');
  });

  it('leaves claims alone that have no instance, or are not ours', async () => {
    const b = start();
    b.put(NODE_CLAIM, bought({ status: { conditions: [] } }));
    const foreign = { group: 'other.example.com', kind: 'Machine', name: 'x' };
    b.put(NODE_CLAIM, { ...settledClaim('foreign'), spec: { ...bought().spec, nodeClassRef: foreign } });
    b.put(NODE, node('10'));
    await b.clock.advance(SECOND);
    expect(writesTo(b, 'NodeClaim')).toBe(0);
  });
});

describe('pod events', () => {
  const start = (): Bench => bench([], (deps) => [podEvents(deps)]);
  const last = (b: Bench): number =>
    (Date.parse(b.claim('claim')?.status?.lastPodEventTime ?? '') - b.clock.now()) / SECOND;
  const pod = podOf('web');
  const unbound: Pod = { ...pod, spec: { containers: [] } };
  const ended: Pod = { ...pod, status: { phase: 'Succeeded' } };
  const ending: Pod = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:01:00Z' } };
  const annotated: Pod = { ...pod, metadata: { ...pod.metadata, annotations: { note: 'x' } } };

  it.each<{ when: string; before?: Pod; now?: Pod; noted: boolean }>([
    { when: 'comes bound', now: pod, noted: true },
    { when: 'comes unbound', now: unbound, noted: false },
    { when: 'is bound', before: unbound, now: pod, noted: true },
    { when: 'ends', before: pod, now: ended, noted: true },
    { when: 'begins to end', before: pod, now: ending, noted: true },
    { when: 'changes otherwise', before: pod, now: annotated, noted: false },
    {
      when: 'ends before it was bound',
      before: unbound,
      now: { ...unbound, status: { phase: 'Failed' } },
      noted: false,
    },
    {
      when: 'begins to end before it was bound',
      before: unbound,
      now: { ...ending, spec: unbound.spec },
      noted: false,
    },
    {
      when: 'ended long ago and changes',
      before: ended,
      now: { ...ended, metadata: annotated.metadata },
      noted: false,
    },
    { when: 'is removed', before: pod, noted: false },
    { when: 'of a DaemonSet comes', now: daemonOf('daemon'), noted: false },
    { when: 'comes to an unknown Node', now: podOf('web', { nodeName: 'elsewhere' }), noted: false },
  ])('when a pod $when: $noted', async ({ before, now, noted }) => {
    const b = start();
    b.put(NODE, nodeOf('node'));
    b.put(NODE_CLAIM, settledClaim('claim'));
    if (before) b.put(POD, before);
    await b.clock.advance(MINUTE);
    const known = writesTo(b, 'NodeClaim');
    if (now) b.put(POD, now);
    else if (before) b.remove(POD, before);
    await b.clock.advance(SECOND);
    expect(writesTo(b, 'NodeClaim') - known).toBe(noted ? 1 : 0);
    if (noted) expect(last(b)).toBe(-1);
  });

  it('are noted ten seconds apart', async () => {
    const b = start();
    b.put(NODE, nodeOf('node'));
    b.put(NODE_CLAIM, settledClaim('claim', { lastPodEventTime: b.time(-9 * SECOND) }));
    b.put(POD, podOf('a'));
    await b.clock.advance(SECOND);
    expect(writesTo(b, 'NodeClaim')).toBe(0);
    b.put(POD, podOf('b'));
    b.put(POD, podOf('c'));
    await b.clock.advance(9 * SECOND);
    b.put(POD, podOf('d'));
    await b.clock.settle();
    expect(writesTo(b, 'NodeClaim')).toBe(1);
    await b.clock.advance(SECOND);
    b.put(POD, podOf('e'));
    await b.clock.settle();
    expect(writesTo(b, 'NodeClaim')).toBe(2);
  });

  it('are not noted on claims that share a Node', async () => {
    const b = start();
    b.put(NODE, nodeOf('node'));
    for (const name of ['one', 'two']) b.put(NODE_CLAIM, settledClaim(name));
    b.put(POD, pod);
    await b.clock.advance(SECOND);
    expect(writesTo(b, 'NodeClaim')).toBe(0);
  });
});

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

describe('driftCheck', () => {
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
    return { clock, cloud, check: driftCheck({ clock, cloud }) };
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
  ])('of a claim with $own under a pool with $pool is $is', async ({ own, pool, is }) => {
    expect(await setUp().check(claim({ annotations: own }), poolOf({}, pool))).toBe(is);
  });

  it.each([
    { pool: requiring(ZONE_LABEL, 'In', ['zone-a', 'zone-b']), is: undefined },
    { pool: requiring(ZONE_LABEL, 'In', ['zone-b']), is: 'RequirementsDrifted' },
    { pool: requiring('team', 'In', ['blue']), is: 'RequirementsDrifted' },
    { pool: requiring('team', 'Exists'), is: 'RequirementsDrifted' },
    { pool: requiring('team', 'NotIn', ['blue']), is: undefined },
    { pool: requiring('team', 'DoesNotExist'), is: undefined },
  ])('under the requirements $pool.spec.template.spec.requirements is $is', async ({ pool, is }) => {
    expect(await setUp().check(claim(), pool)).toBe(is);
  });

  const reserved = { ...labels, [CAPACITY_TYPE_LABEL]: 'reserved', [CAPACITY_RESERVATION_ID_LABEL]: 'cr-1' };
  it.each([
    { of: 'whose type is sold', labels, is: undefined },
    {
      of: 'whose type is no longer sold',
      labels: { ...labels, [INSTANCE_TYPE_LABEL]: 'gone' },
      is: 'InstanceTypeNotFound',
    },
    { of: 'whose zone is no longer sold', labels: { ...labels, [ZONE_LABEL]: 'zone-z' }, is: 'InstanceTypeNotFound' },
    { of: 'with labels that offerings say nothing of', labels: { ...labels, team: 'blue' }, is: undefined },
    { of: 'whose reservation is over', labels: reserved, is: undefined },
  ])('of a claim $of is $is', async ({ labels: own, is }) => {
    expect(await setUp().check(claim({ labels: own }), poolOf())).toBe(is);
  });

  it('looks at the types of claims older than an hour, and not again for half an hour once all was well', async () => {
    const { clock, cloud, check } = setUp();
    const young = claim({ creationTimestamp: '2025-12-31T23:00:01Z' });
    cloud.types = [instanceType('other', 2, 1)];
    expect(await check(young, poolOf())).toBeUndefined();
    await clock.advance(2 * SECOND);
    expect(await check(young, poolOf())).toBe('InstanceTypeNotFound');
    expect(await check(young, poolOf())).toBe('InstanceTypeNotFound');

    cloud.types = [instanceType('m.large', 2, 1)];
    expect(await check(young, poolOf())).toBeUndefined();
    cloud.types = [];
    await clock.advance(30 * MINUTE - SECOND);
    expect(await check(young, poolOf())).toBeUndefined();
    await clock.advance(SECOND);
    expect(await check(young, poolOf())).toBe('InstanceTypeNotFound');
  });

  it('asks the provider last, and nobody before the launch', async () => {
    const { cloud, check } = setUp();
    cloud.drifted = 'AMIDrift';
    expect(await check(claim(), poolOf())).toBe('AMIDrift');
    expect(await check(claim(), requiring('team', 'Exists'))).toBe('RequirementsDrifted');
    const waiting = { ...claim({ annotations: hashes('1', 'v3') }), status: { conditions: [] } };
    expect(await check(waiting, poolOf({}, hashes('2', 'v3')))).toBeUndefined();
  });
});

describe('the conditions of disruption', () => {
  const drift = { reason: undefined as string | undefined, asked: 0 };
  const start = (): Bench => {
    Object.assign(drift, { reason: undefined, asked: 0 });
    return bench([], (deps) => {
      const isDrifted = async (): Promise<string | undefined> => {
        drift.asked += 1;
        return drift.reason;
      };
      return [disruptionConditions({ ...deps, cloud: Object.assign(deps.cloud, { isDrifted }) })];
    });
  };
  const young = (b: Bench, status: Partial<NonNullable<NodeClaim['status']>> = {}): NodeClaim => {
    const claim = settledClaim('claim', status);
    return { ...claim, metadata: { ...claim.metadata, creationTimestamp: b.time() } };
  };
  const CONSOLIDATABLE = 'Consolidatable';

  it.each([
    { after: '5m', initialized: -299, event: undefined, is: undefined },
    { after: '5m', initialized: -300, event: undefined, is: 'True/Consolidatable' },
    { after: '5m', initialized: -900, event: -299, is: undefined },
    { after: '5m', initialized: -1, event: -300, is: 'True/Consolidatable' },
    { after: '0s', initialized: 0, event: 0, is: 'True/Consolidatable' },
    { after: 'Never', initialized: -900, event: -900, is: undefined },
    { after: '0s', initialized: undefined, event: -900, is: undefined },
  ])('with consolidateAfter $after, $initialized s initialised, $event s quiet: $is', async (given) => {
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

  it('change at the very end of the window', async () => {
    const b = start();
    b.put(NODE_POOL, poolOf());
    b.put(NODE_CLAIM, young(b, { lastPodEventTime: b.time() }));
    await b.clock.advance(5 * MINUTE - 1);
    expect(b.condition('claim', CONSOLIDATABLE)).toBeUndefined();
    await b.clock.advance(1);
    expect(b.condition('claim', CONSOLIDATABLE)).toBe('True/Consolidatable');
  });

  it('follow the drift of the claim every five minutes, and that of its NodeClass at once', async () => {
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
    const nodeClass = { apiVersion: 'karpenter.k8s.aws/v1', kind: 'EC2NodeClass', metadata: { name: 'default' } };
    b.put(EC2_NODE_CLASS, nodeClass as never);
    await b.clock.advance(SECOND);
    expect(b.condition('claim', 'Drifted')).toBeUndefined();
    const said = b.lines.map(({ message }) => message);
    expect(said.filter((line) => line.includes('drifted'))).toEqual([
      'marking drifted',
      'removing drifted status condition, not drifted',
    ]);
  });

  it('follow their NodePool at once, and a static one without Consolidatable', async () => {
    const b = start();
    b.put(NODE_POOL, poolOf({ disruption: { consolidateAfter: 'Never', budgets: [] } }));
    b.put(NODE_CLAIM, young(b));
    await b.clock.advance(SECOND);
    b.put(NODE_POOL, poolOf({ disruption: { consolidateAfter: '0s', budgets: [] } }));
    await b.clock.advance(SECOND);
    expect(b.condition('claim', CONSOLIDATABLE)).toBe('True/Consolidatable');
    const fixed = start();
    fixed.put(NODE_POOL, poolOf({ replicas: 1, disruption: { consolidateAfter: '0s', budgets: [] } }));
    fixed.put(NODE_CLAIM, young(fixed));
    await fixed.clock.advance(SECOND);
    expect(fixed.condition('claim', CONSOLIDATABLE)).toBeUndefined();
    expect(drift.asked).toBe(1);
  });

  it.each<{ what: string; change: (claim: NodeClaim) => NodeClaim }>([
    {
      what: 'that is being deleted',
      change: (claim) => ({ ...claim, metadata: { ...claim.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }),
    },
    { what: 'without a NodePool', change: (claim) => ({ ...claim, metadata: { ...claim.metadata, labels: {} } }) },
    {
      what: 'of a NodePool that is gone',
      change: (claim) => ({ ...claim, metadata: { ...claim.metadata, labels: { [NODEPOOL_LABEL]: 'gone' } } }),
    },
    {
      what: 'of another provider',
      change: (claim) => ({ ...claim, spec: { ...claim.spec, nodeClassRef: { group: 'x', kind: 'X', name: 'x' } } }),
    },
  ])('say nothing of a claim $what', async ({ change }) => {
    const b = start();
    drift.reason = 'AMIDrift';
    b.put(NODE_CLAIM, change(young(b)));
    b.put(NODE_POOL, poolOf());
    await b.clock.advance(10 * MINUTE);
    expect(writesTo(b, 'NodeClaim')).toBe(0);
  });
});

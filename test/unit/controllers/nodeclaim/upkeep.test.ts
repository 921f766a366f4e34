/** Controllers that look after claims of running nodes, one at a time: consistency, pod events, devices. */
import { describe, expect, it } from '@jest/globals';
import { NODE, NODE_CLAIM, POD, RESOURCE_SLICE } from '../../../../src/api/kinds.ts';
import type { Pod, ResourceSlice } from '../../../../src/api/kubernetes.ts';
import { REQUESTED_DRA_DRIVERS_ANNOTATION } from '../../../../src/api/labels.ts';
import type { NodeClaim } from '../../../../src/api/nodeclaim.ts';
import { NodeClaimNotFound } from '../../../../src/cloud/errors.ts';
import { consistency } from '../../../../src/controllers/nodeclaim/consistency.ts';
import { deviceDrivers } from '../../../../src/controllers/nodeclaim/devices.ts';
import { expiration } from '../../../../src/controllers/nodeclaim/expiration.ts';
import { garbageCollection } from '../../../../src/controllers/nodeclaim/garbage-collection.ts';
import { podEvents } from '../../../../src/controllers/nodeclaim/pod-events.ts';
import { ApiError } from '../../../../src/kube/client.ts';
import { handFed } from '../../kube/fakes.ts';
import { bench, claimOf, daemonOf, nodeOf, podOf, settledClaim } from '../node/bench.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
type Bench = ReturnType<typeof bench>;

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
    expect(b.writesTo('NodeClaim')).toBe(0);
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
    const known = b.writesTo('NodeClaim');
    if (now) b.put(POD, now);
    else if (before) b.remove(POD, before);
    await b.clock.advance(SECOND);
    expect(b.writesTo('NodeClaim') - known).toBe(noted ? 1 : 0);
    if (noted) expect(last(b)).toBe(-1);
  });

  it('are noted ten seconds apart', async () => {
    const b = start();
    b.put(NODE, nodeOf('node'));
    b.put(NODE_CLAIM, settledClaim('claim', { lastPodEventTime: b.time(-9 * SECOND) }));
    b.put(POD, podOf('a'));
    await b.clock.advance(SECOND);
    expect(b.writesTo('NodeClaim')).toBe(0);
    b.put(POD, podOf('b'));
    b.put(POD, podOf('c'));
    await b.clock.advance(9 * SECOND);
    b.put(POD, podOf('d'));
    await b.clock.settle();
    expect(b.writesTo('NodeClaim')).toBe(1);
    await b.clock.advance(SECOND);
    b.put(POD, podOf('e'));
    await b.clock.settle();
    expect(b.writesTo('NodeClaim')).toBe(2);
  });

  it('are noted again when the time is put back, over the time that is yet to come', async () => {
    const b = start();
    b.put(NODE, nodeOf('node'));
    b.put(NODE_CLAIM, settledClaim('claim'));
    b.put(POD, podOf('a'));
    await b.clock.advance(SECOND);
    b.clock.put(-60 * MINUTE);
    b.put(POD, podOf('b'));
    await b.clock.advance(9 * SECOND);
    expect(b.writesTo('NodeClaim')).toBe(1);
    b.put(POD, podOf('c'));
    await b.clock.advance(SECOND);
    expect(b.writesTo('NodeClaim')).toBe(2);
    expect(last(b)).toBe(-1);
  });

  it('are not noted on claims that share a Node', async () => {
    const b = start();
    b.put(NODE, nodeOf('node'));
    for (const name of ['one', 'two']) b.put(NODE_CLAIM, settledClaim(name));
    b.put(POD, pod);
    await b.clock.advance(SECOND);
    expect(b.writesTo('NodeClaim')).toBe(0);
  });
});

describe('devices', () => {
  const slice = (
    name: string,
    pool: object,
    more: Partial<ResourceSlice['spec']> = {},
    owner?: string,
  ): ResourceSlice => ({
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceSlice',
    metadata: {
      name,
      ...(owner !== undefined && { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: owner, uid: 'n' }] }),
    },
    spec: {
      driver: 'gpu',
      nodeName: 'node',
      pool: { name: 'p', generation: 1, resourceSliceCount: 1, ...pool },
      devices: [],
      ...more,
    } as ResourceSlice['spec'],
  });
  const lack = (drivers: string, ...slices: readonly ResourceSlice[]): string | undefined => {
    const { informers, store } = handFed();
    for (const each of slices) store(RESOURCE_SLICE).put(each);
    const annotations = { [REQUESTED_DRA_DRIVERS_ANNOTATION]: drivers };
    return deviceDrivers(informers).lack(claimOf('claim', { annotations }), nodeOf('node'))?.message;
  };
  const missing = (driver: string): string => `DRA driver "${driver}" has not published a complete resource pool`;

  it.each([
    { when: 'nothing is asked for', drivers: ' , ', slices: [], is: undefined },
    { when: 'the pool is complete', drivers: 'gpu', slices: [slice('a', {})], is: undefined },
    {
      when: 'the pool says that it has no slices',
      drivers: 'gpu',
      slices: [slice('a', { resourceSliceCount: 0 })],
      is: missing('gpu'),
    },
    { when: 'a slice is missing', drivers: 'gpu', slices: [slice('a', { resourceSliceCount: 2 })], is: missing('gpu') },
    {
      when: 'only an older generation is complete',
      drivers: 'gpu',
      slices: [slice('a', {}), slice('b', { generation: 2, resourceSliceCount: 2 })],
      is: missing('gpu'),
    },
    {
      when: 'one of two pools is complete',
      drivers: 'gpu',
      slices: [slice('a', { resourceSliceCount: 2 }), slice('b', { name: 'q' })],
      is: undefined,
    },
    {
      when: 'the Node owns the slice',
      drivers: 'gpu',
      slices: [slice('a', {}, { nodeName: undefined as never }, 'node')],
      is: undefined,
    },
    {
      when: 'the slice is of another node',
      drivers: 'gpu',
      slices: [slice('a', {}, { nodeName: 'other' })],
      is: missing('gpu'),
    },
    { when: 'a second driver is missing', drivers: 'gpu, nic', slices: [slice('a', {})], is: missing('nic') },
  ])('lack $is when $when', ({ drivers, slices, is }) => {
    expect(lack(drivers, ...slices)).toBe(is);
  });
});

describe('expiration', () => {
  const start = (): Bench => bench([], (deps) => [expiration(deps)]);
  const aged = (expireAfter: string | undefined, more: Partial<NodeClaim['metadata']> = {}): NodeClaim => {
    const claim = settledClaim('claim');
    const { expireAfter: _, ...spec } = claim.spec;
    return {
      ...claim,
      metadata: { ...claim.metadata, creationTimestamp: '2026-01-01T00:00:00Z', ...more },
      spec: { ...spec, ...(expireAfter !== undefined && { expireAfter }) },
    };
  };

  it('deletes a claim at its very age, whatever protects its pods, and counts those that move', async () => {
    const b = start();
    b.put(NODE, { ...nodeOf('node'), metadata: { ...nodeOf('node').metadata, labels: {} } });
    b.put(POD, podOf('web', {}, { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } }));
    b.put(POD, daemonOf('daemon'));
    b.put(NODE_CLAIM, aged('720h'));
    await b.clock.advance(720 * 60 * MINUTE - 1);
    expect(b.calls).toEqual([]);
    await b.clock.advance(1);
    expect(b.calls).toEqual(['delete NodeClaim claim']);
    const labels =
      'reason="expired",nodepool="default",capacity_type="",consolidation_policy="",termination_mode="graceful"';
    const text = await b.metrics.text();
    expect(text).toContain(`karpenter_nodeclaims_disrupted_total{${labels}} 1`);
    expect(text).toContain(`karpenter_pods_disruption_initiated_total{${labels}} 1`);
  });

  it('reports an expireAfter that cannot be read once, and neither expires the claim nor tries again', async () => {
    const b = start();
    b.put(NODE_CLAIM, aged('99999999h'));
    await b.clock.advance(60 * MINUTE);
    b.put(NODE_CLAIM, aged('99999999h', { annotations: { a: 'b' } }));
    await b.clock.advance(10_000 * 60 * MINUTE);
    expect(b.calls).toEqual([]);
    expect(b.events.map(({ reason, message }) => [reason, message])).toEqual([
      [
        'UnreadableField',
        'Cannot use spec.expireAfter of the NodeClaim, so the claim does not expire: Cannot read duration "99999999h": ' +
          'longer than 292 years; correct it in the NodePool, or delete the NodeClaim',
      ],
    ]);
    expect(b.lines.filter(({ level }) => level === 'error').map(({ message }) => message)).toEqual([
      'unreadable field of nodeclaim',
    ]);
  });

  it.each([
    { what: 'that never expires', claim: aged('Never') },
    { what: 'without an age', claim: aged(undefined) },
    { what: 'that is being deleted', claim: aged('1s', { deletionTimestamp: '2026-01-01T00:00:00Z' }) },
    {
      what: 'of another provider',
      claim: { ...aged('1s'), spec: { ...aged('1s').spec, nodeClassRef: { group: 'x', kind: 'X', name: 'x' } } },
    },
  ])('leaves a claim $what alone', async ({ claim }) => {
    const b = start();
    b.put(NODE_CLAIM, claim);
    await b.clock.advance(10_000 * 60 * MINUTE);
    expect(b.calls).toEqual([]);
  });
});

describe('garbage collection', () => {
  const isGone = () => Promise.reject(new NodeClaimNotFound('it does not exist'));
  const start = (list: (b: Bench) => Promise<readonly NodeClaim[]>): Bench => {
    const b: Bench = bench([], (deps) => [
      garbageCollection({ ...deps, cloud: Object.assign(deps.cloud, { list: () => list(b), get: isGone }) }),
    ]);
    return b;
  };
  const numbered = (number: number, more: Partial<NodeClaim['metadata']> = {}): NodeClaim => {
    const claim = settledClaim(`claim-${number}`, { providerID: `aws:///zone-a/i-${number}` });
    return { ...claim, metadata: { ...claim.metadata, ...more } };
  };
  const node = (name: string, ready: 'True' | 'False') => ({
    ...nodeOf(name, {}, ready),
    spec: { providerID: 'aws:///zone-a/i-1' },
  });
  const unregistered = { ...numbered(1), status: { providerID: 'aws:///zone-a/i-1', conditions: [] } };
  const foreign = { ...numbered(1), spec: { ...numbered(1).spec, nodeClassRef: { group: 'x', kind: 'X', name: 'x' } } };

  it.each([
    { of: 'a claim without a Node', claim: numbered(1), nodes: [], collected: true },
    { of: 'a claim whose Node is not Ready', claim: numbered(1), nodes: [node('a', 'False')], collected: true },
    { of: 'a claim whose Node is Ready', claim: numbered(1), nodes: [node('a', 'True')], collected: false },
    {
      of: 'a claim with two Nodes',
      claim: numbered(1),
      nodes: [node('a', 'True'), node('b', 'True')],
      collected: true,
    },
    { of: 'a claim that is not registered', claim: unregistered, nodes: [], collected: false },
    {
      of: 'a claim that is being deleted',
      claim: numbered(1, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      nodes: [],
      collected: false,
    },
    { of: 'a claim of another provider', claim: foreign, nodes: [], collected: false },
  ])('of $of: $collected', async ({ claim, nodes, collected }) => {
    const b = start(async () => []);
    b.put(NODE_CLAIM, claim);
    for (const each of nodes) b.put(NODE, each);
    await b.clock.advance(SECOND);
    expect(b.calls).toEqual(collected ? ['delete NodeClaim claim-1'] : []);
  });

  it('does not take the word of a list for it', async () => {
    const claim = numbered(1);
    const ask = async (get: () => Promise<NodeClaim>): Promise<readonly string[]> => {
      const b: Bench = bench([], (deps) => [
        garbageCollection({ ...deps, cloud: Object.assign(deps.cloud, { list: async () => [], get }) }),
      ]);
      b.put(NODE_CLAIM, claim);
      b.put(NODE, node('a', 'False'));
      await b.clock.advance(SECOND);
      return b.calls;
    };
    expect(await ask(async () => claim)).toEqual([]);
    expect(await ask(() => Promise.reject(new Error('throttled')))).toEqual([]);
    const ending = { ...claim, metadata: { ...claim.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    expect(await ask(async () => ending)).toEqual(['delete NodeClaim claim-1']);
  });

  it('spares a claim that came while the cloud was listing, and is at work every two minutes', async () => {
    let lists = 0;
    const b = start(async (world) => {
      lists += 1;
      if (lists === 1) world.put(NODE_CLAIM, numbered(1));
      return [];
    });
    await b.clock.advance(2 * MINUTE - SECOND);
    expect([lists, b.calls]).toEqual([1, []]);
    await b.clock.advance(2 * SECOND);
    expect([lists, b.calls]).toEqual([2, ['delete NodeClaim claim-1']]);
  });

  it('deletes all others when one deletion fails, and that one later', async () => {
    const b = start(async () => []);
    let refused = 0;
    b.world.failure = () => (refused++ < 1 ? new ApiError(500, 'InternalError', 'a bad day') : undefined);
    for (let number = 0; number < 45; number += 1) b.put(NODE_CLAIM, numbered(number));
    await b.clock.settle();
    expect(b.calls).toHaveLength(44);
    await b.clock.advance(2 * SECOND);
    expect(new Set(b.calls).size).toBe(45);
  });
});

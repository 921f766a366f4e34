/** Nodes whose end does not go smoothly: what is lost, doubled, stuck, refused or unreadable. */
import { describe, expect, it } from '@jest/globals';
import { NODE, NODE_CLAIM, POD, VOLUME_ATTACHMENT } from '../../../../src/api/kinds.ts';
import type { Pod } from '../../../../src/api/kubernetes.ts';
import { TERMINATION_TIMESTAMP_ANNOTATION } from '../../../../src/api/labels.ts';
import { canEndSooner } from '../../../../src/controllers/node/force-delete.ts';
import { Evictions } from '../../../../src/controllers/node/pending-evictions.ts';
import { ApiError } from '../../../../src/kube/client.ts';
import { virtualClock } from '../../virtualclock.ts';
import { type Bench, bench, claimOf, count, daemonOf, errors, failing, nodeOf, podOf } from './bench.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const conflict = new ApiError(409, 'Conflict', 'the object has been modified');
const broken = new ApiError(500, 'InternalError', 'the API server has a bad day');

function leaving(b: Bench, deadline?: string, ready: 'True' | 'False' = 'True'): void {
  const annotations = deadline === undefined ? {} : { [TERMINATION_TIMESTAMP_ANNOTATION]: deadline };
  b.put(NODE_CLAIM, claimOf('claim', { deletionTimestamp: b.time(), annotations }));
  b.put(NODE, nodeOf('node', { deletionTimestamp: b.time() }, ready));
}

describe('a node that ends', () => {
  it('is drained even if its instance is gone, as long as it is Ready', async () => {
    const b = bench();
    b.world.instance.exists = false;
    b.put(POD, podOf('web'));
    leaving(b);
    await b.clock.advance(2 * SECOND);
    expect(b.calls).toEqual(['evicted web']);
    b.gone('web');
    await b.clock.advance(6 * SECOND);
    expect(b.node('node')).toBeUndefined();
  });

  it('is left as it is while the cloud does not say whether its instance is gone', async () => {
    const b = bench();
    failing(b, 'get', new Error('RequestLimitExceeded'), 3);
    leaving(b, undefined, 'False');
    await b.clock.advance(50);
    expect(b.node('node')?.spec?.taints).toBeUndefined();
    expect(errors(b)).toEqual(['Error: RequestLimitExceeded']);
    await b.clock.advance(10 * SECOND);
    expect(b.node('node')).toBeUndefined();
  });

  it('is counted and told of on every path', async () => {
    const b = bench();
    b.world.instance.exists = false;
    leaving(b, undefined, 'False');
    await b.clock.advance(SECOND);
    expect(b.lines.map(({ message }) => message)).toContain('deleted node');
    const text = await b.metrics.text();
    expect(text).toContain('karpenter_nodes_terminated_total{nodepool="default",zone=""} 1');
    expect(text).not.toContain('nodes_drained_total{');
  });

  it.each([
    { when: 'there is none', claims: [] },
    { when: 'there are two', claims: ['one', 'two'] },
  ])('asks no claim and no cloud when $when with its provider ID, nor waits for late pods', async ({ claims }) => {
    const b = bench();
    for (const name of claims) b.put(NODE_CLAIM, claimOf(name));
    b.put(NODE, nodeOf('node', { deletionTimestamp: b.time() }));
    await b.clock.advance(SECOND);
    expect(b.node('node')).toBeUndefined();
    expect(b.calls).toEqual([]);
    expect(claims.map((name) => b.condition(name, 'Drained'))).toEqual(claims.map(() => undefined));
  });

  it('keeps what it found out when the cloud refuses to terminate, and asks again', async () => {
    const b = bench();
    failing(b, 'terminate', new Error('the zone is shifted away'), Number.POSITIVE_INFINITY);
    leaving(b);
    await b.clock.advance(6 * SECOND);
    expect(b.condition('claim', 'Drained')).toBe('True/Drained');
    expect(b.condition('claim', 'VolumesDetached')).toBe('True/VolumesDetached');
    expect(b.condition('claim', 'InstanceTerminating')).toBeUndefined();
    b.world.failure = () => undefined;
    await b.clock.advance(10 * SECOND);
    expect(b.node('node')).toBeUndefined();
    expect(errors(b)).toContain('Error: the zone is shifted away');
    expect(await b.metrics.text()).toContain('karpenter_nodes_drained_total{nodepool="default"} 1');
  });

  it.each(['patch Node', 'patch NodeClaim'])('goes on without a word when "%s" conflicts', async (operation) => {
    const b = bench();
    failing(b, operation, conflict, 2);
    leaving(b);
    await b.clock.advance(12 * SECOND);
    expect(b.node('node')).toBeUndefined();
    expect(errors(b)).toEqual([]);
    expect(b.lines.filter(({ message }) => message === 'tainted node')).toHaveLength(1);
    expect(await b.metrics.text()).toContain('karpenter_nodes_drained_total{nodepool="default"} 1');
  });

  it('is not told of twice when it is gone by the time that it is let go', async () => {
    const b = bench();
    b.world.failure = (operation) =>
      operation === 'patch Node' && b.calls.includes('terminate claim')
        ? new ApiError(404, 'NotFound', 'gone')
        : undefined;
    leaving(b);
    await b.clock.advance(10 * SECOND);
    expect(b.calls).toEqual(['terminate claim']);
    expect(b.lines.map(({ message }) => message)).not.toContain('deleted node');
    expect(await b.metrics.text()).not.toContain('nodes_terminated_total{');
  });

  it('is drained no further once it is no longer ours to finish', async () => {
    const b = bench();
    b.put(POD, podOf('web'));
    leaving(b);
    await b.clock.advance(SECOND);
    const node = b.node('node') ?? nodeOf('node');
    b.put(NODE, { ...node, metadata: { ...node.metadata, finalizers: ['example.com/other'] } });
    b.gone('web');
    b.put(POD, daemonOf('daemon'));
    await b.clock.advance(20 * SECOND);
    expect(b.calls).toEqual(['evicted web']);
  });

  it('keeps the taints and finalizers that somebody else gives it at the same time', async () => {
    const b = bench();
    const theirs = { key: 'example.com/theirs', effect: 'NoSchedule' as const };
    b.world.failure = (operation) => {
      if (operation !== 'patch Node') return undefined;
      b.world.failure = () => undefined;
      const node = nodeOf('node', { deletionTimestamp: b.time() });
      b.put(NODE, { ...node, spec: { ...node.spec, taints: [theirs] } });
      return undefined;
    };
    leaving(b);
    await b.clock.advance(4 * SECOND);
    expect(b.node('node')?.spec?.taints).toEqual([theirs, { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }]);
    b.world.failure = (operation) => {
      if (operation !== 'patch Node') return undefined;
      b.world.failure = () => undefined;
      const node = b.node('node') ?? nodeOf('node');
      const finalizers = [...(node.metadata.finalizers ?? []), 'example.com/theirs'];
      b.put(NODE, { ...node, metadata: { ...node.metadata, finalizers } });
      return undefined;
    };
    await b.clock.advance(6 * SECOND);
    expect(b.node('node')?.metadata.finalizers).toEqual(['example.com/theirs']);
    expect(errors(b)).toEqual([]);
  });

  it('does not wait for pods that never terminate longer than a minute', async () => {
    const b = bench();
    b.put(POD, podOf('zombie', {}, { deletionTimestamp: b.time(30 * SECOND) }));
    b.put(POD, daemonOf('daemon'));
    leaving(b);
    await b.clock.advance(89 * SECOND);
    expect(b.calls).toEqual([]);
    await b.clock.advance(3 * SECOND);
    expect(b.calls).toEqual(['evicted daemon']);
  });

  it.each([
    'soon',
    '5',
    '2026-01-31',
    '1769856000',
  ])('does not guess what the deadline "%s" means', async (deadline) => {
    const b = bench();
    b.put(POD, podOf('web'));
    leaving(b, deadline);
    await b.clock.advance(SECOND);
    expect(errors(b)[0]).toContain(
      `Cannot drain the node of NodeClaim "claim": its annotation ${TERMINATION_TIMESTAMP_ANNOTATION} is "${deadline}"`,
    );
    expect(b.calls).toEqual([]);
  });
});

describe('volumes', () => {
  it('are waited for no longer than they are attached', async () => {
    const b = bench();
    const attachment = b.put(VOLUME_ATTACHMENT, {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'VolumeAttachment',
      metadata: { name: 'attachment' },
      spec: { nodeName: 'node', source: { persistentVolumeName: 'pv' } },
    });
    leaving(b);
    await b.clock.advance(60 * SECOND);
    expect(b.condition('claim', 'VolumesDetached')).toBe('Unknown/AwaitingVolumeDetachment');
    expect(b.events.find(({ reason }) => reason === 'AwaitingVolumeDetachment')).toMatchObject({
      type: 'Normal',
      object: { kind: 'Node' },
      dedupe: ['node'],
    });
    b.remove(VOLUME_ATTACHMENT, attachment);
    await b.clock.advance(SECOND);
    expect(b.condition('claim', 'VolumesDetached')).toBe('True/VolumesDetached');
    expect(b.node('node')).toBeUndefined();
  });
});

describe('eviction', () => {
  it('is given up for a pod that somebody else deletes', async () => {
    const b = bench();
    b.world.refuse = () => new ApiError(429, 'TooManyRequests', 'a disruption budget');
    b.put(POD, podOf('web'));
    leaving(b);
    await b.clock.advance(2 * SECOND);
    b.put(POD, podOf('web', {}, { deletionTimestamp: b.time(10 * MINUTE) }));
    await b.clock.advance(11 * SECOND);
    const requeues = async (): Promise<string | undefined> =>
      /reconcile_total\{controller="eviction-queue",result="requeue"\} (\d+)/.exec(await b.metrics.text())?.[1];
    const before = await requeues();
    await b.clock.advance(MINUTE);
    expect(await requeues()).toBe(before);
  });

  it('is asked for anew for a pod of the same name', async () => {
    const b = bench();
    b.world.refuse = () => new ApiError(429, 'TooManyRequests', 'a disruption budget');
    b.put(POD, podOf('db-0'));
    leaving(b);
    await b.clock.advance(2 * SECOND);
    b.gone('db-0');
    b.put(POD, podOf('db-0', {}, { uid: 'successor' }));
    b.world.refuse = () => undefined;
    await b.clock.advance(11 * SECOND);
    expect(count(b, 'evicted db-0')).toBe(1);
    expect(errors(b)).toEqual([]);
  });

  it('is tried again after an answer that says nothing, and counted by its code', async () => {
    const b = bench();
    let left = 3;
    b.world.refuse = () => (left-- > 0 ? broken : undefined);
    b.put(POD, podOf('web'));
    leaving(b);
    await b.clock.advance(5 * SECOND);
    expect(count(b, 'evicted web')).toBe(1);
    expect(errors(b)).toEqual(Array(3).fill('ApiError: the API server has a bad day'));
    const text = await b.metrics.text();
    expect(text).toContain('karpenter_pods_eviction_requests_total{code="500"} 3');
    expect(text).toContain('karpenter_pods_eviction_requests_total{code="200"} 1');
    expect(text).toContain('karpenter_pods_drained_total{reason="Forceful Termination"} 1');
  });

  it('waits for a pod that must not be disrupted until its time has come', async () => {
    const b = bench();
    const annotations = { 'karpenter.sh/do-not-disrupt': '30s' };
    b.put(POD, { ...podOf('batch', {}, { annotations }), status: { phase: 'Running', startTime: b.time() } });
    leaving(b);
    await b.clock.advance(29 * SECOND);
    expect(b.calls).toEqual([]);
    await b.clock.advance(11 * SECOND);
    expect(b.calls).toEqual(['evicted batch']);
  });

  it('says why: the reason of a voluntary disruption, or nothing when the claim is not known', async () => {
    const reasonOf = async (more: (b: Bench) => unknown): Promise<string> => {
      const b = bench();
      b.put(POD, podOf('web'));
      more(b);
      b.put(NODE, nodeOf('node', { deletionTimestamp: b.time() }));
      await b.clock.advance(SECOND);
      return /pods_drained_total\{reason="([^"]*)"\} 1/.exec(await b.metrics.text())?.[1] ?? 'not drained';
    };
    const withReason = (status: 'True' | 'False') => (b: Bench) => {
      const claim = claimOf('claim', { deletionTimestamp: b.time() });
      const conditions = [{ type: 'DisruptionReason', status, reason: 'Underutilized' }];
      b.put(NODE_CLAIM, { ...claim, status: { ...claim.status, conditions } });
    };
    expect(await reasonOf(withReason('True'))).toBe('Underutilized');
    expect(await reasonOf(withReason('False'))).toBe('Forceful Termination');
    expect(await reasonOf(() => undefined)).toBe('');
    expect(await reasonOf((b) => ['one', 'two'].map((name) => b.put(NODE_CLAIM, claimOf(name))))).toBe('');
  });
});

describe('a pod beyond the deadline', () => {
  it('that does not end is deleted once, and counted once', async () => {
    const b = bench();
    b.put(POD, podOf('stubborn'));
    leaving(b, b.time(-MINUTE));
    await b.clock.advance(50 * SECOND);
    expect(count(b, 'delete Pod stubborn 1s')).toBe(1);
    expect(await b.metrics.text()).toContain('karpenter_pods_drained_total{reason="Forceful Termination"} 1');
    await b.clock.advance(30 * SECOND);
    expect(b.node('node')).toBeUndefined();
  });

  it('that ends too late is given less time', async () => {
    const b = bench();
    b.put(POD, podOf('slow', { terminationGracePeriodSeconds: 600 }, { deletionTimestamp: b.time(10 * MINUTE) }));
    leaving(b, b.time(60 * SECOND));
    await b.clock.advance(3 * SECOND);
    expect(b.calls).toEqual(['delete Pod slow 60s']);
  });

  it('is hurried although it was evicted before there was a deadline', async () => {
    const b = bench();
    b.put(POD, podOf('slow', { terminationGracePeriodSeconds: 600 }));
    leaving(b);
    await b.clock.advance(10 * SECOND);
    const annotations = { [TERMINATION_TIMESTAMP_ANNOTATION]: b.time() };
    b.put(NODE_CLAIM, claimOf('claim', { deletionTimestamp: b.time(), annotations }));
    await b.clock.advance(10 * SECOND);
    expect(b.calls).toEqual(['evicted slow', 'delete Pod slow 1s']);
  });

  it.each([
    { code: 404, reason: 'NotFound' },
    { code: 409, reason: 'Conflict' },
  ])('is taken for gone when its deletion answers $code', async ({ code, reason }) => {
    const b = bench();
    failing(b, 'delete Pod', new ApiError(code, reason, 'whatever'));
    b.put(POD, podOf('web'));
    leaving(b, b.time());
    await b.clock.advance(500);
    expect(errors(b)).toEqual([]);
    expect(await b.metrics.text()).not.toContain('pods_drained_total{');
  });

  it('is deleted again when the first deletion failed', async () => {
    const b = bench();
    failing(b, 'delete Pod', broken, 2);
    b.put(POD, podOf('web'));
    leaving(b, b.time());
    await b.clock.advance(3 * SECOND);
    expect(count(b, 'delete Pod web 1s')).toBe(1);
    expect(await b.metrics.text()).toContain('karpenter_pods_drained_total{reason="Forceful Termination"} 1');
  });

  const NOW = Date.UTC(2026, 0, 1);
  it.each([
    { when: 'it is not ending', endsIn: undefined, deadlineIn: -60, is: true },
    { when: 'it ends after what it would be granted', endsIn: 11, deadlineIn: 10, is: true },
    { when: 'it ends by then', endsIn: 10, deadlineIn: 10, is: false },
    { when: 'the deadline is over and it has a second left', endsIn: 1, deadlineIn: -60, is: false },
    { when: 'the deadline is over and it has longer', endsIn: 2, deadlineIn: -60, is: true },
  ])('can end sooner ($is) when $when', ({ endsIn, deadlineIn, is }) => {
    const ending = endsIn === undefined ? {} : { deletionTimestamp: new Date(NOW + endsIn * SECOND).toISOString() };
    expect(canEndSooner(podOf('a', {}, ending), NOW + deadlineIn * SECOND, NOW)).toBe(is);
  });
});

describe('Evictions', () => {
  const key = 'default/web/uid-web';
  it('keeps the earlier deadline, and hands a pod on once', () => {
    const evictions = new Evictions(virtualClock());
    const told: string[] = [];
    evictions.bind((each) => told.push(each));
    const deadlines: (number | undefined)[] = [];
    for (const deadlineMs of [Number.POSITIVE_INFINITY, 500, 700, Number.POSITIVE_INFINITY]) {
      evictions.add([podOf('web')], deadlineMs);
      deadlines.push(evictions.get(key)?.deadlineMs);
    }
    expect(deadlines).toEqual([Number.POSITIVE_INFINITY, 500, 500, 500]);
    expect(told).toEqual([key]);
    evictions.drop(key);
    evictions.add([podOf('web')], 900);
    expect(evictions.get(key)?.deadlineMs).toBe(900);
    expect(told).toEqual([key, key]);
  });

  it('does not hand on a pod again before the cache shows the end that was granted, or half a minute has passed', async () => {
    const clock = virtualClock();
    const evictions = new Evictions(clock);
    const told: string[] = [];
    evictions.bind((each) => told.push(each));
    const timesToldOf = (pod: Pod): number => {
      told.length = 0;
      evictions.add([pod], 500);
      evictions.drop(key);
      return told.length;
    };
    const endingAt = (deletionTimestamp: string): Pod => podOf('web', {}, { deletionTimestamp });
    evictions.granted(podOf('web'));
    expect(timesToldOf(podOf('web'))).toBe(0);
    expect(timesToldOf(podOf('other'))).toBe(1);
    expect(timesToldOf(podOf('web', {}, { uid: 'successor' }))).toBe(1);
    expect(timesToldOf(endingAt('2026-01-01T00:10:00Z'))).toBe(1);
    // that it ends sooner is granted
    evictions.granted(endingAt('2026-01-01T00:10:00Z'));
    expect(timesToldOf(endingAt('2026-01-01T00:10:00Z'))).toBe(0);
    expect(timesToldOf(endingAt('2026-01-01T00:05:00Z'))).toBe(1);
    await clock.advance(29 * SECOND);
    expect(timesToldOf(endingAt('2026-01-01T00:10:00Z'))).toBe(0);
    await clock.advance(SECOND);
    expect(timesToldOf(endingAt('2026-01-01T00:10:00Z'))).toBe(1);
  });
});

describe('events of a node that ends', () => {
  const keys = (b: Bench): Readonly<Record<string, unknown>> =>
    Object.fromEntries(
      b.events.map(({ reason, object, type, dedupe }) => [`${type} ${reason} ${object.kind}`, dedupe]),
    );

  it('are told apart by these keys', async () => {
    const b = bench();
    const busy = (name: string): Pod => podOf(name, { terminationGracePeriodSeconds: 1 });
    b.world.refuse = ({ metadata }) =>
      metadata.name === 'held' ? new ApiError(429, 'TooManyRequests', 'a disruption budget') : undefined;
    for (const name of ['held', 'free']) b.put(POD, busy(name));
    leaving(b, b.time(3 * SECOND));
    await b.clock.advance(4 * SECOND);
    expect(keys(b)).toEqual({
      'Warning TerminationGracePeriodExpiring Node': ['node'],
      'Warning FailedDraining Node': expect.arrayContaining(['node']),
      'Normal Evicted Pod': ['free'],
      'Normal Disrupted Pod': ['held'],
    });
    expect(b.events.find(({ reason }) => reason === 'TerminationGracePeriodExpiring')?.message).toBe(
      'All pods will be deleted by 2026-01-01T00:00:03.000Z',
    );
    expect(b.events.find(({ reason }) => reason === 'FailedDraining')?.message).toBe(
      'Failed to drain node, 2 pods are waiting to be evicted',
    );
    expect(b.events.find(({ reason }) => reason === 'Disrupted')?.message).toBe(
      'Deleting the pod to accommodate the terminationTime 2026-01-01T00:00:03Z of the node. The pod was granted 1 ' +
        'seconds of grace-period of its 1 terminationGracePeriodSeconds. This bypasses the PDB of the pod and the ' +
        'do-not-disrupt annotation.',
    );
    expect(b.lines.find(({ message }) => message === 'deleting pod')?.fields).toMatchObject({
      namespace: 'default',
      name: 'held',
      'pod.terminationGracePeriodSeconds': 1,
      'delete.gracePeriodSeconds': 1,
      'nodeclaim.terminationTime': '2026-01-01T00:00:03Z',
    });
  });
});

/** Node terminations with lost, duplicate, stuck, refused or invalid objects and responses. */
import { describe, expect, it } from '@jest/globals';
import { NODE, NODE_CLAIM, POD, type Pod, TERMINATION_TIMESTAMP_ANNOTATION, VOLUME_ATTACHMENT } from '#api/objects';
import { ApiError } from '#kube/client';
import { type Bench, bench, claimOf, daemonOf, errors, failing, leaving, nodeOf, podOf } from './bench.ts';

const SECOND = 1_000;
const conflict = new ApiError(409, 'Conflict', 'the object has been modified');

describe('a terminating node', () => {
  it('is drained even if its instance does not exist, while it is Ready', async () => {
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

  it('is not changed while the cloud provider returns an error for its instance', async () => {
    const b = bench();
    failing(b, 'get', new Error('RequestLimitExceeded'), 3);
    leaving(b, undefined, 'False');
    await b.clock.advance(50);
    expect(b.node('node')?.spec?.taints).toBeUndefined();
    expect(errors(b)).toEqual(['Error: RequestLimitExceeded']);
    await b.clock.advance(10 * SECOND);
    expect(b.node('node')).toBeUndefined();
  });

  it('is counted and logged if its instance is lost', async () => {
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
    { when: 'there is no NodeClaim', claims: [] },
    { when: 'there are two NodeClaims', claims: ['one', 'two'] },
  ])('is removed without calls and waits if $when with its provider ID', async ({ claims }) => {
    const b = bench();
    for (const name of claims) b.put(NODE_CLAIM, claimOf(name));
    b.put(NODE, nodeOf('node', { deletionTimestamp: b.time() }));
    await b.clock.advance(SECOND);
    expect(b.node('node')).toBeUndefined();
    expect(b.calls).toEqual([]);
    expect(claims.map((name) => b.condition(name, 'Drained'))).toEqual(claims.map(() => undefined));
  });

  it('keeps its state if the cloud provider does not terminate the instance, and retries', async () => {
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

  it.each(['patch Node', 'patch NodeClaim'])('continues without an error if "%s" conflicts', async (operation) => {
    const b = bench();
    failing(b, operation, conflict, 2);
    leaving(b);
    await b.clock.advance(12 * SECOND);
    expect(b.node('node')).toBeUndefined();
    expect(errors(b)).toEqual([]);
    expect(b.lines.filter(({ message }) => message === 'tainted node')).toHaveLength(1);
    expect(await b.metrics.text()).toContain('karpenter_nodes_drained_total{nodepool="default"} 1');
  });

  it('is not logged if it does not exist anymore when the finalizer is removed', async () => {
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

  it('is no longer drained after the finalizer was removed', async () => {
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

  it('keeps taints and finalizers that another client adds concurrently', async () => {
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

  it('waits at most a minute for pods that never terminate', async () => {
    const b = bench();
    b.put(POD, podOf('zombie', {}, { deletionTimestamp: b.time(30 * SECOND) }));
    b.put(POD, daemonOf('daemon'));
    leaving(b);
    await b.clock.advance(89 * SECOND);
    expect(b.calls).toEqual([]);
    await b.clock.advance(3 * SECOND);
    expect(b.calls).toEqual(['evicted daemon']);
  });

  it.each(['soon', '5', '2026-01-31', '1769856000'])('does not accept the deadline "%s"', async (deadline) => {
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

describe('a volume', () => {
  it('is awaited only while it is attached', async () => {
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

describe('an event of a terminating node', () => {
  const keys = (b: Bench): Readonly<Record<string, unknown>> =>
    Object.fromEntries(
      b.events.map(({ reason, object, type, dedupe }) => [`${type} ${reason} ${object.kind}`, dedupe]),
    );

  it('has one of these deduplication keys', async () => {
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

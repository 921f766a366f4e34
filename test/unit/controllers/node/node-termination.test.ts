import { describe, expect, it } from '@jest/globals';
import {
  EC2_NODECLASS_LABEL,
  NODE,
  NODE_CLAIM,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  TERMINATION_TIMESTAMP_ANNOTATION,
  VOLUME_ATTACHMENT,
} from '#api/objects';
import { ApiError } from '#kube/client';
import { bench, claimOf, daemonOf, errors, nodeOf, PROVIDER_ID, podOf } from './bench.ts';

const SECOND = 1_000;
const budget = new ApiError(
  429,
  'TooManyRequests',
  "Cannot evict pod as it would violate the pod's disruption budget.",
);

function leaving(b: ReturnType<typeof bench>, deadlineInMs?: number): void {
  const annotations = deadlineInMs === undefined ? {} : { [TERMINATION_TIMESTAMP_ANNOTATION]: b.time(deadlineInMs) };
  b.put(NODE_CLAIM, claimOf('claim', { deletionTimestamp: b.time(), annotations }));
  b.put(NODE, nodeOf('node', { deletionTimestamp: b.time() }));
}

describe('node.termination', () => {
  it('taints and drains the node tier by tier, terminates the instance, and removes the finalizer', async () => {
    const b = bench();
    b.world.instance.stubborn = 1;
    for (const pod of [
      podOf('web'),
      daemonOf('daemon'),
      podOf('dns', { priorityClassName: 'system-cluster-critical' }),
    ]) {
      b.put(POD, pod);
    }
    leaving(b);
    await b.clock.advance(2 * SECOND);
    expect(b.node('node')?.spec?.taints).toEqual([{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }]);
    expect(b.condition('claim', 'Drained')).toBe('Unknown/Draining');
    expect(b.calls).toEqual(['evicted web']);
    b.gone('web');
    await b.clock.advance(2 * SECOND);
    b.gone('daemon');
    await b.clock.advance(2 * SECOND);
    b.gone('dns');
    expect(b.calls).toEqual(['evicted web', 'evicted daemon', 'evicted dns']);
    await b.clock.advance(2 * SECOND);
    expect(b.calls.at(-1)).toBe('terminate claim');
    expect(b.condition('claim', 'Drained')).toBe('True/Drained');
    expect(b.condition('claim', 'VolumesDetached')).toBe('True/VolumesDetached');
    expect(b.condition('claim', 'InstanceTerminating')).toBe('True/InstanceTerminating');
    expect(b.node('node')).toBeDefined();
    await b.clock.advance(5 * SECOND);
    expect(b.node('node')).toBeUndefined();
    expect(b.lines.filter(({ level }) => level === 'info').map(({ message }) => message)).toEqual([
      'tainted node',
      'deleted node',
    ]);
    const text = await b.metrics.text();
    expect(text).toContain('karpenter_nodes_drained_total{nodepool="default"} 1');
    expect(text).toContain('karpenter_pods_drained_total{reason="Forceful Termination"} 3');
    expect(text).toContain('karpenter_pods_eviction_requests_total{code="200"} 3');
    expect(b.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('counts interrupted nodes that were drained, and nodes whose instance ended first', async () => {
    const [drained, lost, other] = [bench(), bench(), bench()];
    for (const b of [drained, lost]) b.cluster.interruptions.set('claim', 'spot_interrupted');
    for (const b of [drained, lost, other]) {
      b.put(POD, podOf('web'));
      leaving(b);
      await b.clock.advance(6 * SECOND);
      expect(b.calls).toEqual(['evicted web']);
    }
    lost.world.instance.exists = false;
    lost.put(NODE, nodeOf('node', { deletionTimestamp: lost.time() }, 'False'));
    for (const b of [drained, other]) b.gone('web');
    for (const b of [drained, lost, other]) {
      await b.clock.advance(10 * SECOND);
      expect(b.node('node')).toBeUndefined();
    }
    const counted = async (b: ReturnType<typeof bench>): Promise<readonly string[]> =>
      (await b.metrics.text()).split('\n').filter((line) => line.startsWith('karpenter_interruption_drains_total{'));
    expect(await counted(drained)).toEqual([
      'karpenter_interruption_drains_total{reason="spot_interrupted",outcome="drained"} 1',
    ]);
    expect(await counted(lost)).toEqual([
      'karpenter_interruption_drains_total{reason="spot_interrupted",outcome="lost"} 1',
    ]);
    expect(await counted(other)).toEqual([]);
  });

  it('waits five seconds for pods that were scheduled just before the taint', async () => {
    const b = bench();
    leaving(b);
    await b.clock.advance(4 * SECOND);
    expect(b.calls).toEqual([]);
    b.put(POD, podOf('late'));
    await b.clock.advance(2 * SECOND);
    expect(b.calls).toEqual(['evicted late']);
    b.gone('late');
    await b.clock.advance(2 * SECOND);
    expect(b.node('node')).toBeUndefined();
  });

  it('does not extend the wait if the clock is set back', async () => {
    const b = bench();
    leaving(b);
    await b.clock.advance(2 * SECOND);
    b.clock.put(-3_600 * SECOND);
    await b.clock.advance(6 * SECOND);
    expect(b.node('node')).toBeUndefined();
  });

  it('deletes the claim of a node that a user deleted', async () => {
    const b = bench();
    b.put(NODE_CLAIM, claimOf('claim'));
    b.put(NODE, nodeOf('node', { deletionTimestamp: b.time() }));
    await b.clock.advance(SECOND);
    expect(b.calls).toContain('delete NodeClaim claim');
  });

  it('removes the finalizer of a node without a claim after the drain', async () => {
    const b = bench();
    b.put(POD, podOf('web'));
    b.put(NODE, nodeOf('node', { deletionTimestamp: b.time() }));
    await b.clock.advance(SECOND);
    expect(b.calls).toEqual(['evicted web']);
    await b.clock.advance(9.5 * SECOND);
    b.gone('web');
    // The node is checked every second.
    await b.clock.advance(0.9 * SECOND);
    expect(b.node('node')).toBeUndefined();
    expect(b.calls).toEqual(['evicted web']);
  });

  it('does not drain a node that has lost its instance', async () => {
    const b = bench();
    b.world.instance.exists = false;
    b.put(POD, podOf('web'));
    b.put(NODE_CLAIM, claimOf('claim', { deletionTimestamp: b.time() }));
    b.put(NODE, nodeOf('node', { deletionTimestamp: b.time() }, 'False'));
    await b.clock.advance(SECOND);
    expect(b.node('node')).toBeUndefined();
    expect(b.calls).toEqual([`get ${PROVIDER_ID}`]);
  });

  it('ignores nodes that Karpenter does not manage', async () => {
    const b = bench();
    b.put(NODE, nodeOf('node', { deletionTimestamp: b.time(), labels: {} }));
    await b.clock.advance(10 * SECOND);
    expect(b.node('node')?.spec?.taints).toBeUndefined();
  });

  it('waits for volumes to be detached until the deadline', async () => {
    const b = bench();
    b.put(PERSISTENT_VOLUME_CLAIM, {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'data', namespace: 'default' },
      spec: { volumeName: 'pv' },
    });
    b.put(VOLUME_ATTACHMENT, {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'VolumeAttachment',
      metadata: { name: 'attachment' },
      spec: { nodeName: 'node', source: { persistentVolumeName: 'pv' } },
    });
    leaving(b, 30 * SECOND);
    await b.clock.advance(20 * SECOND);
    expect(b.condition('claim', 'VolumesDetached')).toBe('Unknown/AwaitingVolumeDetachment');
    expect(b.events.find(({ reason }) => reason === 'AwaitingVolumeDetachment')?.message).toBe(
      'Awaiting deletion of bound volumeattachments (attachment)',
    );
    await b.clock.advance(12 * SECOND);
    expect(b.calls).toContain('terminate claim');
    expect(b.condition('claim', 'VolumesDetached')).toBe('False/TerminationGracePeriodElapsed');
    expect(b.events.find(({ reason }) => reason === 'TerminationGracePeriodExpiring')).toMatchObject({
      type: 'Warning',
    });
  });

  it('reports a deadline that cannot be parsed', async () => {
    const b = bench();
    b.put(
      NODE_CLAIM,
      claimOf('claim', { deletionTimestamp: b.time(), annotations: { [TERMINATION_TIMESTAMP_ANNOTATION]: 'soon' } }),
    );
    b.put(NODE, nodeOf('node', { deletionTimestamp: b.time() }));
    await b.clock.advance(10);
    expect(String(b.lines.find(({ level }) => level === 'error')?.fields.error)).toContain(
      'Cannot drain the node of NodeClaim "claim": its annotation karpenter.sh/nodeclaim-termination-timestamp is "soon"',
    );
  });
});

describe('eviction-queue', () => {
  it('retries with back-off while a budget blocks an eviction, and publishes an event', async () => {
    const b = bench();
    b.world.refuse = () => budget;
    b.put(POD, podOf('web'));
    leaving(b);
    await b.clock.advance(30 * SECOND);
    const asked = b.evictions().length;
    expect(asked).toBeGreaterThan(5);
    expect(asked).toBeLessThan(13);
    expect(b.events.map(({ message }) => message)).toContain(
      'Failed to drain node, evicting pod violates a PDB (Pod=default/web)',
    );
    // The number of waiting pods is published every second and must not replace the event with the reason.
    const keys = (text: string): readonly unknown[] =>
      b.events.filter(({ message }) => message.includes(text)).map(({ dedupe }) => dedupe?.join());
    expect(keys('are waiting to be evicted').length).toBeGreaterThan(0);
    expect(keys('are waiting to be evicted')).not.toContain(keys('violates a PDB')[0]);
    expect(b.lines.filter(({ level }) => level === 'error')).toEqual([]);
    b.world.refuse = () => undefined;
    await b.clock.advance(11 * SECOND);
    expect(b.calls).toContain('evicted web');
  });

  it('names several budgets of one pod', async () => {
    const b = bench();
    b.world.refuse = () =>
      new ApiError(
        500,
        'InternalError',
        'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
      );
    b.put(POD, podOf('web'));
    leaving(b);
    await b.clock.advance(SECOND);
    expect(b.events.map(({ message }) => message)).toContain(
      'Failed to drain node, eviction does not support multiple PDBs (Pod=default/web)',
    );
  });

  it('deletes pods in time for the deadline, regardless of budgets and annotations', async () => {
    const b = bench();
    b.world.refuse = () => budget;
    b.put(POD, podOf('budgeted'));
    b.put(POD, podOf('precious', {}, { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } }));
    leaving(b, 60 * SECOND);
    await b.clock.advance(29 * SECOND);
    expect(b.calls.filter((call) => call.startsWith('delete'))).toEqual([]);
    expect(b.evictions()).not.toContain('precious');
    await b.clock.advance(12 * SECOND);
    const deleted = b.calls.filter((call) => call.startsWith('delete')).map((call) => call.split(' ')[2]);
    expect(deleted.sort()).toEqual(['budgeted', 'precious']);
    const granted = b.calls.flatMap((call) => /(\d+)s$/.exec(call)?.[1] ?? []).map(Number);
    for (const seconds of granted) {
      expect(seconds).toBeGreaterThan(18);
      expect(seconds).toBeLessThanOrEqual(30);
    }
    expect(b.events.find(({ reason }) => reason === 'Disrupted')?.message).toContain(
      'of its 30 terminationGracePeriodSeconds. This bypasses the PDB of the pod',
    );
  });

  it('deletes pods immediately with one second if the deadline has passed', async () => {
    const b = bench();
    b.put(POD, podOf('web'));
    leaving(b, 0);
    await b.clock.advance(SECOND);
    expect(b.calls[0]).toBe('delete Pod web 1s');
  });

  it.each([
    { code: 404, reason: 'NotFound' },
    { code: 409, reason: 'Conflict' },
  ])('treats $code from the API server as a deleted pod', async ({ code, reason }) => {
    const b = bench();
    b.world.refuse = () => new ApiError(code, reason, 'gone');
    b.put(POD, podOf('web'));
    leaving(b);
    await b.clock.advance(500);
    expect(b.evictions()).toEqual(['web']);
    expect(b.reasons()).not.toContain('Evicted');
    expect(await b.metrics.text()).toContain(`karpenter_pods_eviction_requests_total{code="${code}"} 1`);
  });

  it.each([
    { what: 'an HTML page of a proxy', error: new ApiError(404, 'Unknown', 'the API server returned HTTP status 404') },
    { what: 'a conflict of a proxy', error: new ApiError(409, 'Unknown', 'the API server returned HTTP status 409') },
    { what: 'an overloaded server', error: new ApiError(429, 'TooManyRequests', 'too many requests') },
  ])('retries after $what', async ({ error }) => {
    const b = bench();
    b.world.refuse = () => error;
    b.put(POD, podOf('web'));
    leaving(b);
    await b.clock.advance(5 * SECOND);
    expect(b.evictions().length).toBeGreaterThan(2);
    expect(errors(b)).toContain(String(error));
  });
});

describe('node.hydration', () => {
  it('labels a node with the NodeClass of its claim', async () => {
    const b = bench();
    b.put(NODE_CLAIM, claimOf('claim'));
    b.put(NODE, nodeOf('node', { labels: {} }));
    await b.clock.advance(10);
    expect(b.node('node')?.metadata.labels).toEqual({ [EC2_NODECLASS_LABEL]: 'default' });
  });

  it('does not label a node with several claims', async () => {
    const b = bench();
    for (const name of ['one', 'two']) b.put(NODE_CLAIM, claimOf(name));
    b.put(NODE, nodeOf('node', { labels: {} }));
    await b.clock.advance(10);
    expect(b.node('node')?.metadata.labels).toEqual({});
  });
});

describe('node.health', () => {
  it('replaces an unhealthy node with an immediate deadline', async () => {
    const b = bench(['--feature-gates=NodeRepair=true']);
    b.put(NODE_CLAIM, claimOf('claim'));
    const broken = nodeOf('node', {}, 'False');
    b.put(NODE, {
      ...broken,
      status: { conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: b.time() }] },
    });
    await b.clock.advance(1_799 * SECOND);
    expect(b.calls).toEqual([]);
    await b.clock.advance(2 * SECOND);
    expect(b.calls).toEqual(['delete NodeClaim claim']);
    expect(b.claim('claim')?.metadata.annotations?.[TERMINATION_TIMESTAMP_ANNOTATION]).toBe('2026-01-01T00:30:00Z');
    const text = await b.metrics.text();
    expect(text).toContain(
      'karpenter_nodeclaims_unhealthy_disrupted_total{condition="ready",nodepool="default",capacity_type="",image_id=""} 1',
    );
  });

  it('replaces no node while too many are unhealthy', async () => {
    const b = bench(['--feature-gates=NodeRepair=true']);
    b.put(NODE_CLAIM, claimOf('claim'));
    b.put(NODE, nodeOf('node', {}, 'False'));
    b.put(NODE, { ...nodeOf('other', {}, 'False'), spec: { providerID: 'aws:///zone-a/i-2' } });
    await b.clock.advance(SECOND);
    expect(b.calls).toEqual([]);
    expect(b.events.map(({ message }) => message)).toContain('more than 20% nodes are unhealthy in the nodepool');
  });

  it('uses the whole cluster as the base for a node without a NodePool', async () => {
    const b = bench(['--feature-gates=NodeRepair=true']);
    const claim = claimOf('claim');
    b.put(NODE_CLAIM, { ...claim, metadata: { ...claim.metadata, labels: {} } });
    b.put(NODE, nodeOf('node', {}, 'False'));
    b.put(NODE, { ...nodeOf('other', {}, 'False'), spec: { providerID: 'aws:///zone-a/i-2' } });
    await b.clock.advance(SECOND);
    expect(b.calls).toEqual([]);
    expect(b.events.map(({ message }) => message)).toContain('more then 20% nodes are unhealthy in the cluster');
  });

  it('has no effect without its feature gate', async () => {
    const b = bench();
    b.put(NODE_CLAIM, claimOf('claim'));
    b.put(NODE, nodeOf('node', {}, 'False'));
    await b.clock.advance(3_600 * SECOND);
    expect(b.calls).toEqual([]);
  });
});

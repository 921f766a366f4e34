import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  EVENT,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  type Pod,
  PRIORITY_CLASS,
  STORAGE_CLASS,
} from '#api/objects';
import { startVolumes } from '../../../../../src/local/kubernetes/controllers/volumes.ts';
import { startScheduler } from '../../../../../src/local/kubernetes/scheduler/index.ts';
import { partial } from '../../../../support/partial.ts';
import { markReady, startCluster, type TestCluster, template } from '../../world-cluster.ts';

let cluster: TestCluster;

beforeEach(async () => {
  cluster = await startCluster();
  await startScheduler(cluster.parts);
});
afterEach(() => cluster.stop());

const create = (name: string, spec: Partial<Pod['spec']> = {}, cpu = '100m'): Promise<Pod> =>
  cluster.client.create(POD, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels: { app: 'web' } },
    spec: template('web', spec, cpu).spec,
  });

const find = (name: string): Promise<Pod | undefined> => cluster.client.find(POD, { name, namespace: 'default' });
const bound = (name: string) =>
  cluster.until(`${name} to be bound`, async () => (await find(name))?.spec.nodeName ?? false);
const refusal = (name: string) =>
  cluster.until(`${name} to be refused`, async () => {
    const condition = (await find(name))?.status?.conditions?.find(({ type }) => type === 'PodScheduled');
    return condition?.status === 'False' && condition;
  });

describe('the scheduler', () => {
  it('chooses between equal nodes by a given order', async () => {
    const ranks = new Map([
      ['a', 2],
      ['b', 3],
      ['c', 1],
    ]);
    const other = await startCluster();
    try {
      await startScheduler(other.parts, { tieBreak: (_, { name }) => ranks.get(name) ?? 0 });
      for (const name of ['a', 'b', 'c']) await other.node(name);
      const metadata = { name: 'web', namespace: 'default' };
      await other.client.create(POD, { apiVersion: 'v1', kind: 'Pod', metadata, spec: template('web').spec });
      const pod = await other.until('the pod to be bound', async () => {
        const found = await other.client.find(POD, metadata);
        return found?.spec.nodeName !== undefined && found;
      });
      expect(pod.spec.nodeName).toBe('c');
    } finally {
      await other.stop();
    }
  });

  it('binds a pod and publishes an event', async () => {
    await cluster.node('a');
    await create('web');
    expect(await bound('web')).toBe('a');
    const event = await cluster.until('the event', async () =>
      (await cluster.list(EVENT)).find(({ reason }) => reason === 'Scheduled'),
    );
    expect(event.message).toBe('Successfully assigned default/web to a');
  });

  it('tries the nominated node of a pod first, and ignores a nominated node that does not exist', async () => {
    for (const name of ['a', 'b', 'c']) await cluster.node(name);
    for (const [name, nominatedNodeName] of Object.entries({ web: 'c', api: 'gone' })) {
      await create(name, { schedulingGates: [{ name: 'test' }] });
      const pod = { name, namespace: 'default' };
      await cluster.client.patch(POD, pod, { status: { nominatedNodeName } }, { subresource: 'status' });
      await cluster.client.patch(POD, pod, { spec: { schedulingGates: null } });
    }
    expect(await bound('web')).toBe('c');
    expect(await bound('api')).toMatch(/^[ab]$/);
    expect((await find('web'))?.status?.nominatedNodeName).toBeUndefined();
  });

  it('deletes a pod with a lower priority for a pod that fits on no node, and binds the pod afterwards', async () => {
    for (const [name, value] of [
      ['low', 1],
      ['high', 2],
    ] as const)
      await cluster.client.create(
        PRIORITY_CLASS,
        partial({
          apiVersion: 'scheduling.k8s.io/v1',
          kind: 'PriorityClass',
          metadata: { name },
          value,
        }),
      );
    await cluster.node('a');
    await create('old', { priorityClassName: 'low', terminationGracePeriodSeconds: 0 }, '3');
    await bound('old');
    const { metadata } = await create('new', { priorityClassName: 'high' }, '3');
    expect(await bound('new')).toBe('a');
    expect(await find('old')).toBeUndefined();
    const event = await cluster.until('the event', async () =>
      (await cluster.list(EVENT)).find(({ reason }) => reason === 'Preempted'),
    );
    expect(event.message).toBe(`Preempted by pod ${metadata.uid} on node a`);
  });

  it('keeps the room of a preempted pod from pods with a lower priority while the pod terminates', async () => {
    await cluster.client.create(
      PRIORITY_CLASS,
      partial({
        apiVersion: 'scheduling.k8s.io/v1',
        kind: 'PriorityClass',
        metadata: { name: 'high' },
        value: 1,
      }),
    );
    await cluster.node('a');
    // no kubelet runs, so the pod terminates when the test deletes it
    await create('old', { terminationGracePeriodSeconds: 600 }, '3');
    await bound('old');
    await markReady(cluster.client, (await find('old')) as Pod);
    await create('new', { priorityClassName: 'high' }, '3');
    await cluster.until('the nomination', async () => (await find('new'))?.status?.nominatedNodeName === 'a');
    const old = await cluster.until('the deletion', async () => {
      const found = await find('old');
      return found?.metadata.deletionTimestamp !== undefined && found;
    });
    expect(old.status?.conditions?.find(({ type }) => type === 'DisruptionTarget')).toMatchObject({
      status: 'True',
      reason: 'PreemptionByScheduler',
    });
    await create('other', {}, '2');
    await refusal('other');
    await cluster.client.delete(POD, old.metadata, { gracePeriodSeconds: 0 });
    expect(await bound('new')).toBe('a');
    expect((await find('other'))?.spec.nodeName).toBeUndefined();
  });

  it('releases the room of a nominated pod that is bound to another node', async () => {
    const high = { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name: 'high' }, value: 1 };
    await cluster.client.create(PRIORITY_CLASS, high);
    await cluster.node('a');
    await create('old', { terminationGracePeriodSeconds: 600 }, '3');
    await bound('old');
    await markReady(cluster.client, (await find('old')) as Pod);
    const { metadata } = await create('new', { priorityClassName: 'high' }, '3');
    await cluster.until('the nomination', async () => (await find('new'))?.status?.nominatedNodeName === 'a');
    const target = { apiVersion: 'v1', kind: 'Node', name: 'elsewhere' };
    await cluster.client.post(POD, metadata, 'binding', { apiVersion: 'v1', kind: 'Binding', metadata, target });
    await cluster.client.delete(POD, { name: 'old', namespace: 'default' }, { gracePeriodSeconds: 0 });
    await create('other', {}, '2');
    expect(await bound('other')).toBe('a');
  });

  it('publishes the reason for an unschedulable pod, and binds it when a node is added', async () => {
    await cluster.node('small', { allocatable: { cpu: '1' } });
    await cluster.node('tainted', { taints: [{ key: 'team', value: 'x', effect: 'NoSchedule' }] });
    await create('web', {}, '2');
    expect(await refusal('web')).toMatchObject({
      reason: 'Unschedulable',
      message: '0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint {team: x}.',
    });
    const event = await cluster.until('the event', async () =>
      (await cluster.list(EVENT)).find(({ reason }) => reason === 'FailedScheduling'),
    );
    expect(event.type).toBe('Warning');
    await cluster.node('large');
    expect(await bound('web')).toBe('large');
  });

  it('never exceeds the capacity of a node, however fast pods are created', async () => {
    await cluster.node('a', { allocatable: { cpu: '1' } });
    await Promise.all(Array.from({ length: 12 }, (_, index) => create(`web-${index}`, {}, '200m')));
    await cluster.until('five pods to be bound', async () => {
      const pods = await cluster.pods();
      const refused = pods.filter((pod) => pod.status?.conditions?.some(({ reason }) => reason === 'Unschedulable'));
      return refused.length === 7;
    });
    expect((await cluster.pods()).filter((pod) => pod.spec.nodeName === 'a')).toHaveLength(5);
  });

  it('uses the room of a deleted pod', async () => {
    await cluster.node('a', { allocatable: { cpu: '1' } });
    await create('first', {}, '1');
    await bound('first');
    await create('second', {}, '1');
    await refusal('second');
    await cluster.client.delete(POD, { name: 'first', namespace: 'default' }, { gracePeriodSeconds: 0 });
    expect(await bound('second')).toBe('a');
  });

  it('schedules pods with higher priority first', async () => {
    await cluster.client.raw('POST', '/apis/scheduling.k8s.io/v1/priorityclasses', {
      apiVersion: 'scheduling.k8s.io/v1',
      kind: 'PriorityClass',
      metadata: { name: 'important' },
      value: 1000,
    });
    await create('low', {}, '1');
    await create('high', { priorityClassName: 'important' }, '1');
    await refusal('high');
    // Waits for the end of both back-offs.
    await cluster.parts.clock.sleep(5_000);
    await cluster.node('a', { allocatable: { cpu: '1' } });
    expect(await bound('high')).toBe('a');
    expect((await refusal('low')).message).toMatch(/Insufficient cpu/);
  });

  it('ignores gated pods and pods of other schedulers', async () => {
    await cluster.node('a');
    await create('gated', { schedulingGates: [{ name: 'example.com/wait' }] });
    await create('other', { schedulerName: 'mine' });
    await create('web');
    await bound('web');
    expect((await refusal('gated')).reason).toBe('SchedulingGated');
    expect((await find('other'))?.spec.nodeName).toBeUndefined();
  });

  it('follows cordons and uncordons', async () => {
    await cluster.node('a');
    await cluster.patchNode('a', { spec: { unschedulable: true } });
    await create('web');
    expect((await refusal('web')).message).toBe('0/1 nodes are available: 1 node(s) were unschedulable.');
    await cluster.patchNode('a', { spec: { unschedulable: false } });
    expect(await bound('web')).toBe('a');
  });

  it('provisions a volume in the zone of the selected node before it binds the pod', async () => {
    await startVolumes(cluster.parts);
    await cluster.client.create(STORAGE_CLASS, {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: 'wait' },
      provisioner: 'ebs.csi.aws.com',
      volumeBindingMode: 'WaitForFirstConsumer',
      allowedTopologies: [{ matchLabelExpressions: [{ key: 'topology.kubernetes.io/zone', values: ['z-b'] }] }],
    });
    for (const zone of ['z-a', 'z-b'])
      await cluster.node(`in-${zone}`, {
        labels: { 'topology.kubernetes.io/zone': zone, 'topology.ebs.csi.aws.com/zone': zone },
      });
    await cluster.client.create(PERSISTENT_VOLUME_CLAIM, {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'data', namespace: 'default' },
      spec: {
        storageClassName: 'wait',
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '1Gi' } },
      },
    });
    await create('web', { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] });
    expect(await bound('web')).toBe('in-z-b');
    const [volume] = await cluster.list(PERSISTENT_VOLUME);
    const terms = volume?.spec.nodeAffinity?.required?.nodeSelectorTerms;
    expect(terms?.[0]?.matchExpressions?.[0]).toMatchObject({ key: 'topology.ebs.csi.aws.com/zone', values: ['z-b'] });
  });
});

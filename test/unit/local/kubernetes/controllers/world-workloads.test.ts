import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DAEMON_SET, type DaemonSet, JOB_CONTROLLER, NODE, POD, type Pod, type Workload } from '#api/objects';
import { startWorkloads } from '../../../../../src/local/kubernetes/controllers/index.ts';
import {
  DEPLOYMENTS,
  JOBS,
  REPLICA_SETS,
  type Scaled,
  STATEFUL_SETS,
} from '../../../../../src/local/kubernetes/controllers/workloads/kinds.ts';
import { markReady, startCluster, type TestCluster, template } from '../../world-cluster.ts';

let cluster: TestCluster;

beforeEach(async () => {
  cluster = await startCluster();
  await startWorkloads(cluster.parts);
});
afterEach(() => cluster.stop());

const workload = (kind: string, name: string, spec: object): Scaled => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name, namespace: 'default' },
  spec: { selector: { matchLabels: { app: name } }, template: template(name), ...spec },
});

const podsThat = (what: string, holds: (pods: readonly Pod[]) => boolean): Promise<readonly Pod[]> =>
  cluster.until(what, async () => {
    const pods = await cluster.pods();
    return holds(pods) && pods;
  });

/** The same value with the keys of all its objects in the reverse order, as another client may write it. */
const reordered = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(reordered);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, each]) => [key, reordered(each)]),
  );
};

const isGoing = (pod: Pod): boolean => pod.metadata.deletionTimestamp !== undefined;

/** Acts as scheduler and kubelet: binds the pods to a node and makes them ready. */
async function runPods(pods: readonly Pod[], target = 'a'): Promise<void> {
  for (const pod of pods) {
    if (!pod.spec.nodeName)
      await cluster.client.post(POD, pod.metadata, 'binding', {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name: pod.metadata.name },
        target: { kind: 'Node', name: target },
      });
    await markReady(cluster.client, pod);
  }
}

describe('a ReplicaSet', () => {
  it('replaces a pod as soon as it is being deleted', async () => {
    await cluster.node('a');
    await cluster.client.create(REPLICA_SETS, workload('ReplicaSet', 'web', { replicas: 2 }));
    await runPods(await podsThat('two pods', (pods) => pods.length === 2));
    const [victim] = await cluster.pods();
    await cluster.client.delete(POD, victim?.metadata ?? { name: '' });
    const pods = await podsThat('a third pod', (found) => found.length === 3);
    expect(pods.filter(isGoing)).toHaveLength(1);
  });

  it('deletes pending pods before running pods', async () => {
    await cluster.node('a');
    await cluster.client.create(REPLICA_SETS, workload('ReplicaSet', 'web', { replicas: 3 }));
    const created = await podsThat('three pods', (pods) => pods.length === 3);
    await runPods(created.slice(0, 1));
    await cluster.until('one ready replica', async () =>
      (await cluster.list(REPLICA_SETS)).some(({ status }) => status?.readyReplicas === 1),
    );
    await cluster.client.patch(REPLICA_SETS, { name: 'web', namespace: 'default' }, { spec: { replicas: 1 } });
    const [left] = await podsThat('one pod', (pods) => pods.length === 1);
    expect(left?.metadata.name).toBe(created[0]?.metadata.name);
  });
});

describe('a Deployment', () => {
  it('creates pods, reports them and rolls out a new template', async () => {
    await cluster.node('a');
    await cluster.client.create(DEPLOYMENTS, workload('Deployment', 'web', { replicas: 4 }));
    await runPods(await podsThat('four pods', (pods) => pods.length === 4));
    await cluster.until('the deployment to be available', async () =>
      (await cluster.list(DEPLOYMENTS)).some(
        ({ status }) =>
          status?.availableReplicas === 4 &&
          status.conditions?.some(({ type, reason }) => type === 'Progressing' && reason === 'NewReplicaSetAvailable'),
      ),
    );

    const next = { spec: { template: { metadata: { labels: { app: 'web', version: 'two' } } } } };
    await cluster.client.patch(DEPLOYMENTS, { name: 'web', namespace: 'default' }, next);
    const isNew = (pod: Pod): boolean => pod.metadata.labels?.version === 'two';
    const surge = await podsThat('new pods', (pods) => pods.some(isNew));
    // maxSurge 25 % of 4 is one, and maxUnavailable is one more.
    expect(surge.filter((pod) => !isGoing(pod)).length).toBeLessThanOrEqual(5);
    await podsThat('the rollout to end', (pods) => {
      const alive = pods.filter((pod) => !isGoing(pod));
      void runPods(alive.filter((pod) => !pod.status?.podIP)).catch(() => {});
      for (const pod of pods.filter(isGoing))
        void cluster.client.delete(POD, pod.metadata, { gracePeriodSeconds: 0 }).catch(() => {});
      return pods.length === 4 && pods.every(isNew);
    });
    const sets = await cluster.list(REPLICA_SETS);
    expect(sets.map(({ spec }) => spec.replicas).sort()).toEqual([0, 4]);
  });

  it('starts no rollout if a client writes the same template with its keys in another order', async () => {
    await cluster.node('a');
    await cluster.client.create(DEPLOYMENTS, workload('Deployment', 'web', { replicas: 1 }));
    await podsThat('one pod', (pods) => pods.length === 1);
    const [stored] = await cluster.list(DEPLOYMENTS);
    const { template: written, ...spec } = stored?.spec ?? {};
    const path = '/apis/apps/v1/namespaces/default/deployments/web';
    await cluster.client.raw('PUT', path, { ...stored, spec: { ...spec, replicas: 2, template: reordered(written) } });
    await podsThat('two pods', (pods) => pods.length === 2);
    expect(await cluster.list(REPLICA_SETS)).toHaveLength(1);
  });

  it('starts the pods of a Recreate rollout when the old pods are gone', async () => {
    await cluster.node('a');
    const strategy = { type: 'Recreate' };
    await cluster.client.create(DEPLOYMENTS, workload('Deployment', 'web', { replicas: 1, strategy }));
    await runPods(await podsThat('a pod', (pods) => pods.length === 1));
    const next = { spec: { template: { metadata: { labels: { app: 'web', version: 'two' } } } } };
    await cluster.client.patch(DEPLOYMENTS, { name: 'web', namespace: 'default' }, next);
    const [old] = await podsThat('the old pod to terminate', (pods) => pods.some(isGoing));
    await cluster.until('the old ReplicaSet to be empty', async () =>
      (await cluster.list(REPLICA_SETS)).some(({ spec, status }) => spec.replicas === 0 && !status?.replicas),
    );
    expect(await cluster.pods()).toHaveLength(1);
    await cluster.client.delete(POD, old?.metadata ?? { name: '' }, { gracePeriodSeconds: 0 });
    const [fresh] = await podsThat('a new pod', (pods) => pods.length === 1);
    expect(fresh?.metadata.labels?.version).toBe('two');
  });

  it('divides a change of the replicas between the ReplicaSets of a rollout', async () => {
    await cluster.node('a', { allocatable: { pods: '50' } });
    const strategy = { rollingUpdate: { maxSurge: 2, maxUnavailable: 0 } };
    await cluster.client.create(DEPLOYMENTS, workload('Deployment', 'web', { replicas: 4, strategy }));
    await runPods(await podsThat('four pods', (pods) => pods.length === 4));
    const next = { spec: { template: { metadata: { labels: { app: 'web', version: 'two' } } } } };
    await cluster.client.patch(DEPLOYMENTS, { name: 'web', namespace: 'default' }, next);
    const sizes = async () =>
      Object.fromEntries(
        (await cluster.list(REPLICA_SETS)).map(({ metadata, spec }) => [
          metadata.labels?.version ?? 'one',
          spec.replicas,
        ]),
      );
    await cluster.until('two new pods', async () => (await sizes()).two === 2);
    await cluster.client.patch(DEPLOYMENTS, { name: 'web', namespace: 'default' }, { spec: { replicas: 10 } });
    // from 4 + 2 to 10 + 2 pods: each set has twice as many
    await cluster.until('more pods of both', async () => (await sizes()).two === 4);
    expect(await sizes()).toEqual({ one: 8, two: 4 });
  });
});

describe('a StatefulSet', () => {
  it('starts its pods one after another', async () => {
    await cluster.node('a');
    await cluster.client.create(STATEFUL_SETS, workload('StatefulSet', 'db', { replicas: 2, serviceName: 'db' }));
    const first = await podsThat('the first member', (pods) => pods.length > 0);
    expect(first.map(({ metadata }) => metadata.name)).toEqual(['db-0']);
    await runPods(first);
    const both = await podsThat('the second member', (pods) => pods.length === 2);
    expect(both.map(({ metadata }) => metadata.name).sort()).toEqual(['db-0', 'db-1']);
  });
});

describe('a DaemonSet', () => {
  it('runs one pod on each node that its selector and tolerations allow', async () => {
    await cluster.node('plain', { labels: { disk: 'ssd' } });
    await cluster.node('tainted', { labels: { disk: 'ssd' }, taints: [{ key: 'x', effect: 'NoSchedule' }] });
    await cluster.node('other', { labels: { disk: 'hdd' } });
    const set: DaemonSet = {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'agent', namespace: 'default' },
      spec: {
        selector: { matchLabels: { app: 'agent' } },
        template: template('agent', { nodeSelector: { disk: 'ssd' } }),
      },
    };
    await cluster.client.create(DAEMON_SET, set);
    const [pod] = await podsThat('one pod', (pods) => pods.length === 1);
    const required = pod?.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
    expect(required?.nodeSelectorTerms).toEqual([
      { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['plain'] }] },
    ]);
    const [stored] = await cluster.list(DAEMON_SET);
    const path = '/apis/apps/v1/namespaces/default/daemonsets/agent';
    const spec = { ...stored?.spec, template: reordered(stored?.spec.template) };
    await cluster.client.raw('PUT', path, { ...stored, spec });
    await cluster.node('late', { labels: { disk: 'ssd' } });
    const pods = await podsThat('a pod for the new node', (found) => found.length === 2);
    expect(pods.map(({ metadata }) => metadata.uid)).toContain(pod?.metadata.uid);
  });
});

describe('a Job', () => {
  it('completes when its pods have succeeded', async () => {
    const metadata = { name: 'batch', namespace: 'default' };
    const spec = {
      completions: 2,
      parallelism: 1,
      template: template('batch', { restartPolicy: 'Never' }),
    };
    await cluster.client.create(JOBS, { apiVersion: 'batch/v1', kind: 'Job', metadata, spec });
    const succeed = (pod: Pod) =>
      cluster.client.patch(POD, pod.metadata, { status: { phase: 'Succeeded' } }, { subresource: 'status' });
    const [first] = await podsThat('a pod', (pods) => pods.length === 1);
    if (first) await succeed(first);
    const second = (await podsThat('another pod', (pods) => pods.length === 2)).find(
      ({ status }) => status?.phase !== 'Succeeded',
    );
    if (second) await succeed(second);
    const job = await cluster.until('the job to complete', async () =>
      (await cluster.list(JOBS)).find(({ status }) => status?.conditions?.some(({ type }) => type === 'Complete')),
    );
    expect(job.status).toMatchObject({ succeeded: 2 });
  });

  it('has no pods if another controller manages it', async () => {
    const spec = { template: { ...template('w'), spec: { ...template('w').spec, restartPolicy: 'Never' } } };
    const create = (name: string, more: object) =>
      cluster.client.create(JOBS, {
        ...{ apiVersion: 'batch/v1', kind: 'Job', metadata: { name, namespace: 'default' } },
        spec: { ...spec, ...more } as Workload['spec'],
      });
    await create('kueue', { managedBy: 'kueue.x-k8s.io/multikueue' });
    await create('own', { managedBy: JOB_CONTROLLER });
    const pods = await podsThat('the pod of the other Job', (found) => found.length > 0);
    expect(pods.map(({ metadata }) => metadata.ownerReferences?.[0]?.name)).toEqual(['own']);
  });
});

describe('a pod of a Job that is evicted', () => {
  it('counts as failed, and is replaced after a back-off of ten seconds', async () => {
    await cluster.node('a');
    const metadata = { name: 'batch', namespace: 'default' };
    const spec = { template: template('batch', { restartPolicy: 'Never' }) };
    await cluster.client.create(JOBS, { apiVersion: 'batch/v1', kind: 'Job', metadata, spec });
    const created = await podsThat('a pod', (pods) => pods.length === 1);
    await runPods(created);
    const [first] = created;
    await cluster.client.delete(POD, first?.metadata ?? { name: '' });
    const second = (await podsThat('another pod', (pods) => pods.length === 2)).find((pod) => !isGoing(pod));
    const gone = await cluster.client.find(POD, first?.metadata ?? { name: '' });
    const evictedAt = Date.parse(gone?.metadata.deletionTimestamp ?? '') - 30_000;
    expect(Date.parse(second?.metadata.creationTimestamp ?? '') - evictedAt).toBeGreaterThanOrEqual(10_000);
    const [job] = await cluster.list(JOBS);
    expect(job?.status).toMatchObject({ active: 1, failed: 1, terminating: 1 });
  });

  it('ends the Job after more failures than its limit', async () => {
    await cluster.node('a');
    const metadata = { name: 'batch', namespace: 'default' };
    const spec = { backoffLimit: 0, template: template('batch', { restartPolicy: 'Never' }) };
    await cluster.client.create(JOBS, { apiVersion: 'batch/v1', kind: 'Job', metadata, spec });
    const [pod] = await podsThat('a pod', (pods) => pods.length === 1);
    await cluster.client.delete(POD, pod?.metadata ?? { name: '' }, { gracePeriodSeconds: 0 });
    const job = await cluster.until('the Job to fail', async () =>
      (await cluster.list(JOBS)).find(({ status }) => status?.conditions?.some(({ type }) => type === 'Failed')),
    );
    expect(job.status).toMatchObject({ failed: 1, conditions: [{ reason: 'BackoffLimitExceeded' }] });
    expect(await cluster.pods()).toEqual([]);
  });
});

describe('node lifecycle', () => {
  it('taints a node that is not Ready and clears it when it is', async () => {
    await cluster.node('a', { ready: false, taints: [{ key: 'mine', effect: 'NoSchedule' }] });
    const taintsOf = async () =>
      (await cluster.client.find(NODE, { name: 'a' }))?.spec?.taints?.map(({ key, effect }) => `${key}:${effect}`);
    await cluster.until('the taints', async () => (await taintsOf())?.length === 3);
    expect(await taintsOf()).toEqual([
      'mine:NoSchedule',
      'node.kubernetes.io/not-ready:NoSchedule',
      'node.kubernetes.io/not-ready:NoExecute',
    ]);
    const conditions = [{ type: 'Ready', status: 'True' }];
    await cluster.client.patch(
      NODE,
      { name: 'a' },
      { status: { conditions } },
      { subresource: 'status', type: 'strategic' },
    );
    await cluster.until('the taints to go', async () => (await taintsOf())?.length === 1);
    expect(await taintsOf()).toEqual(['mine:NoSchedule']);
  });

  it('sets a node to Unknown if its kubelet does not report', async () => {
    await cluster.node('a');
    const node = await cluster.until('the node to be Unknown', async () => {
      const found = await cluster.client.find(NODE, { name: 'a' });
      return found?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'Unknown') && found;
    });
    expect(node.metadata.name).toBe('a');
    await cluster.until('the taint', async () =>
      (await cluster.client.find(NODE, { name: 'a' }))?.spec?.taints?.some(
        ({ key }) => key === 'node.kubernetes.io/unreachable',
      ),
    );
  });

  it('deletes the pods of a deleted node, and their controllers replace them', async () => {
    await cluster.node('a');
    await cluster.client.create(REPLICA_SETS, workload('ReplicaSet', 'web', { replicas: 1 }));
    const before = await podsThat('a pod', (pods) => pods.length === 1);
    await runPods(before);
    await cluster.client.delete(NODE, { name: 'a' });
    const [after] = await podsThat(
      'another pod alone',
      (pods) => pods.length === 1 && pods[0]?.metadata.uid !== before[0]?.metadata.uid,
    );
    expect(after?.spec.nodeName).toBeUndefined();
  });
});

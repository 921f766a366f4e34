/** Two replicas of the operator with the chart's Role for their lease: one leads, the other takes over. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EVENT, LEASE, NODE_CLAIM } from '#api/objects';
import { applyText, type Cluster, exampleText, NAMESPACE, startSharedCluster, until } from './harness/cluster.ts';
import { type OperatorProcess, startOperatorProcess } from './harness/operators.ts';
import { forbidden } from './harness/rbac.ts';

describe('a pair of replicas on a real control plane', () => {
  let cluster: Cluster;
  const replicas: OperatorProcess[] = [];

  beforeAll(async () => {
    cluster = await startSharedCluster();
    const files = ['ec2nodeclass.yaml', 'nodepool.yaml', 'inflate.yaml'];
    await applyText(cluster, ...(await Promise.all(files.map(exampleText))));
    replicas.push(await startOperatorProcess(cluster), await startOperatorProcess(cluster));
  }, 180_000);
  afterAll(async () => {
    for (const replica of replicas) await replica.stop();
    await cluster?.stop();
  }, 60_000);

  const said = (replica: OperatorProcess, message: string): boolean =>
    replica.lines().some((line) => line.message === message);
  const leads = (replica: OperatorProcess): boolean =>
    replica.process.exit === undefined && said(replica, 'successfully acquired lease');
  const leader = (): Promise<OperatorProcess> => until(cluster, 'a leader', () => replicas.find(leads));
  const holder = async (): Promise<string> =>
    (await cluster.kube.find(LEASE, { name: 'karpenter-leader-election', namespace: NAMESPACE }))?.spec
      ?.holderIdentity ?? '';
  const scale = (count: number): Promise<string> =>
    cluster.kubectl('scale', 'deployment', 'inflate', `--replicas=${count}`);
  const claims = async (): Promise<number> => (await cluster.kube.list(NODE_CLAIM)).items.length;

  it('has one leader and one standby', async () => {
    const first = await leader();
    await scale(1);
    await until(cluster, 'a claim', async () => (await claims()) === 1);
    const [standby] = replicas.filter((replica) => replica !== first);
    expect(standby && said(standby, 'attempting to acquire leader lease')).toBe(true);
    expect(standby && leads(standby)).toBe(false);
  }, 90_000);

  it('fails over immediately from a leader that stops', async () => {
    const first = await leader();
    const before = await holder();
    await first.stop();
    expect(first.process.exit).toBe('exit code 0');
    // The lease is released, so the other replica does not wait for its expiry.
    expect(await holder()).not.toBe(before);
    const second = await leader();
    expect(second).not.toBe(first);
    expect(await holder()).not.toBe(before);
  }, 60_000);

  it('fails over from a killed leader after its lease has expired', async () => {
    const first = await leader();
    replicas.push(await startOperatorProcess(cluster));
    await until(cluster, 'a standby', () =>
      replicas.some(
        (replica) =>
          replica !== first &&
          replica.process.exit === undefined &&
          said(replica, 'attempting to acquire leader lease'),
      ),
    );
    first.process.signal('SIGKILL');
    const killed = performance.now();
    await until(cluster, 'its end', () => first.process.exit !== undefined);
    await leader();
    expect(performance.now() - killed).toBeGreaterThan(8_000);
    // The new leader works with existing nodes, and launches nodes for new pods.
    const before = await claims();
    await scale(12);
    await until(cluster, 'more claims', async () => (await claims()) > before);
  }, 90_000);

  it('publishes events of the failover, and has no denied request', async () => {
    const told = (await cluster.kube.list(EVENT, { fieldSelector: 'reason=LeaderElection' })).items;
    expect(told.filter(({ message }) => message.endsWith('became leader'))).toHaveLength(3);
    expect(forbidden(await cluster.audit())).toEqual([]);
  });
});

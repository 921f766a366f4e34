/** What goes wrong with real control planes. The operator gets over it without a restart, and buys nothing twice. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { NODE_CLAIM, POD } from '../../src/api/kinds.ts';
import { applyText, type Cluster, exampleText, startCluster, until } from './harness/cluster.ts';
import { type OperatorProcess, startOperatorProcess } from './harness/operators.ts';

/** Tells in the audit log which token a request came with. */
const CREDENTIAL = 'authentication.kubernetes.io/credential-id';

describe('an operator whose control plane fails', () => {
  let cluster: Cluster;
  let operator: OperatorProcess;

  beforeAll(async () => {
    cluster = await startCluster();
    operator = await startOperatorProcess(cluster);
    for (const file of ['ec2nodeclass.yaml', 'nodepool.yaml', 'inflate.yaml'])
      await applyText(cluster, await exampleText(file));
    await scale(4);
    await settled(4);
  }, 180_000);
  afterEach(() => {
    expect(operator.process.exit).toBeUndefined();
  });
  afterAll(async () => {
    await operator?.stop();
    await cluster?.stop();
  }, 60_000);

  const scale = (count: number): Promise<string> =>
    cluster.kubectl('scale', 'deployment', 'inflate', `--replicas=${count}`);
  const running = async (): Promise<number> =>
    (await cluster.kube.list(POD, { labelSelector: 'app=inflate' })).items.filter(
      (pod) => pod.status?.phase === 'Running' && !pod.metadata.deletionTimestamp,
    ).length;
  /** All pods run, and every instance that was bought belongs to a claim: nothing was bought twice. */
  const settled = async (count: number): Promise<void> => {
    await until(cluster, `${count} running pods`, async () => (await running()) === count, 90_000);
    await until(cluster, 'an instance for every claim, and no other', async () => {
      const claims = (await cluster.kube.list(NODE_CLAIM)).items;
      const owned = claims.map((claim) => claim.status?.providerID?.split('/').at(-1)).sort();
      const bought = cluster.world.aws.instances
        .list()
        .filter(({ state }) => state === 'pending' || state === 'running')
        .map(({ id }) => id)
        .sort();
      return JSON.stringify(owned) === JSON.stringify(bought);
    });
  };

  it('goes on after a crash of the API server while pods were pending', async () => {
    await scale(10);
    await cluster.plane.crashApiServer(1_000);
    await settled(10);
  }, 150_000);

  it('goes on after etcd stood still for less than the deadline of the lease', async () => {
    const { etcd } = cluster.plane.processes;
    etcd.signal('SIGSTOP');
    await new Promise((resolve) => setTimeout(resolve, 6_000));
    etcd.signal('SIGCONT');
    await scale(14);
    await settled(14);
  }, 150_000);

  it('takes a new token when the old one is replaced', async () => {
    const tokens = async (): Promise<number> =>
      new Set((await cluster.audit()).flatMap(({ user }) => user.extra?.[CREDENTIAL] ?? [])).size;
    const before = await tokens();
    await cluster.renewToken(900);
    await until(cluster, 'requests with the new token', async () => (await tokens()) > before);
    await scale(24);
    await settled(24);
  }, 150_000);
});

/**
 * Pods with host anti-affinity on a NodePool with a single size and without consolidation. The number of launched
 * instances must equal the number of pods, whatever faults occur.
 */
import { DEPLOYMENT, NODE_CLAIM, POD, type Pod } from '#api/objects';
import { deployment } from '../../operator/harness.ts';
import { apart, pool } from '../../operator/pools.ts';
import { applyText, type Cluster, exampleText, until } from './cluster.ts';

export interface Spread {
  /**
   * Returns when the pods exist and kube-scheduler has bound them or marked them as unschedulable. A disturbed
   * controller might create one pod too many. A kube-scheduler that cannot write the mark tries again after five minutes,
   * and the operator launches no node before.
   */
  scale(count: number): Promise<void>;
  /** Waits until this number of pods is running, every instance belongs to a claim, and every claim has an instance. */
  settled(count: number, limitMs?: number): Promise<void>;
  /** Deletes all pods and NodeClaims, and waits until the operator has terminated the instances. */
  clear(): Promise<void>;
  /** Returns the number of instances launched since the start, including terminated ones. */
  bought(): number;
}

const APP = 'spread';

/** Reports whether kube-scheduler has bound a pod or marked it as unschedulable. */
const isHandled = ({ spec, status }: Pod): boolean =>
  spec.nodeName !== undefined || (status?.conditions ?? []).some(({ type }) => type === 'PodScheduled');

export async function startSpread(cluster: Cluster): Promise<Spread> {
  const { kube, world } = cluster;
  const ids = new Set<string>();
  world.aws.instances.subscribe(({ id }, previous) => {
    if (previous === undefined) ids.add(id);
  });
  await applyText(
    cluster,
    await exampleText('ec2nodeclass.yaml'),
    JSON.stringify(pool({ cpus: [2], budgets: [{ nodes: '0' }] })),
    JSON.stringify(deployment(APP, 0, apart(APP), { cpu: '100m' })),
  );
  await cluster.kubectl('wait', '--for=condition=Ready', 'ec2nodeclass/default', 'nodepool/default', '--timeout=120s');

  const pods = async (): Promise<readonly Pod[]> =>
    (await kube.list(POD, { labelSelector: `app=${APP}` })).items.filter(({ metadata }) => !metadata.deletionTimestamp);
  const running = async (): Promise<number> =>
    (await pods()).filter(({ status }) => status?.phase === 'Running').length;
  const claimed = async (): Promise<readonly (string | undefined)[]> =>
    (await kube.list(NODE_CLAIM)).items.map((claim) => claim.status?.providerID?.split('/').at(-1)).sort();
  const present = (): readonly string[] =>
    world.aws.instances
      .list()
      .filter(({ state }) => state === 'pending' || state === 'running')
      .map(({ id }) => id)
      .sort();
  const spread: Spread = {
    async scale(count) {
      await kube.patch(DEPLOYMENT, { name: APP, namespace: 'default' }, { spec: { replicas: count } });
      await until(cluster, `${count} pods that kube-scheduler has handled`, async () => {
        const all = await pods();
        return all.length === count && all.every(isHandled);
      });
    },
    async settled(count, limitMs = 120_000) {
      await until(cluster, `${count} running pods`, async () => (await running()) === count, limitMs);
      await until(
        cluster,
        'an instance for every claim, and no other',
        async () => JSON.stringify(await claimed()) === JSON.stringify(present()),
      );
    },
    async clear() {
      await spread.scale(0);
      await cluster.kubectl('delete', 'nodeclaims', '--all', '--timeout=60s');
      await spread.settled(0);
    },
    bought: () => ids.size,
  };
  return spread;
}

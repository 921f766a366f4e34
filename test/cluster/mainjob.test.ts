/**
 * The main scenario on a real control plane: kube-scheduler binds, the real Eviction API drains, and RBAC denies
 * requests that the chart does not allow.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  DEPLOYMENT,
  EVENT,
  isTrue,
  type KubeObject,
  NODE,
  NODE_CLAIM,
  NODEPOOL_LABEL,
  type Node,
  POD,
  POD_DISRUPTION_BUDGET,
  type Pod,
} from '#api/objects';
import type { LocalInstance } from '#local/aws';
import { applyText, type Cluster, exampleText, startSharedCluster, until } from './harness/cluster.ts';
import { type OperatorProcess, startOperatorProcess } from './harness/operators.ts';
import { forbidden, grantedRules, unusedGrants } from './harness/rbac.ts';

const REPLICAS = 20;

/** Grants of other features, or of Karpenter's roles, which users depend on. */
const SPARE: readonly RegExp[] = [
  // Informers list and watch, and get is granted with these verbs.
  /^get /,
  // The chart contains the Lease of the leader, which is created again if a user deletes it.
  /^create coordination\.k8s\.io\/leases$/,
  // Leases are read with get.
  /^watch coordination/,
  // Writes use one of the two verbs.
  /^(update|patch) /,
  // The status is granted with its object.
  /^\w+ \S+\/status$/,
  // Overlays are behind a feature gate, and the workloads that buffers refer to are read when a buffer exists.
  /^(list|watch) karpenter.sh\/nodeoverlays$/,
  /^(list|watch) (\/podtemplates|\/replicationcontrollers|apps\/(deployments|replicasets|statefulsets))$/,
  // A kind that is not served is only listed.
  /^watch readiness\.node\.x-k8s\.io\/nodereadinessrules$/,
  // Objects of dynamic resource allocation are read with IGNORE_DRA_REQUESTS=false.
  /^(list|watch) resource\.k8s\.io\/(deviceclasses|devicetaintrules|resource(claims|claimtemplates|slices))$/,
  // Pods are deleted without eviction at the end of a node's termination grace period.
  /^delete \/pods$/,
  /^(list|watch) \/events$/,
];

describe('the main scenario on a real control plane', () => {
  let cluster: Cluster;
  let operator: OperatorProcess;
  const trouble: string[] = [];

  beforeAll(async () => {
    cluster = await startSharedCluster({ log: (message) => trouble.push(message) });
    operator = await startOperatorProcess(cluster);
    await applyText(cluster, await exampleText('ec2nodeclass.yaml'));
    await cluster.kubectl('wait', '--for=condition=Ready', 'ec2nodeclass/default', '--timeout=120s');
    await applyText(cluster, await exampleText('nodepool.yaml'), await exampleText('inflate.yaml'));
  }, 180_000);
  afterAll(async () => {
    await operator?.stop();
    await cluster?.stop();
  }, 60_000);

  const pods = async (): Promise<readonly Pod[]> =>
    (await cluster.kube.list(POD, { labelSelector: 'app=inflate' })).items.filter(
      ({ metadata }) => !metadata.deletionTimestamp,
    );
  const running = async (): Promise<readonly Pod[]> =>
    (await pods()).filter((pod) => pod.status?.phase === 'Running' && isTrue(pod, 'Ready'));
  const nodes = async (): Promise<readonly Node[]> =>
    (await cluster.kube.list(NODE, { labelSelector: NODEPOOL_LABEL })).items;
  const instances = (): readonly LocalInstance[] =>
    cluster.world.aws.instances.list().filter(({ state }) => state === 'pending' || state === 'running');
  const scale = (replicas: number): Promise<KubeObject> =>
    cluster.kube.patch(DEPLOYMENT, { name: 'inflate', namespace: 'default' }, { spec: { replicas } });
  const wait = <T>(what: string, probe: Parameters<typeof until<T>>[2]): Promise<T> =>
    until(cluster, what, probe).catch((error: unknown) => {
      const last = operator.lines().slice(-20);
      throw new Error(`${String(error)}\n--- operator\n${last.map((line) => JSON.stringify(line)).join('\n')}`);
    });
  const allRunning = (): Promise<boolean> =>
    wait(`${REPLICAS} running pods`, async () => (await running()).length === REPLICAS);

  it('launches nodes for pending pods, and kube-scheduler binds all pods', async () => {
    await scale(REPLICAS);
    await allRunning();

    const claims = (await cluster.kube.list(NODE_CLAIM)).items;
    expect(await nodes()).toHaveLength(claims.length);
    expect(instances()).toHaveLength(claims.length);
    const names = (await nodes()).map(({ metadata }) => metadata.name);
    for (const pod of await running()) expect(names).toContain(pod.spec.nodeName);
    await wait('initialized claims', async () =>
      (await cluster.kube.list(NODE_CLAIM)).items.every((claim) => isTrue(claim, 'Initialized')),
    );
    const bound = (await cluster.kube.list(EVENT, { fieldSelector: 'reason=Scheduled' })).items;
    expect(bound.length).toBeGreaterThanOrEqual(REPLICAS);
  }, 120_000);

  it('prints its decisions in kubectl', async () => {
    const table = await cluster.kubectl('get', 'nodeclaims,nodepools,ec2nodeclasses');
    expect(table).toMatch(/^NAME +TYPE +CAPACITY +ZONE +NODE +READY +AGE/m);
    expect(table).toMatch(/nodeclaim\S+ +\S+ +spot +us-west-2\w +ip-\S+ +True/);
    expect(table).toMatch(/nodepool\S+default +default +\d+ +True/);
    const [claim] = (await cluster.kube.list(NODE_CLAIM)).items;
    const told = await cluster.kubectl('describe', 'nodeclaim', claim?.metadata.name ?? '');
    expect(told).toMatch(new RegExp(`Provider ID: +${claim?.status?.providerID}$`, 'm'));
    expect(told).toMatch(/Normal +Registered +\S+ +karpenter +Status condition transitioned, Type: Registered/);
  }, 60_000);

  it('drains an interrupted spot node within a disruption budget, and replaces it', async () => {
    await cluster.kube.create(POD_DISRUPTION_BUDGET, {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'inflate', namespace: 'default' },
      spec: { maxUnavailable: 1, selector: { matchLabels: { app: 'inflate' } } },
    });
    await wait('the budget to be observed', async () => {
      const budget = await cluster.kube.find(POD_DISRUPTION_BUDGET, { name: 'inflate', namespace: 'default' });
      return (budget?.status?.disruptionsAllowed ?? 0) === 1;
    });
    const spot = instances().find(({ capacityType }) => capacityType === 'spot');
    if (spot === undefined) throw new Error('no spot instance was bought');
    let fewest = REPLICAS;
    cluster.world.aws.faults.interrupt(spot.id);
    await wait('the interrupted claim to go', async () => {
      fewest = Math.min(fewest, (await running()).length);
      const claims = (await cluster.kube.list(NODE_CLAIM)).items;
      return claims.every((claim) => !claim.status?.providerID?.endsWith(spot.id));
    });
    await allRunning();

    expect(fewest).toBeGreaterThanOrEqual(REPLICAS - 1);
    expect(instances().map(({ id }) => id)).not.toContain(spot.id);
    const evictions = (await cluster.audit()).filter(({ objectRef }) => objectRef?.subresource === 'eviction');
    expect(evictions.length).toBeGreaterThan(0);
    const told = await cluster.kube.list(EVENT, { fieldSelector: 'reason=SpotInterrupted' });
    expect(told.items.length).toBeGreaterThan(0);
  }, 120_000);

  it('deletes every node after the pods are deleted', async () => {
    await scale(0);
    await wait('no claims', async () => (await cluster.kube.list(NODE_CLAIM)).items.length === 0);
    await wait('no instances', () => instances().length === 0);
    await wait('no nodes', async () => (await nodes()).length === 0);
  }, 120_000);

  it('has no denied request, and logs no error', async () => {
    const requests = await cluster.audit();
    expect(requests.length).toBeGreaterThan(100);
    expect(forbidden(requests)).toEqual([]);
    expect(operator.lines().filter(({ level }) => level === 'ERROR')).toEqual([]);
    expect(trouble).toEqual([]);
  });

  it('has no right to patch pods, because settings.podDeletionCost is off', async () => {
    expect(await grantedRules(cluster)).not.toContain('patch /pods');
  });

  it('uses every rule of the chart except rules that Karpenter grants for other features', async () => {
    const unused = unusedGrants(await grantedRules(cluster), await cluster.audit());
    expect(unused.filter((grant) => !SPARE.some((pattern) => pattern.test(grant)))).toEqual([]);
  });
});

/** The gang scheduling of Kubernetes 1.36: kube-scheduler binds PodGroups as a whole, and the operator launches for them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { JOB, type KubeObject, NODE_CLAIM, POD, type Pod } from '#api/objects';
import { pool } from '../operator/pools.ts';
import { applyText, type Cluster, exampleText, startCluster, until, VALUES, type Values } from './harness/cluster.ts';
import { type OperatorProcess, startOperatorProcess } from './harness/operators.ts';

const GROUP = 'scheduling.k8s.io/v1alpha2';
const GATES = ['GenericWorkload', 'GangScheduling', 'WorkloadWithJob'];
/** Several passes. */
const PASSES_MS = 5_000;

let cluster: Cluster;
let operator: OperatorProcess;

beforeAll(async () => {
  cluster = await startCluster({
    plane: { featureGates: GATES, apiServerFlags: [`--runtime-config=${GROUP}=true`] },
    values: { ...VALUES, settings: { ...(VALUES.settings as Values), featureGates: { podGroup: true } } },
  });
  await applyText(cluster, await exampleText('ec2nodeclass.yaml'));
  operator = await startOperatorProcess(cluster, { DISABLE_LEADER_ELECTION: 'true', BATCH_IDLE_DURATION: '0.5s' });
}, 180_000);
afterAll(async () => {
  await operator?.stop();
  await cluster?.stop();
}, 60_000);

const apply = (...objects: readonly unknown[]): Promise<void> =>
  applyText(cluster, ...objects.map((object) => JSON.stringify(object)));

/** A NodePool with at most this number of nodes, for pods that select it. */
function poolOf(name: string, nodes: number): unknown {
  const { spec, ...rest } = pool({ name, consolidateAfter: 'Never' }) as KubeObject & { readonly spec: object };
  return { ...rest, spec: { ...spec, limits: { nodes: String(nodes) } } };
}

/** Each pod fills a node. */
const podSpec = (nodePool: string): object => ({
  nodeSelector: { 'karpenter.sh/nodepool': nodePool },
  containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu: '5' } } }],
});

/** A PodGroup with its pods, all of which must run. */
const gang = (name: string, nodePool: string, pods: number): readonly unknown[] => [
  {
    apiVersion: GROUP,
    kind: 'PodGroup',
    metadata: { name, namespace: 'default' },
    spec: { schedulingPolicy: { gang: { minCount: pods } } },
  },
  ...Array.from({ length: pods }, (_, at) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `${name}-${at}`, namespace: 'default', labels: { app: name } },
    spec: { ...podSpec(nodePool), schedulingGroup: { podGroupName: name } },
  })),
];

const podsOf = async (labelSelector: string): Promise<readonly Pod[]> =>
  (await cluster.kube.list(POD, { namespace: 'default', labelSelector })).items;
const bound = async (labelSelector: string): Promise<number> =>
  (await podsOf(labelSelector)).filter(({ spec }) => spec.nodeName !== undefined).length;
const claims = async (nodePool: string): Promise<number> =>
  (await cluster.kube.list(NODE_CLAIM, { labelSelector: `karpenter.sh/nodepool=${nodePool}` })).items.length;
const fleets = (): number => cluster.world.aws.calls.recorded('CreateFleet').length;

/** Numbers of pods and NodeClaims of the plans for a NodePool. */
const plans = (): readonly (readonly [pods: number, nodeClaims: number])[] =>
  operator
    .lines()
    .filter(({ message }) => message === 'computed new nodeclaim(s) to fit pod(s)')
    .map(({ pods, nodeclaims }) => [Number(pods), Number(nodeclaims)]);

const refusal = (text: string): Promise<unknown> =>
  until(cluster, text, () => operator.lines().some(({ error }) => String(error).includes(text)));

/** Returns the condition `PodGroupScheduled`. */
async function scheduled(name: string): Promise<string | undefined> {
  const { status } = (await cluster.kube.raw(
    'GET',
    `/apis/${GROUP}/namespaces/default/podgroups/${name}`,
  )) as KubeObject & {
    readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
  };
  return status?.conditions?.find(({ type }) => type === 'PodGroupScheduled')?.status;
}

describe('a PodGroup of eight pods that fill a node each', () => {
  it('requests no instances while four nodes are allowed, and is bound by kube-scheduler after one plan for eight', async () => {
    await apply(poolOf('eight', 4));
    await until(cluster, 'a validated EC2NodeClass', () => fleets() > 0);
    const before = fleets();
    await apply(...gang('train', 'eight', 8));
    await refusal('gang train needs 8 pods together, room for 4: NodePool "eight"');
    await sleep(PASSES_MS);
    expect([fleets() - before, await claims('eight'), await bound('app=train')]).toEqual([0, 0, 0]);
    expect(await scheduled('train')).toBe('False');

    await apply(poolOf('eight', 8));
    await until(cluster, 'eight bound pods', async () => (await bound('app=train')) === 8);
    expect([plans(), await claims('eight')]).toEqual([[[8, 8]], 8]);
    await until(cluster, 'a scheduled PodGroup', async () => (await scheduled('train')) === 'True');
  }, 120_000);
});

describe('two PodGroups of six pods with room for eight', () => {
  it('end with one that is complete and one without a pod', async () => {
    const earlier = plans().length;
    await apply(poolOf('two', 8));
    await apply(...gang('first', 'two', 6), ...gang('second', 'two', 6));
    const both = async (): Promise<readonly number[]> =>
      [await bound('app=first'), await bound('app=second')].toSorted((one, other) => one - other);
    await until(cluster, 'six bound pods', async () => (await both())[1] === 6);
    await refusal('needs 6 pods together, room for 2: NodePool "two"');
    await sleep(PASSES_MS);
    expect([await both(), await claims('two'), plans().slice(earlier)]).toEqual([[0, 6], 6, [[6, 6]]]);
  }, 120_000);
});

describe('an indexed Job of four pods', () => {
  it('gets its PodGroup from the Job controller, and nodes in one plan', async () => {
    const earlier = plans().length;
    await apply(poolOf('job', 4));
    await apply({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'indexed', namespace: 'default' },
      spec: {
        completionMode: 'Indexed',
        completions: 4,
        parallelism: 4,
        template: { spec: { ...podSpec('job'), restartPolicy: 'Never' } },
      },
    });
    await until(cluster, 'four bound pods', async () => (await bound('job-name=indexed')) === 4);
    const groups = new Set((await podsOf('job-name=indexed')).map(({ spec }) => spec.schedulingGroup?.podGroupName));
    expect([...groups]).toEqual([expect.stringContaining('indexed')]);
    expect([plans().slice(earlier), await claims('job')]).toEqual([[[4, 4]], 4]);
    expect(await cluster.kube.find(JOB, { name: 'indexed', namespace: 'default' })).toBeDefined();
  }, 120_000);
});

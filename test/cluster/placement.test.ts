/** kube-scheduler confirms the engine's placements: pods with every kind of constraint, planned in one solve. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type KubeObject, NODE, NODE_CLAIM, POD, type Pod } from '#api/objects';
import { deployment } from '../operator/harness.ts';
import { apart, pool } from '../operator/pools.ts';
import { applyText, type Cluster, exampleText, startSharedCluster, until } from './harness/cluster.ts';
import { type OperatorProcess, startOperatorProcess } from './harness/operators.ts';

const ZONE = 'topology.kubernetes.io/zone';
const HOST = 'kubernetes.io/hostname';

const selects = (app: string) => ({ labelSelector: { matchLabels: { app } } });
const spread = (app: string, topologyKey: string, more: object = {}) => ({
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey, whenUnsatisfiable: 'DoNotSchedule', ...selects(app), ...more },
  ],
});
const zoneIn = (...values: readonly string[]) => ({
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchExpressions: [{ key: ZONE, operator: 'In', values }] }],
    },
  },
});
const container = (name: string, requests: Record<string, string>, more: object = {}) => ({
  name,
  image: 'pause',
  resources: { requests },
  ...more,
});

/** Restricts pods to nodes of one NodePool with a taint. */
const onlyIn = (nodePool: string) => ({
  nodeSelector: { 'karpenter.sh/nodepool': nodePool },
  tolerations: [{ key: 'dedicated', operator: 'Equal', value: nodePool, effect: 'NoSchedule' }],
});

/** Name, replicas, pod spec, and requests of the container. */
const WORKLOADS: readonly (readonly [string, number, Record<string, unknown>, Record<string, string>?])[] = [
  ['plain', 5, {}],
  ['zones', 7, spread('zones', ZONE)],
  ['zones-at-least-two', 3, spread('zones-at-least-two', ZONE, { minDomains: 2 })],
  ['zones-by-revision', 4, spread('zones-by-revision', ZONE, { matchLabelKeys: ['pod-template-hash'] })],
  ['zones-of-taint', 3, spread('zones-of-taint', ZONE, { nodeTaintsPolicy: 'Honor' })],
  ['hosts', 4, spread('hosts', HOST), { cpu: '500m' }],
  ['apart', 3, apart('apart'), { cpu: '300m' }],
  [
    'together',
    4,
    {
      // With other pods on these nodes, kube-scheduler could bind the first pod to a node without room for the rest.
      ...onlyIn('shared'),
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [{ ...selects('together'), topologyKey: HOST }],
        },
      },
    },
    { cpu: '600m' },
  ],
  [
    'near-apart',
    2,
    {
      affinity: {
        podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ ...selects('apart'), topologyKey: ZONE }] },
      },
    },
  ],
  [
    'not-with-plain',
    2,
    {
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [{ ...selects('plain'), topologyKey: HOST }],
        },
      },
    },
  ],
  ['zone-b', 2, { affinity: zoneIn('us-west-2b') }],
  ['arm', 2, { nodeSelector: { 'kubernetes.io/arch': 'arm64' } }],
  ['on-demand', 2, { nodeSelector: { 'karpenter.sh/capacity-type': 'on-demand' } }],
  ['tolerant', 2, onlyIn('tainted')],
  [
    'ports',
    3,
    { containers: [container('main', { cpu: '100m' }, { ports: [{ containerPort: 80, hostPort: 8080 }] })] },
  ],
  [
    'starts-large',
    2,
    {
      initContainers: [
        container('side', { cpu: '250m', memory: '256Mi' }, { restartPolicy: 'Always' }),
        container('setup', { cpu: '1500m' }),
      ],
    },
    { cpu: '200m' },
  ],
  ['as-a-whole', 2, { resources: { requests: { cpu: '700m', memory: '300Mi' } } }, { cpu: '50m' }],
  ['storage', 2, {}, { cpu: '100m', 'ephemeral-storage': '4Gi' }],
  ['zonal-volume', 1, { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] }],
];
const PODS = WORKLOADS.reduce((sum, [, replicas]) => sum + replicas, 0);

/** A DaemonSet that tolerates every taint. */
const DAEMON = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'agent', namespace: 'default' },
  spec: {
    selector: { matchLabels: { app: 'agent' } },
    template: {
      metadata: { labels: { app: 'agent' } },
      spec: {
        tolerations: [{ operator: 'Exists' }],
        containers: [container('main', { cpu: '350m', memory: '200Mi' })],
      },
    },
  },
};

/** A volume in a single zone, created beforehand and bound to its claim. */
const VOLUME: readonly unknown[] = [
  {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'data' },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      storageClassName: '',
      claimRef: { namespace: 'default', name: 'data' },
      csi: { driver: 'ebs.csi.aws.com', volumeHandle: 'vol-1' },
      nodeAffinity: { required: zoneIn('us-west-2b').nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution },
    },
  },
  {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data', namespace: 'default' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: '',
      volumeName: 'data',
      resources: { requests: { storage: '1Gi' } },
    },
  },
];

/** A NodePool with a taint for pods that tolerate it. */
const tainted = (name: string): KubeObject => {
  const made = pool({ name, cpus: [4] }) as KubeObject & { spec: { template: { spec: object } } };
  const taints = [{ key: 'dedicated', value: name, effect: 'NoSchedule' }];
  Object.assign(made.spec.template.spec, { taints });
  return made;
};

/**
 * kube-scheduler binds pods as their nodes become ready, and chooses between several nodes, so a few pods may find
 * their planned node full.
 */
const FEW = PODS / 5;
const UNUSED = 2;

describe('a pod with any kind of constraint', () => {
  let cluster: Cluster;
  let operator: OperatorProcess;

  beforeAll(async () => {
    cluster = await startSharedCluster();
    const objects = [
      ...VOLUME,
      DAEMON,
      tainted('tainted'),
      tainted('shared'),
      ...WORKLOADS.map(([name, replicas, pod, requests = { cpu: '400m' }]) =>
        deployment(name, replicas, pod, requests),
      ),
    ];
    await applyText(
      cluster,
      await exampleText('ec2nodeclass.yaml'),
      await exampleText('nodepool.yaml'),
      ...objects.map((object) => JSON.stringify(object)),
    );
    // All pods exist before the operator starts, so that they are planned together.
    await until(cluster, 'pods that kube-scheduler has no place for', async () => {
      const found = await pods();
      return found.length === PODS && found.every(({ status }) => status?.conditions?.[0]?.reason === 'Unschedulable');
    });
    operator = await startOperatorProcess(cluster, { DISABLE_LEADER_ELECTION: 'true' });
  }, 180_000);
  afterAll(async () => {
    await operator?.stop();
    await cluster?.stop();
  }, 60_000);

  const pods = async (): Promise<readonly Pod[]> =>
    (await cluster.kube.list(POD)).items.filter(
      ({ metadata }) => metadata.namespace === 'default' && metadata.labels?.app !== 'agent',
    );

  it('is bound by kube-scheduler, nearly always to a node of the first plan', async () => {
    const waiting = async (): Promise<readonly string[]> =>
      (await pods())
        .filter(({ status }) => status?.phase !== 'Running')
        .map(({ metadata, status }) => `${metadata.name}: ${status?.conditions?.[0]?.message ?? ''}`);
    await until(cluster, 'running pods', async () => (await waiting()).length === 0, 120_000).catch(async (error) => {
      throw new Error(`${(await waiting()).join('\n')}\n${String(error)}`);
    });

    const plans = operator.lines().filter(({ message }) => message === 'computed new nodeclaim(s) to fit pod(s)');
    const [first, ...later] = plans.map((plan) => Number(plan.pods));
    expect(first).toBe(PODS);
    expect(later.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(FEW);
    const claims = (await cluster.kube.list(NODE_CLAIM)).items;
    expect(claims).toHaveLength(plans.reduce((sum, plan) => sum + Number(plan.nodeclaims), 0));
  }, 180_000);

  it('uses the launched nodes, except at most two', async () => {
    const used = new Set((await pods()).map(({ spec }) => spec.nodeName));
    const bought = (await cluster.kube.list(NODE, { labelSelector: 'karpenter.sh/nodepool' })).items;
    const unused = bought.map(({ metadata }) => metadata.name).filter((name) => !used.has(name));
    expect(unused.length).toBeLessThanOrEqual(UNUSED);
  });
});

/**
 * Pods with scheduling constraints get suitable nodes from one scheduling pass, and the local world's scheduler binds
 * them.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  ARCH_LABEL,
  CAPACITY_TYPE_LABEL,
  HOSTNAME_LABEL,
  type KubeObject,
  NODEPOOL_LABEL,
  type Node,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  STORAGE_CLASS,
  type StorageClass,
  ZONE_LABEL,
} from '#api/objects';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { apart, BRISK, type PoolShape, pool } from './pools.ts';

// Until there are nodes in all three zones, each zone takes at most one pod.
const spreadOverZones = (app: string, more: object = { minDomains: 3 }) => ({
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      ...more,
      topologyKey: ZONE_LABEL,
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { app } },
    },
  ],
});

const prefers = (...wishes: readonly (readonly [weight: number, key: string, value: string])[]) => ({
  affinity: {
    nodeAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: wishes.map(([weight, key, value]) => ({
        weight,
        preference: { matchExpressions: [{ key, operator: 'In', values: [value] }] },
      })),
    },
  },
});

function prefersNoNodePool() {
  const preference = { matchExpressions: [{ key: NODEPOOL_LABEL, operator: 'DoesNotExist' }] };
  return {
    affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference }] } },
  };
}

function nearAgents() {
  const term = { topologyKey: HOSTNAME_LABEL, labelSelector: { matchLabels: { app: 'agent' } } };
  return { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } };
}

/** Preferred zones and on-demand nodes cost more than other spot nodes of the same NodePools. */
const PREFERENCES_AT_ANY_PRICE = {
  apiVersion: 'karpenter-ts.sh/v1alpha1',
  kind: 'NodePolicy',
  metadata: { name: 'any-price' },
  spec: { nodePools: { names: ['picky', 'steady'] }, preferences: { worth: '9999%' } },
} as KubeObject;

const AGENT = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'agent', namespace: 'default' },
  spec: {
    selector: { matchLabels: { app: 'agent' } },
    template: {
      metadata: { labels: { app: 'agent' } },
      spec: {
        tolerations: [{ operator: 'Exists' }],
        containers: [{ name: 'agent', image: 'pause', resources: { requests: { cpu: '50m' } } }],
      },
    },
  },
} as KubeObject;

/** Gives pods a pool of their own. A scheduler satisfies a preference only if other nodes do not suit as well. */
const onOwnPool = (app: string) => ({
  nodeSelector: { [NODEPOOL_LABEL]: app },
  tolerations: [{ key: 'dedicated', operator: 'Equal', value: app, effect: 'NoSchedule' }],
});

/** Storage class whose volumes are created in zone b once their pod has a node. */
const STORAGE: Pick<StorageClass, 'provisioner' | 'volumeBindingMode' | 'allowedTopologies'> = {
  provisioner: 'ebs.csi.aws.com',
  volumeBindingMode: 'WaitForFirstConsumer',
  allowedTopologies: [{ matchLabelExpressions: [{ key: ZONE_LABEL, values: ['us-west-2b'] }] }],
};

const WORKLOADS: readonly (readonly [string, number, Record<string, unknown>, Record<string, string>])[] = [
  ['spread', 6, spreadOverZones('spread'), { cpu: '500m' }],
  ['apart', 3, apart('apart'), { cpu: '500m' }],
  ['stateful', 1, { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] }, { cpu: '500m' }],
  ['learner', 2, {}, { cpu: '2', 'nvidia.com/gpu': '1' }],
  // The zone exists, so this preference is satisfied. The architecture does not exist, so that one is relaxed.
  [
    'picky',
    2,
    { ...onOwnPool('picky'), ...prefers([10, ZONE_LABEL, 'us-west-2c'], [5, ARCH_LABEL, 's390x']) },
    { cpu: '500m' },
  ],
  ['steady', 1, { ...onOwnPool('steady'), ...prefers([100, CAPACITY_TYPE_LABEL, 'on-demand']) }, { cpu: '500m' }],
  // A NodePool whose zone does not exist adds no domain.
  ['even', 6, spreadOverZones('even', {}), { cpu: '500m' }],
  ['unpreferred', 1, prefersNoNodePool(), { cpu: '500m' }],
  ['relay', 1, nearAgents(), { cpu: '500m' }],
];

/** Returns a NodePool with changed settings in the spec of its template. */
function poolWith(shape: PoolShape, settings: object): KubeObject {
  const made = pool(shape) as KubeObject & { spec: { template: { spec: object } } };
  Object.assign(made.spec.template.spec, settings);
  return made;
}

const EITHER: PoolShape = { cpus: [4, 8], capacityTypes: ['spot', 'on-demand'], consolidateAfter: 'Never' };
const ownPool = (app: string): KubeObject =>
  poolWith({ ...EITHER, name: app }, { taints: [{ key: 'dedicated', value: app, effect: 'NoSchedule' }] });

/** Returns a NodePool of GPU instances, for pods that request a GPU. */
const gpuPool = (): KubeObject =>
  poolWith(
    { name: 'gpu', consolidateAfter: 'Never' },
    {
      requirements: [
        { key: 'karpenter.k8s.aws/instance-gpu-manufacturer', operator: 'In', values: ['nvidia'] },
        { key: CAPACITY_TYPE_LABEL, operator: 'In', values: ['on-demand'] },
      ],
    },
  );

describe('a pod with scheduling constraints', () => {
  let scenario: Scenario;
  let nodes: ReadonlyMap<string, Node>;

  beforeAll(async () => {
    scenario = await startScenario({ ...BRISK, env: {} });
    const { kube } = scenario;
    await kube.create(STORAGE_CLASS, {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: 'zonal' },
      ...STORAGE,
    });
    await kube.create(PERSISTENT_VOLUME_CLAIM, {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'data', namespace: 'default' },
      spec: {
        storageClassName: 'zonal',
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '1Gi' } },
      },
    });
    await scenario.apply(
      ...scenario.example('ec2nodeclass.yaml'),
      pool(EITHER),
      gpuPool(),
      ownPool('picky'),
      ownPool('steady'),
      poolWith({ name: 'nowhere' }, { requirements: [{ key: ZONE_LABEL, operator: 'In', values: ['us-west-2z'] }] }),
      AGENT,
      PREFERENCES_AT_ANY_PRICE,
      ...WORKLOADS.map((workload) => deployment(...workload)),
    );
    for (const [app, replicas] of WORKLOADS)
      await scenario.until(
        `${replicas} running pods of ${app}`,
        async () => (await scenario.running(app)).length === replicas,
        120_000,
      );
    nodes = new Map((await scenario.nodes()).map((node) => [node.metadata.name, node]));
  }, 300_000);
  afterAll(async () => {
    await scenario.stop();
  }, 60_000);

  /** Returns the values of a label on the nodes of an app's pods, one per pod. */
  const places = async (app: string, key: string): Promise<readonly (string | undefined)[]> =>
    (await scenario.running(app)).map(({ spec }) => nodes.get(spec.nodeName ?? '')?.metadata.labels?.[key]).sort();

  it('is spread over the zones', async () => {
    const zones = ['us-west-2a', 'us-west-2b', 'us-west-2c'];
    expect(await places('spread', ZONE_LABEL)).toEqual(zones.flatMap((zone) => [zone, zone]));
  });

  it('is spread although a NodePool has a zone that does not exist', async () => {
    expect(await places('even', ZONE_LABEL)).toHaveLength(6);
  });

  it('gets a node with a pod of the DaemonSet that it needs', async () => {
    const [relay] = await scenario.running('relay');
    const agents = await scenario.running('agent');
    expect(agents.map(({ spec }) => spec.nodeName)).toContain(relay?.spec.nodeName);
  });

  it('runs apart from other pods if it has anti-affinity', async () => {
    expect(new Set(await places('apart', HOSTNAME_LABEL)).size).toBe(3);
  });

  it('runs in the zone of its volume, which is created there', async () => {
    expect(await places('stateful', ZONE_LABEL)).toEqual(['us-west-2b']);
    const [volume, ...others] = (await scenario.kube.list(PERSISTENT_VOLUME)).items;
    expect(others).toEqual([]);
    expect(volume?.spec.claimRef?.name).toBe('data');
    expect(JSON.stringify(volume?.spec.nodeAffinity)).toContain('us-west-2b');
  });

  it('gets a node with the devices that it requests', async () => {
    const makers = await places('learner', 'karpenter.k8s.aws/instance-gpu-manufacturer');
    expect(makers).toEqual(['nvidia', 'nvidia']);
  });

  it('has satisfiable preferences respected and other preferences relaxed', async () => {
    expect(await places('picky', ZONE_LABEL)).toEqual(['us-west-2c', 'us-west-2c']);
    expect(await places('steady', CAPACITY_TYPE_LABEL)).toEqual(['on-demand']);
  });
});

/** Devices for resource claims, from the claim template to the running pod. Drivers are pods that publish devices of nodes. */
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  DAEMON_SET,
  DEVICE_CLASS,
  INSTANCE_TYPE_LABEL,
  type KubeObject,
  type NodePool,
  RESOURCE_CLAIM,
  RESOURCE_SLICE,
  type ResourceClaim,
} from '#api/objects';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, leaks, pool } from './pools.ts';

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

const GATES = { AWS_FEATURE_GATES: 'DRANVIDIAGPU=true,DRAEFA=true' };

const begin = async (env: Readonly<Record<string, string>> = GATES): Promise<void> => {
  scenario = await startScenario({ ...BRISK, env: { ...BRISK.env, ...env } });
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), ...scenario.example('dra/drivers.yaml'));
};

const runs = (app: string, count: number): Promise<true> =>
  scenario.until(`${count} running pods of ${app}`, async () => (await scenario.running(app)).length === count, 60_000);

const typesOfNodes = async (): Promise<readonly (string | undefined)[]> =>
  (await scenario.nodes()).map(({ metadata }) => metadata.labels?.[INSTANCE_TYPE_LABEL]).sort();

const claims = async (): Promise<readonly ResourceClaim[]> => (await scenario.kube.list(RESOURCE_CLAIM)).items;
const resultsOf = ({ status }: ResourceClaim) => status?.allocation?.devices?.results ?? [];

const settles = (): Promise<true> =>
  scenario.until('a tidy world', async () => (await leaks(scenario)).length === 0, 60_000);

describe('the example', () => {
  it('launches a node for the claim of a GPU, and removes it after the pod', async () => {
    await begin();
    await scenario.apply(...scenario.example('dra/gpu.yaml'));
    await runs('inference', 1);
    const [claim, ...others] = await scenario.claims();
    expect(others).toEqual([]);
    expect(claim?.metadata.annotations?.['karpenter.sh/requested-dra-drivers']).toBe('gpu.nvidia.com');
    expect(await typesOfNodes()).toEqual([expect.stringMatching(/^g[56]\./)]);
    const [device] = (await claims()).flatMap(resultsOf);
    expect(device).toMatchObject({ request: 'gpu', driver: 'gpu.nvidia.com', device: 'gpu-0' });
    expect(device?.pool).toBe((await scenario.nodes())[0]?.metadata.name);

    await scenario.scale('inference', 0);
    await scenario.until('no node', async () => (await scenario.nodes()).length === 0, 60_000);
    expect(await claims()).toEqual([]);
    expect((await scenario.kube.list(RESOURCE_SLICE)).items).toEqual([]);
  }, 300_000);

  it('runs seven pods on one GPU with MIG partitions', async () => {
    await begin();
    await scenario.apply(...scenario.example('dra/mig.yaml'));
    await runs('notebooks', 7);
    expect(await typesOfNodes()).toEqual(['p5.4xlarge']);
    const devices = (await claims()).flatMap(resultsOf).map(({ device }) => device);
    expect(devices.sort()).toEqual([0, 1, 2, 3, 4, 5, 6].map((index) => `gpu-0-mig-1g-${index}`));
    await settles();
  }, 300_000);

  it('aligns EFA interfaces with the GPU, and attaches them at launch', async () => {
    await begin();
    await scenario.apply(...scenario.example('dra/efa.yaml'));
    await runs('training', 2);
    expect(await typesOfNodes()).toEqual(['p5.48xlarge']);
    expect(scenario.instances()[0]?.interfaces.filter(({ type }) => type.startsWith('efa'))).toHaveLength(32);
    const slices = (await scenario.kube.list(RESOURCE_SLICE)).items;
    const rootOf = (name: string) =>
      slices.flatMap(({ spec }) => spec.devices ?? []).find((each) => each.name === name)?.attributes?.[
        'resource.kubernetes.io/pcieRoot'
      ]?.string;
    for (const claim of await claims()) {
      const devices = resultsOf(claim).map(({ device }) => device);
      expect(devices).toHaveLength(5);
      expect(new Set(devices.map(rootOf)).size).toBe(1);
    }
  }, 300_000);
});

const POOLS = 'local.karpenter-ts.sh/dra-pools';

/** Lets the GPU driver publish other pools than the machine has. */
const publishInstead = (pools: readonly object[]): Promise<unknown> =>
  scenario.kube.patch(
    DAEMON_SET,
    { name: 'dra-driver-nvidia', namespace: 'kube-system' },
    { spec: { template: { metadata: { annotations: { [POOLS]: JSON.stringify(pools) } } } } },
  );

const eventThat = (reason: string, text: string): Promise<true> =>
  scenario.until(
    `the event ${reason}`,
    async () => (await scenario.events(reason)).some(({ message }) => message.includes(text)),
    60_000,
  );

const driver = (name: string, pools: readonly object[]): KubeObject =>
  ({
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: 'driver', namespace: 'kube-system' },
    spec: {
      selector: { matchLabels: { app: 'driver' } },
      template: {
        metadata: {
          labels: { app: 'driver' },
          annotations: { 'local.karpenter-ts.sh/dra-driver': name, [POOLS]: JSON.stringify(pools) },
        },
        spec: { tolerations: [{ operator: 'Exists' }], containers: [{ name: 'driver', image: 'pause' }] },
      },
    },
  }) as KubeObject;

/** NodePool of the examples with one instance type. */
function onlyType(type: string, consolidateAfter: string): KubeObject {
  const nodePool = scenario.example('dra/drivers.yaml').find(({ kind }) => kind === 'NodePool') as NodePool;
  const { template } = nodePool.spec;
  const requirement = { key: INSTANCE_TYPE_LABEL, operator: 'In' as const, values: [type] };
  const requirements = [...template.spec.requirements, requirement];
  const disruption = { consolidateAfter, budgets: [{ nodes: '100%' }] };
  const spec = { ...nodePool.spec, template: { ...template, spec: { ...template.spec, requirements } }, disruption };
  return { ...nodePool, spec } as KubeObject;
}

const ofClass = (deviceClassName: string) => ({
  devices: { requests: [{ name: 'gpu', exactly: { deviceClassName } }] },
});
const resource = (kind: string, name: string, spec: object): KubeObject =>
  ({ apiVersion: 'resource.k8s.io/v1', kind, metadata: { name }, spec }) as KubeObject;

describe('a pod with a claim', () => {
  it('gets no node while claims are ignored', async () => {
    await begin({});
    await scenario.apply(...scenario.example('dra/gpu.yaml'));
    await eventThat('FailedScheduling', 'not yet supported by Karpenter');
    expect(await scenario.claims()).toEqual([]);
  }, 120_000);

  it('runs beside the other pods of a named claim', async () => {
    await begin();
    const pod = { resourceClaims: [{ name: 'gpu', resourceClaimName: 'shared' }] };
    await scenario.apply(resource('ResourceClaim', 'shared', ofClass('gpu.nvidia.com')), deployment('web', 2, pod));
    await runs('web', 2);
    expect(new Set((await scenario.pods('web')).map(({ spec }) => spec.nodeName)).size).toBe(1);
    expect(await scenario.claims()).toHaveLength(1);
  }, 180_000);

  it('gets a node with the devices that another node of its type published', async () => {
    await begin({ IGNORE_DRA_REQUESTS: 'false' });
    const pod = { resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 'one' }] };
    await scenario.apply(
      pool({ cpus: [8] }),
      driver('x.example.com', [{ devices: [{ name: 'x-0' }] }]),
      resource('DeviceClass', 'x', { selectors: [{ cel: { expression: "device.driver == 'x.example.com'" } }] }),
      resource('ResourceClaimTemplate', 'one', { spec: ofClass('x') }),
      deployment('web', 1, { terminationGracePeriodSeconds: 0 }),
    );
    await runs('web', 1);
    await scenario.pass(60_000);
    await scenario.apply(deployment('trained', 2, pod));
    await runs('trained', 2);
    const [first, second, ...more] = await typesOfNodes();
    expect([second, more]).toEqual([first, []]);
    const pools = (await claims()).flatMap(resultsOf).map((result) => result.pool);
    expect(pools.sort()).toEqual((await scenario.nodes()).map(({ metadata }) => metadata.name).sort());
  }, 240_000);

  it('moves with its claim when its node is consolidated', async () => {
    await begin();
    await scenario.apply(onlyType('g6.12xlarge', '0s'));
    await scenario.apply(...scenario.example('dra/gpu.yaml'));
    await scenario.scale('inference', 5);
    await runs('inference', 5);
    expect(await typesOfNodes()).toEqual(['g6.12xlarge', 'g6.12xlarge']);
    await scenario.scale('inference', 3);
    await scenario.until('one node', async () => (await scenario.nodes()).length === 1, 60_000);
    await runs('inference', 3);
    expect((await claims()).map((claim) => resultsOf(claim).length)).toEqual([1, 1, 1]);
  }, 240_000);

  it('can request a GPU as an extended resource that a class provides', async () => {
    await begin();
    const patch = { spec: { extendedResourceName: 'nvidia.com/gpu' } };
    await scenario.kube.patch(DEVICE_CLASS, { name: 'gpu.nvidia.com' }, patch);
    await scenario.apply(deployment('web', 1, {}, { cpu: '1', 'nvidia.com/gpu': '1' }));
    await runs('web', 1);
    const [claim] = await claims();
    expect(claim?.metadata.annotations).toEqual({ 'resource.kubernetes.io/extended-resource-claim': 'true' });
    expect(claim === undefined ? [] : resultsOf(claim)).toMatchObject([{ driver: 'gpu.nvidia.com', device: 'gpu-0' }]);
  }, 180_000);
});

describe('a node without the promised devices', () => {
  it('is the only one that is launched if its driver publishes other devices', async () => {
    await begin();
    await scenario.apply(onlyType('g6.xlarge', 'Never'));
    await publishInstead([{ devices: [{ name: 'gpu-0', attributes: { type: { string: 'vfio' } } }] }]);
    await scenario.apply(...scenario.example('dra/gpu.yaml'));
    await eventThat('DeviceTemplateMismatch', 'gpu.nvidia.com');
    await scenario.pass(120_000);
    expect(await typesOfNodes()).toEqual(['g6.xlarge']);
    expect(await scenario.claims()).toHaveLength(1);
  }, 240_000);

  it('stays uninitialized and is reported if its driver publishes nothing', async () => {
    await begin();
    await publishInstead([]);
    await scenario.apply(...scenario.example('dra/gpu.yaml'));
    await scenario.until('the node', async () => (await scenario.nodes()).length === 1, 60_000);
    await scenario.pass(17 * 60_000, 120);
    await eventThat('DRADriverPoolsNotPublished', 'gpu.nvidia.com');
    expect(await scenario.running('inference')).toEqual([]);
  }, 240_000);
});

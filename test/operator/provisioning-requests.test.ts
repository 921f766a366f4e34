/** ProvisioningRequests: capacity for whole sets of pods before they exist. */
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  CONSUME_REQUEST_ANNOTATIONS,
  getCondition,
  type KubeObject,
  type NodePool,
  POD,
  POD_TEMPLATE,
  PROVISIONING_REQUEST,
} from '#api/objects';
import { type Scenario, type ScenarioOptions, startScenario } from './harness.ts';
import { BRISK, leaks, pool } from './pools.ts';

const [CONSUME] = CONSUME_REQUEST_ANNOTATIONS;
const GATE = 'ProvisioningRequest=true';
const NAMESPACE = 'default';
const CONTAINERS = [{ name: 'main', image: 'pause', resources: { requests: { cpu: '5' } } }];

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

const limitedPool = (nodes: number, consolidateAfter = 'Never'): KubeObject => {
  const { spec, ...rest } = pool({ consolidateAfter }) as NodePool;
  return { ...rest, spec: { ...spec, limits: { nodes: String(nodes) } } } as KubeObject;
};

const begin = async (nodes: number, options: ScenarioOptions = {}): Promise<void> => {
  scenario = await startScenario({ ...BRISK, ...options, env: { ...BRISK.env, FEATURE_GATES: GATE } });
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), limitedPool(nodes));
  await scenario.kube.create(POD_TEMPLATE, {
    apiVersion: 'v1',
    kind: 'PodTemplate',
    metadata: { name: 'worker', namespace: NAMESPACE },
    template: { spec: { containers: CONTAINERS } },
  });
};

const request = async (name: string, provisioningClassName: string, count: number): Promise<void> => {
  await scenario.kube.create(PROVISIONING_REQUEST, {
    apiVersion: 'autoscaling.x-k8s.io/v1',
    kind: 'ProvisioningRequest',
    metadata: { name, namespace: NAMESPACE },
    spec: { provisioningClassName, podSets: [{ podTemplateRef: { name: 'worker' }, count }] },
  });
};

const reaches = (name: string, text: string, limitMs = 60_000): Promise<true> =>
  scenario.until(
    `${name} to have ${text}`,
    async () => {
      const found = await scenario.kube.find(PROVISIONING_REQUEST, { name, namespace: NAMESPACE });
      const [type = '', expected] = text.split('=');
      const { status, reason } = (found && getCondition(found, type)) ?? {};
      return `${status}/${reason}` === expected;
    },
    limitMs,
  );

const createPods = async (count: number, name: string): Promise<void> => {
  for (let at = 0; at < count; at++)
    await scenario.kube.create(POD, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: `${name}-${at}`,
        namespace: NAMESPACE,
        labels: { app: name },
        annotations: { [CONSUME]: name },
      },
      spec: { containers: CONTAINERS },
    });
};

const created = (): number => scenario.log.filter(({ message }) => message === 'created nodeclaim').length;

describe('a ProvisioningRequest', () => {
  it('of the class check-capacity launches no nodes, and finds capacity that another request has launched', async () => {
    await begin(2);
    await request('check', 'check-capacity.autoscaling.x-k8s.io', 2);
    await reaches('check', 'Provisioned=False/CapacityIsNotFound');
    await scenario.pass(30_000);
    expect([created(), scenario.instances().length]).toEqual([0, 0]);

    await request('launch', 'best-effort-atomic-scale-up.autoscaling.x-k8s.io', 2);
    await reaches('launch', 'Provisioned=True/CapacityIsProvisioned');
    await scenario.kube.delete(PROVISIONING_REQUEST, { name: 'launch', namespace: NAMESPACE });
    await reaches('check', 'Provisioned=True/CapacityIsFound', 5 * 60_000);
    expect([created(), (await scenario.nodes()).length]).toEqual([2, 2]);
  }, 300_000);

  it('of the class best-effort-atomic-scale-up leaves no instance if the last of eight nodes cannot be launched', async () => {
    await begin(8, { kubelets: { bootMs: 300_000, readyMs: 2_000 } });
    scenario.world.aws.faults.add({ kind: 'capacity', remaining: 7 });
    await request('train', 'best-effort-atomic-scale-up.autoscaling.x-k8s.io', 8);
    await scenario.until('seven instances', () => scenario.instances().length === 7);
    await scenario.until('no instance', () => scenario.instances().length === 0, 2 * 60_000);
    await scenario.until('no NodeClaim', async () => (await scenario.claims()).length === 0, 60_000);
    await reaches('train', 'Provisioned=False/CapacityIsNotFound');
    expect(await leaks(scenario)).toEqual([]);
  }, 300_000);

  it('of the class atomic-scale-up launches nodes once, although the leader stops, and its pods use them', async () => {
    await begin(4);
    await request('train', 'atomic-scale-up.karpenter-ts.sh', 4);
    await scenario.until('NodeClaims', async () => (await scenario.claims()).length === 4);
    await scenario.restartOperator();
    await reaches('train', 'Provisioned=True/CapacityIsProvisioned');
    expect([(await scenario.claims()).length, (await scenario.nodes()).length]).toEqual([4, 4]);

    await createPods(4, 'train');
    await reaches('train', 'BookingExpired=True/CapacityBookingConsumed');
    await scenario.until(
      'running pods',
      async () => (await scenario.pods('train')).filter(({ spec }) => spec.nodeName).length === 4,
    );
    expect([created(), (await scenario.nodes()).length]).toEqual([4, 4]);
    expect(await leaks(scenario)).toEqual([]);
  }, 300_000);
});

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CAPACITY_BUFFER, type CapacityBufferSpec, DEPLOYMENT, getCondition, POD_TEMPLATE } from '#api/objects';
import { World } from '../harness.ts';

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.kill());

const NAMESPACE = 'default';
const GATE = ['--feature-gates=CapacityBuffer=true'];
const spec = (cpu: string) => ({ containers: [{ name: 'main', resources: { requests: { cpu } } }] });

const buffer = (given: CapacityBufferSpec, name = 'spare'): unknown =>
  world.kube.create(CAPACITY_BUFFER, {
    apiVersion: 'autoscaling.x-k8s.io/v1beta1',
    kind: 'CapacityBuffer',
    metadata: { name, namespace: NAMESPACE },
    spec: given,
  });
const podTemplate = (cpu = '1500m'): unknown =>
  world.kube.create(POD_TEMPLATE, {
    apiVersion: 'v1',
    kind: 'PodTemplate',
    metadata: { name: 'small', namespace: NAMESPACE },
    template: { spec: spec(cpu) },
  });
const deployment = (replicas: number): unknown =>
  world.kube.create(DEPLOYMENT, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: NAMESPACE },
    spec: { replicas, template: { spec: spec('1500m') } },
  });
const begin = async (seconds = 15): Promise<void> => {
  world.nodePool();
  world.start(GATE);
  await world.pass(seconds);
};
const found = (name = 'spare') => world.kube.get(CAPACITY_BUFFER, { name, namespace: NAMESPACE });
const says = (type: string, name?: string): string => {
  const condition = getCondition(found(name), type);
  return `${condition?.status} ${condition?.reason}`;
};

describe('a CapacityBuffer that cannot be provisioned', () => {
  it.each<[string, CapacityBufferSpec, RegExp]>([
    [
      'requests more pods than the memory limit allows',
      { replicas: 2 ** 31 - 1 },
      /^Cannot reserve capacity for 2147483647 pods: at most/,
    ],
    ['has a limit that cannot be parsed', { replicas: 1, limits: { cpu: '1e1.5' } }, /^Cannot read quantity "1e1\.5"/],
  ])('reports the error because it %s, and does not block others', async (_, given, message) => {
    podTemplate();
    buffer({ podTemplateRef: { name: 'small' }, ...given });
    await begin(5);
    world.pending(1);
    await world.pass(10);
    expect(world.pods.every(({ spec: { nodeName } }) => nodeName)).toBe(true);
    expect(says('ReadyForProvisioning')).toBe('False ResolutionFailed');
    expect(getCondition(found(), 'ReadyForProvisioning')?.message).toMatch(message);
    expect(world.errors()).toEqual([]);
  });
});

describe('a CapacityBuffer beyond the common limit', () => {
  it('is provisioned up to the memory limit, reports that it is not, and is provisioned when there is room', async () => {
    podTemplate();
    for (const name of ['a', 'b', 'c']) buffer({ podTemplateRef: { name: 'small' }, replicas: 10_000 }, name);
    world.start(GATE);
    await world.pass(3);
    const refused = ['a', 'b', 'c'].filter((name) => says('ReadyForProvisioning', name) === 'False ResolutionFailed');
    expect(refused).toHaveLength(1);
    const [name = ''] = refused;
    expect(getCondition(found(name), 'ReadyForProvisioning')?.message).toMatch(
      /^Cannot reserve capacity for 10000 pods in addition to 20000 pods of other capacity buffers: at most 20000 are allowed in total; decrease/,
    );
    expect(world.cluster.virtualPods.list()).toHaveLength(20_000);
    world.kube.delete(CAPACITY_BUFFER, { name: name === 'a' ? 'b' : 'a', namespace: NAMESPACE });
    await world.pass(35);
    expect(says('ReadyForProvisioning', name)).toBe('True Resolved');
  });
});

describe('a CapacityBuffer', () => {
  it('launches nodes for virtual pods, and keeps the nodes', async () => {
    podTemplate();
    buffer({ podTemplateRef: { name: 'small' }, replicas: 2 });
    await begin(40);

    expect(world.nodes.length).toBeGreaterThan(0);
    expect(found().status).toMatchObject({ replicas: 2, podTemplateRef: { name: 'small' }, podTemplateGeneration: 1 });
    expect(says('ReadyForProvisioning')).toBe('True Resolved');
    expect(says('Provisioning')).toBe('True FitsExistingCapacity');
    const bought = world.nodes.map(({ metadata }) => metadata.name);

    await world.pass(300); // The nodes stay empty for the whole time.
    expect(world.nodes.map(({ metadata }) => metadata.name)).toEqual(bought);
    expect(world.pods).toEqual([]);
    expect(world.eventReasons()).not.toContain('Nominated');
    expect(world.eventReasons()).not.toContain('FailedScheduling');
    expect(world.errors()).toEqual([]);
  });

  it('first reports that it requires new capacity', async () => {
    world.cloud.beforeCreate = () => {
      throw new Error('throttled');
    };
    podTemplate();
    buffer({ podTemplateRef: { name: 'small' }, replicas: 2 });
    await begin();
    expect(says('Provisioning')).toBe('False RequiresNewCapacity');
    expect(getCondition(found(), 'Provisioning')?.message).toBe('2/2 virtual pods required new capacity, 0 failed');
  });

  it('has no effect if the feature gate is disabled', async () => {
    podTemplate();
    buffer({ podTemplateRef: { name: 'small' }, replicas: 2 });
    world.nodePool();
    world.start(['--feature-gates=CapacityBuffer=false']);
    await world.pass(20);
    expect(world.claims).toEqual([]);
    expect(found().status).toBeUndefined();
  });

  it('counts pods that were deleted before others were bound, if it is not filled again', async () => {
    const labels = { app: 'web' };
    world.kube.create(POD_TEMPLATE, {
      apiVersion: 'v1',
      kind: 'PodTemplate',
      metadata: { name: 'labelled', namespace: NAMESPACE },
      template: { metadata: { labels }, spec: spec('3') },
    });
    world.nodePool('default', { disruption: { consolidateAfter: 'Never', budgets: [{ nodes: '100%' }] } });
    world.start(GATE);
    buffer({ podTemplateRef: { name: 'labelled' }, replicas: 3 });
    world.kube.patch(
      CAPACITY_BUFFER,
      { name: 'spare', namespace: NAMESPACE },
      {
        metadata: { annotations: { 'karpenter-ts.sh/buffer-refill': 'never' } },
      },
    );
    await world.pass(60);
    for (const left of [2, 1, 0]) {
      const pods = world.pending(1, '3', 'web');
      await world.pass(10);
      world.removePods(...pods);
      await world.pass(60);
      expect(found().status?.replicas).toBe(left);
    }
    expect(getCondition(found(), 'Fulfilled')?.status).toBe('True');
  });

  it('releases its nodes when it is deleted', async () => {
    podTemplate();
    buffer({ podTemplateRef: { name: 'small' }, replicas: 1 });
    await begin(40);
    expect(world.nodes).toHaveLength(1);
    world.kube.delete(CAPACITY_BUFFER, { name: 'spare', namespace: NAMESPACE });
    await world.pass(90);
    expect(world.nodes).toEqual([]);
  });

  it('yields its room to real pods, and launches new nodes', async () => {
    podTemplate();
    buffer({ podTemplateRef: { name: 'small' }, replicas: 1 });
    await begin(40);
    expect(world.nodes).toHaveLength(1);
    world.deploy('web', 1, '1500m');
    await world.pass(2);
    expect(world.pods[0]?.spec.nodeName).toBe(world.nodes[0]?.metadata.name); // immediately
    await world.pass(45);
    expect(world.nodes).toHaveLength(2);
    expect(says('Provisioning')).toBe('True FitsExistingCapacity');
  });

  it('follows the replicas of a workload', async () => {
    deployment(4);
    buffer({ scalableRef: { kind: 'Deployment', name: 'web', apiGroup: 'apps' }, percentage: 50 });
    await begin();
    expect(found().status?.replicas).toBe(2);
    world.kube.patch(DEPLOYMENT, { name: 'web', namespace: NAMESPACE }, { spec: { replicas: 6 } });
    await world.pass(31);
    expect(found().status?.replicas).toBe(3);
  });

  it('follows its PodTemplate immediately', async () => {
    podTemplate('500m');
    buffer({ podTemplateRef: { name: 'small' }, limits: { cpu: '2' } });
    await begin();
    expect(found().status?.replicas).toBe(4);
    world.kube.patch(POD_TEMPLATE, { name: 'small', namespace: NAMESPACE }, { template: { spec: spec('1') } });
    await world.pass(2);
    expect(found().status?.replicas).toBe(2);
  });

  it.each<{ given: CapacityBufferSpec; reason: string }>([
    { given: {}, reason: 'ResolutionFailed' },
    { given: { podTemplateRef: { name: 'gone' }, replicas: 1 }, reason: 'PodTemplateNotFound' },
    { given: { scalableRef: { kind: 'Deployment', name: 'gone' }, replicas: 1 }, reason: 'ScalableRefNotFound' },
    {
      given: { scalableRef: { kind: 'CronJob', name: 'x', apiGroup: 'batch' }, replicas: 1 },
      reason: 'ResolutionFailed',
    },
  ])('reports $reason for $given', async ({ given, reason }) => {
    buffer(given);
    await begin();
    expect(says('ReadyForProvisioning')).toBe(`False ${reason}`);
    expect(says('Provisioning')).toBe('False NotReadyForProvisioning');
    expect(world.claims).toEqual([]);
    expect(world.errors()).toEqual([]);
  });

  it('is not used, with a condition, if it has another strategy', async () => {
    podTemplate();
    buffer({ podTemplateRef: { name: 'small' }, replicas: 1, provisioningStrategy: 'example.com/other' });
    await begin();
    expect(world.claims).toEqual([]);
    expect(getCondition(found(), 'ReadyForProvisioning')).toMatchObject({
      status: 'False',
      reason: 'UnsupportedStrategy',
      message: expect.stringContaining('use buffer.x-k8s.io/active-capacity'),
    });
  });

  it('keeps its nodes across a restart', async () => {
    podTemplate();
    buffer({ podTemplateRef: { name: 'small' }, replicas: 2 });
    await begin(40);
    const bought = world.nodes.map(({ metadata }) => metadata.name);
    world.kill();
    world.start(GATE);
    await world.pass(120);
    expect(world.nodes.map(({ metadata }) => metadata.name)).toEqual(bought);
  });
});

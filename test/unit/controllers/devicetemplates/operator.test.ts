/** From declared devices to initialized nodes. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  CONFIG_MAP,
  type ConfigMap,
  DEVICE_CLASS,
  type NodeClaim,
  POD,
  type Pod,
  RESOURCE_CLAIM,
  RESOURCE_SLICE,
  type ResourceSlice,
} from '#api/objects';
import { claim, deviceClass, devices, request, slice } from '../../engine/dra/build.ts';
import { conditionOf, World } from '../harness.ts';

const DRIVER = 'gpu.example.com';
const ANNOTATION = 'karpenter.sh/requested-dra-drivers';

let world: World;

beforeEach(() => {
  world = new World();
  world.nodePool();
  world.kube.create(DEVICE_CLASS, deviceClass('gpu', `device.driver == '${DRIVER}'`));
});
afterEach(() => world.kill());

const declare = (types: readonly string[], count = 1): void =>
  void world.kube.create(CONFIG_MAP, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'devices', namespace: 'kube-system', labels: { 'karpenter.sh/device-templates': 'true' } },
    data: {
      'gpu.yaml': JSON.stringify({
        driver: DRIVER,
        requirements: [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: types }],
        pools: [{ name: 'gpus', devices: devices(count) }],
      }),
    },
  } as ConfigMap);

/** Creates a pod with a claim for one device. */
function claiming(name: string): Pod {
  world.kube.create(RESOURCE_CLAIM, claim([request('r')], { name }));
  const [pod] = world.pending(1, '100m', name);
  if (pod === undefined) throw new Error('no pod');
  return world.kube.patch(POD, pod.metadata, { spec: { resourceClaims: [{ name: 'gpu', resourceClaimName: name }] } });
}

const publish = (node: string, count: number): ResourceSlice =>
  world.kube.create(RESOURCE_SLICE, slice(devices(count), { name: `slice-${node}`, pool: node, nodeName: node }));

describe('a pod with resource claims', () => {
  it('gets a node of a declared type, which is initialized when its driver has published', async () => {
    declare(['m.2xlarge']);
    claiming('one');
    world.start(['--ignore-dra-requests=false']);
    await world.pass(30);
    expect(world.claims.map(({ metadata }) => metadata.annotations?.[ANNOTATION])).toEqual([DRIVER]);
    expect(world.claims[0]?.metadata.labels?.['node.kubernetes.io/instance-type']).toBe('m.2xlarge');
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('Unknown/DRADriverPoolsNotPublished');
    publish(world.nodes[0]?.metadata.name ?? '', 1);
    await world.pass(10);
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('True/Initialized');
    expect(world.claims).toHaveLength(1);
    const text = await world.metrics.text();
    expect(text).toContain(`karpenter_device_templates{driver="${DRIVER}",source="declared"} 1`);
    expect(text).toMatch(/karpenter_scheduler_device_allocation_duration_seconds_count\{\S+\} [1-9]/);
  });

  it('gets one node if the driver publishes fewer devices, and no node of the type for some time', async () => {
    declare(['m.2xlarge'], 2);
    claiming('one');
    world.start(['--ignore-dra-requests=false']);
    await world.pass(30);
    const [launched] = world.claims;
    publish(world.nodes[0]?.metadata.name ?? '', 1);
    await world.pass(5);
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('True/Initialized');
    const notes = world.events.filter(({ reason }) => reason === 'DeviceTemplateMismatch');
    expect(notes.map(({ object }) => object.kind)).toEqual(['NodeClaim', 'NodePool']);
    expect(notes[0]?.message).toBe(
      `Driver "${DRIVER}" did not publish 1 of the expected devices; no nodes of this type are launched for its devices for 10 minutes`,
    );
    claiming('two');
    claiming('three');
    await world.pass(60);
    expect(world.claims.map(({ metadata }) => metadata.name)).toEqual([launched?.metadata.name]);
    expect(
      world.events.filter(({ reason }) => reason === 'FailedScheduling').map(({ message }) => message),
    ).toContainEqual(
      expect.stringMatching(
        `devices of driver "${DRIVER}" on m.2xlarge are suspended until \\S+Z: NodeClaim ${launched?.metadata.name} did not publish 1 of the expected devices`,
      ),
    );
  });

  it('gets one node if the driver never publishes, and pods of later claims get a node of another type', async () => {
    declare(['m.xlarge', 'm.2xlarge']);
    claiming('one');
    world.start(['--ignore-dra-requests=false']);
    await world.pass(16 * 60);
    expect(world.claims).toHaveLength(1);
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('Unknown/DRADriverPoolsNotPublished');
    expect(world.events.filter(({ reason }) => reason === 'DRADriverPoolsNotPublished').length).toBeGreaterThan(0);
    // kube-scheduler would not bind the pod to the node without devices
    world.bindPods = () => undefined;
    claiming('two');
    await world.pass(60);
    const typeOf = ({ metadata }: NodeClaim) => metadata.labels?.['node.kubernetes.io/instance-type'];
    expect(world.claims.map(typeOf)).toEqual(['m.xlarge', 'm.2xlarge']);
  });

  it('gets a node after its claim and its class are created', async () => {
    declare(['m.2xlarge']);
    for (const { metadata } of world.pending(1, '100m', 'one'))
      world.kube.patch(POD, metadata, { spec: { resourceClaims: [{ name: 'gpu', resourceClaimName: 'one' }] } });
    world.start(['--ignore-dra-requests=false']);
    const refusal = () => world.events.findLast(({ reason }) => reason === 'FailedScheduling')?.message;
    await world.pass(15);
    expect(refusal()).toContain('resourceclaim "default/one" not found');
    world.kube.create(RESOURCE_CLAIM, claim([request('r', { deviceClassName: 'late' })], { name: 'one' }));
    await world.pass(330);
    expect(refusal()).toContain('DeviceClass "late" not found');
    expect(world.claims).toEqual([]);
    world.kube.create(DEVICE_CLASS, deviceClass('late', `device.driver == '${DRIVER}'`));
    await world.pass(30);
    expect(world.claims.map(({ metadata }) => metadata.annotations?.[ANNOTATION])).toEqual([DRIVER]);
  });

  it('stays pending if no source knows its devices, and the event names the driver', async () => {
    claiming('one');
    world.start(['--ignore-dra-requests=false']);
    await world.pass(30);
    expect(world.claims).toEqual([]);
    expect(world.events.find(({ reason }) => reason === 'FailedScheduling')?.message).toContain(
      `types have no devices of driver ${DRIVER}`,
    );
  });

  it('does not delay the nodes of a static NodePool', async () => {
    declare(['m.2xlarge']);
    world.nodePool('fixed', { replicas: 1 });
    world.start(['--ignore-dra-requests=false', '--feature-gates=StaticCapacity=true']);
    await world.pass(30);
    expect(world.claims.map(({ metadata }) => metadata.annotations?.[ANNOTATION])).toEqual([undefined]);
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('True/Initialized');
  });

  it('stays pending by default', async () => {
    declare(['m.2xlarge']);
    claiming('one');
    world.start();
    await world.pass(30);
    expect(world.claims).toEqual([]);
    expect(world.events.map(({ message }) => message)).toContainEqual(
      expect.stringContaining(
        'pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter',
      ),
    );
  });
});

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  DEVICE_CLASS,
  NODE_CLAIM,
  REQUESTED_DRA_DRIVERS_ANNOTATION,
  RESOURCE_SLICE,
  type ResourceSlice,
} from '#api/objects';
import { deviceDrivers } from '../../../../src/controllers/nodeclaim/devices.ts';
import { invalid } from '../../../support/partial.ts';
import { present } from '../../../support/present.ts';
import { handFed } from '../../kube/fakes.ts';
import { conditionOf, World } from '../harness.ts';
import { claimOf, nodeOf } from '../node/bench.ts';

describe('a device', () => {
  const slice = (
    name: string,
    pool: object,
    more: Partial<ResourceSlice['spec']> = {},
    owner?: string,
  ): ResourceSlice => ({
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceSlice',
    metadata: {
      name,
      ...(owner !== undefined && { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: owner, uid: 'n' }] }),
    },
    spec: {
      driver: 'gpu',
      nodeName: 'node',
      pool: { name: 'p', generation: 1, resourceSliceCount: 1, ...pool },
      devices: [],
      ...more,
    } as ResourceSlice['spec'],
  });
  const lack = (drivers: string, ...slices: readonly ResourceSlice[]): string | undefined => {
    const { informers, store } = handFed();
    for (const each of slices) store(RESOURCE_SLICE).put(each);
    const annotations = { [REQUESTED_DRA_DRIVERS_ANNOTATION]: drivers };
    return deviceDrivers(informers).lack(claimOf('claim', { annotations }), nodeOf('node'))?.message;
  };
  const missing = (driver: string): string => `DRA driver "${driver}" has not published a complete resource pool`;

  it.each([
    { resource: 'example.com/gpu', slices: [slice('a', {})], is: true },
    { resource: 'deviceclass.resource.kubernetes.io/gpu', slices: [slice('a', {})], is: true },
    { resource: 'example.com/other', slices: [slice('a', {})], is: false },
    { resource: 'example.com/gpu', slices: [slice('a', { resourceSliceCount: 2 })], is: false },
    { resource: 'example.com/gpu', slices: [slice('a', {}, { nodeName: 'other' })], is: false },
  ])('provides $resource if a class maps it and the node has a complete pool: $is', ({ resource, slices, is }) => {
    const { informers, store } = handFed();
    for (const each of slices) store(RESOURCE_SLICE).put(each);
    store(DEVICE_CLASS).put({
      ...{ apiVersion: 'resource.k8s.io/v1', kind: 'DeviceClass', metadata: { name: 'gpu' } },
      spec: { extendedResourceName: 'example.com/gpu' },
    });
    expect(deviceDrivers(informers).provides(resource, nodeOf('node'))).toBe(is);
  });

  it.each([
    { when: 'nothing is asked for', drivers: ' , ', slices: [], is: undefined },
    { when: 'the pool is complete', drivers: 'gpu', slices: [slice('a', {})], is: undefined },
    {
      when: 'the pool says that it has no slices',
      drivers: 'gpu',
      slices: [slice('a', { resourceSliceCount: 0 })],
      is: missing('gpu'),
    },
    { when: 'a slice is missing', drivers: 'gpu', slices: [slice('a', { resourceSliceCount: 2 })], is: missing('gpu') },
    {
      when: 'only an older generation is complete',
      drivers: 'gpu',
      slices: [slice('a', {}), slice('b', { generation: 2, resourceSliceCount: 2 })],
      is: missing('gpu'),
    },
    {
      when: 'one of two pools is complete',
      drivers: 'gpu',
      slices: [slice('a', { resourceSliceCount: 2 }), slice('b', { name: 'q' })],
      is: undefined,
    },
    {
      when: 'the Node owns the slice',
      drivers: 'gpu',
      slices: [slice('a', {}, { nodeName: invalid(undefined) }, 'node')],
      is: undefined,
    },
    {
      when: 'the slice is of another node',
      drivers: 'gpu',
      slices: [slice('a', {}, { nodeName: 'other' })],
      is: missing('gpu'),
    },
    { when: 'a second driver is missing', drivers: 'gpu, nic', slices: [slice('a', {})], is: missing('nic') },
  ])('lacks $is if $when', ({ drivers, slices, is }) => {
    expect(lack(drivers, ...slices)).toBe(is);
  });
});

describe('a device that a node was launched for', () => {
  let world: World;
  beforeEach(() => {
    world = new World();
  });
  afterEach(() => world.kill());
  const DRIVER = 'gpu.example.com';
  const slice = (name: string, node: string, pool: object) => {
    world.kube.create(RESOURCE_SLICE, {
      apiVersion: 'resource.k8s.io/v1',
      kind: 'ResourceSlice',
      metadata: { name },
      spec: { driver: DRIVER, nodeName: node, pool: { name: 'gpus', generation: 1, resourceSliceCount: 2, ...pool } },
    });
  };

  async function joined(...args: readonly string[]): Promise<string> {
    world.joining = false;
    world.nodePool();
    world.start(args);
    await world.pass(2);
    world.pending(1);
    await world.pass(5);
    const annotations = { 'karpenter.sh/requested-dra-drivers': `${DRIVER}, ` };
    world.kube.patch(NODE_CLAIM, world.claims[0]?.metadata ?? { name: '' }, { metadata: { annotations } });
    world.joinInstances();
    await world.pass(5);
    return present(world.nodes[0]?.metadata.name);
  }

  it('is awaited until its driver has published a complete pool', async () => {
    const node = await joined('--ignore-dra-requests=false');
    const waits = 'Unknown/DRADriverPoolsNotPublished';
    expect(conditionOf(world.claims[0], 'Initialized')).toBe(waits);
    expect(world.claims[0]?.status?.conditions?.find(({ type }) => type === 'Initialized')?.message).toBe(
      `DRA driver "${DRIVER}" has not published a complete resource pool`,
    );
    slice('old-1', node, { generation: 1 });
    slice('old-2', 'another', { generation: 1 });
    await world.pass(2);
    expect(conditionOf(world.claims[0], 'Initialized')).toBe(waits);
    slice('new-1', node, { generation: 2 });
    await world.pass(2);
    expect(conditionOf(world.claims[0], 'Initialized')).toBe(waits);
    slice('new-2', node, { generation: 2 });
    await world.pass(2);
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('True/Initialized');
  });

  it('is ignored by default', async () => {
    await joined();
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('True/Initialized');
  });
});

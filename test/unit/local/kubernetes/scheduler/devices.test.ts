/** Claims of pods from their template to their end, with the claim controller and the scheduler. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  DEVICE_CLASS,
  type Device,
  type DeviceRequest,
  EVENT,
  POD,
  type Pod,
  RESOURCE_CLAIM,
  RESOURCE_CLAIM_TEMPLATE,
  RESOURCE_SLICE,
  type ResourceClaim,
  type ResourceSlice,
} from '#api/objects';
import { startResourceClaims } from '../../../../../src/local/kubernetes/controllers/resource-claims.ts';
import { startScheduler } from '../../../../../src/local/kubernetes/scheduler/index.ts';
import { startCluster, type TestCluster, template } from '../../world-cluster.ts';

const API = 'resource.k8s.io/v1';
const DRIVER = 'gpu.example.com';
const NAMESPACE = 'default';

let cluster: TestCluster;

beforeEach(async () => {
  cluster = await startCluster();
  await startResourceClaims(cluster.parts);
  await startScheduler(cluster.parts);
  await createClass();
});
afterEach(() => cluster.stop());

const createClass = (more: object = {}): Promise<unknown> =>
  cluster.client.create(DEVICE_CLASS, {
    apiVersion: API,
    kind: 'DeviceClass',
    metadata: { name: 'gpu' },
    spec: { selectors: [{ cel: { expression: `device.driver == '${DRIVER}'` } }], ...more },
  });

const device = (name: string, more: Partial<Device> = {}): Device => ({ name, ...more });

const publish = (nodeName: string, devices: readonly Device[], more: Partial<ResourceSlice['spec']> = {}) =>
  cluster.client.create(RESOURCE_SLICE, {
    apiVersion: API,
    kind: 'ResourceSlice',
    metadata: { name: `slice-${nodeName}` },
    spec: {
      driver: DRIVER,
      nodeName,
      pool: { name: nodeName, generation: 1, resourceSliceCount: 1 },
      devices,
      ...more,
    } as ResourceSlice['spec'],
  });

const request = (more: Partial<NonNullable<DeviceRequest['exactly']>> = {}): DeviceRequest => ({
  name: 'gpu',
  exactly: { deviceClassName: 'gpu', ...more },
});

const createTemplate = (requests: readonly DeviceRequest[] = [request()], more: object = {}): Promise<unknown> =>
  cluster.client.create(RESOURCE_CLAIM_TEMPLATE, {
    apiVersion: API,
    kind: 'ResourceClaimTemplate',
    metadata: { name: 'one', namespace: NAMESPACE },
    spec: { spec: { devices: { requests, ...more } } },
  });

const createClaim = (name: string, requests: readonly DeviceRequest[] = [request()]): Promise<unknown> =>
  cluster.client.create(RESOURCE_CLAIM, {
    apiVersion: API,
    kind: 'ResourceClaim',
    metadata: { name, namespace: NAMESPACE },
    spec: { devices: { requests } },
  });

const createPod = (name: string, spec: Partial<Pod['spec']>): Promise<Pod> =>
  cluster.client.create(POD, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: NAMESPACE, labels: { app: 'web' } },
    spec: template('web', spec).spec,
  });
const withTemplate = (name: string): Promise<Pod> =>
  createPod(name, { resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 'one' }] });
const withClaim = (name: string, resourceClaimName: string): Promise<Pod> =>
  createPod(name, { resourceClaims: [{ name: 'gpu', resourceClaimName }] });

const find = (name: string): Promise<Pod | undefined> => cluster.client.find(POD, { name, namespace: NAMESPACE });
const findClaim = (name: string) => cluster.client.find(RESOURCE_CLAIM, { name, namespace: NAMESPACE });
const bound = (name: string) =>
  cluster.until(`${name} to be bound`, async () => (await find(name))?.spec.nodeName ?? false);
const refusal = (name: string, text: string) =>
  cluster.until(`${name} to be refused with ${text}`, async () => {
    const condition = (await find(name))?.status?.conditions?.find(({ type }) => type === 'PodScheduled');
    return condition?.status === 'False' && condition.message?.includes(text);
  });
const claims = (): Promise<readonly ResourceClaim[]> => cluster.list(RESOURCE_CLAIM);
const claimsThat = (what: string, holds: (all: readonly ResourceClaim[]) => boolean) =>
  cluster.until(what, async () => holds(await claims()));
const remove = (name: string): Promise<unknown> =>
  cluster.client.delete(POD, { name, namespace: NAMESPACE }, { gracePeriodSeconds: 0 });
const devicesOf = ({ status }: ResourceClaim): readonly string[] =>
  (status?.allocation?.devices?.results ?? []).map((each) => `${each.pool}/${each.device}`);

describe('a pod with a claim template', () => {
  it('gets a claim that is allocated and reserved before the pod is bound', async () => {
    await cluster.node('a');
    await cluster.node('b');
    await publish('b', [device('gpu-0')]);
    await createTemplate();
    const pod = await withTemplate('web');
    expect(await bound('web')).toBe('b');

    const [claim] = await claims();
    const { name, ...metadata } = claim?.metadata ?? { name: '' };
    expect(name).toMatch(/^web-gpu-[a-z0-9]{5}$/);
    expect(metadata).toMatchObject({
      generateName: 'web-gpu-',
      annotations: { 'resource.kubernetes.io/pod-claim-name': 'gpu' },
      finalizers: ['resource.kubernetes.io/delete-protection'],
      ownerReferences: [
        { kind: 'Pod', name: 'web', uid: pod.metadata.uid, controller: true, blockOwnerDeletion: true },
      ],
    });
    expect(claim?.status).toEqual({
      allocation: {
        devices: { results: [{ request: 'gpu', driver: DRIVER, pool: 'b', device: 'gpu-0' }] },
        nodeSelector: {
          nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['b'] }] }],
        },
      },
      reservedFor: [{ resource: 'pods', name: 'web', uid: pod.metadata.uid }],
    });
    expect((await find('web'))?.status?.resourceClaimStatuses).toEqual([{ name: 'gpu', resourceClaimName: name }]);
  });

  it('waits without a condition until the template exists, and reports the missing template', async () => {
    await cluster.node('a');
    await publish('a', [device('gpu-0')]);
    await withTemplate('web');
    await cluster.until('the event', async () =>
      (await cluster.list(EVENT)).find(({ reason }) => reason === 'FailedResourceClaimCreation'),
    );
    expect((await find('web'))?.status?.conditions ?? []).toEqual([]);
    await createTemplate();
    expect(await bound('web')).toBe('a');
  });

  it('frees its device when it ends, and its claim is deleted', async () => {
    await cluster.node('a');
    await publish('a', [device('gpu-0')]);
    await createTemplate();
    await withTemplate('first');
    await bound('first');
    await withTemplate('second');
    await refusal('second', '1 cannot allocate all claims');
    const patch = { status: { phase: 'Succeeded' } };
    await cluster.client.patch(POD, { name: 'first', namespace: NAMESPACE }, patch, { subresource: 'status' });
    expect(await bound('second')).toBe('a');
    await claimsThat('one claim', (all) => all.length === 1 && all[0]?.metadata.name.startsWith('second-') === true);
    await remove('second');
    await claimsThat('no claim', (all) => all.length === 0);
  });
});

describe('a named claim', () => {
  it('is awaited without a condition, also while there are no nodes', async () => {
    await withClaim('web', 'later');
    await createPod('other', {});
    await refusal('other', 'no nodes available to schedule pods');
    expect((await find('web'))?.status?.conditions ?? []).toEqual([]);
    await cluster.node('a');
    await publish('a', [device('gpu-0')]);
    await createClaim('later');
    expect(await bound('web')).toBe('a');
  });

  it('keeps the pods that share it on its node, and is free after the last of them', async () => {
    for (const node of ['a', 'b']) await cluster.node(node);
    for (const node of ['a', 'b']) await publish(node, [device('gpu-0')]);
    await createClaim('shared');
    for (const pod of ['one', 'two', 'three']) await withClaim(pod, 'shared');
    const nodes = [await bound('one'), await bound('two'), await bound('three')];
    expect(new Set(nodes).size).toBe(1);
    expect((await findClaim('shared'))?.status?.reservedFor?.map(({ name }) => name).sort()).toEqual([
      'one',
      'three',
      'two',
    ]);
    for (const pod of ['one', 'two']) await remove(pod);
    await claimsThat('one consumer', ([claim]) => claim?.status?.reservedFor?.length === 1);
    expect((await findClaim('shared'))?.status?.allocation).toBeDefined();
    await remove('three');
    await claimsThat('a free claim', ([claim]) => claim?.status?.allocation === undefined);
    expect((await findClaim('shared'))?.metadata.finalizers ?? []).toEqual([]);
  });

  it('is allocated again elsewhere if its node is full and no other pod uses it', async () => {
    await cluster.node('a', { allocatable: { cpu: '10m' } });
    await cluster.node('b');
    for (const node of ['a', 'b']) await publish(node, [device('gpu-0')]);
    await createClaim('idle');
    const term = { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['a'] }] };
    const allocation = {
      devices: { results: [{ request: 'gpu', driver: DRIVER, pool: 'a', device: 'gpu-0' }] },
      nodeSelector: { nodeSelectorTerms: [term] },
    };
    const ref = { name: 'idle', namespace: NAMESPACE };
    await cluster.client.patch(RESOURCE_CLAIM, ref, { status: { allocation } }, { subresource: 'status' });
    await withClaim('web', 'idle');
    expect(await bound('web')).toBe('b');
    expect((await claims()).flatMap(devicesOf)).toEqual(['b/gpu-0']);
  });

  it('goes with the pod that uses it if it is deleted meanwhile', async () => {
    await cluster.node('a');
    await publish('a', [device('gpu-0')]);
    await createClaim('mine');
    await withClaim('web', 'mine');
    await bound('web');
    await cluster.client.delete(RESOURCE_CLAIM, { name: 'mine', namespace: NAMESPACE });
    expect((await findClaim('mine'))?.metadata.deletionTimestamp).toBeDefined();
    await remove('web');
    await claimsThat('no claim', (all) => all.length === 0);
  });
});

describe('an allocation', () => {
  const shared = (name: string): Device => ({
    name,
    allowMultipleAllocations: true,
    capacity: { memory: { value: '8Gi', requestPolicy: { default: '1Gi', validRange: { min: '1Gi', step: '1Gi' } } } },
  });

  it('has a share and the consumed capacity of a shared device', async () => {
    await cluster.node('a');
    await publish('a', [shared('gpu-0')]);
    await createTemplate([request({ capacity: { requests: { memory: '3500Mi' } } })]);
    for (const pod of ['one', 'two', 'three']) await withTemplate(pod);
    await cluster.until(
      'two bound pods',
      async () => (await cluster.pods()).filter((pod) => pod.spec.nodeName).length === 2,
    );
    const results = (await claims()).flatMap(({ status }) => status?.allocation?.devices?.results ?? []);
    expect(results.map(({ consumedCapacity }) => consumedCapacity)).toEqual(Array(2).fill({ memory: '4294967296' }));
    expect(new Set(results.map(({ shareID }) => shareID)).size).toBe(2);
  });

  it('selects the nodes that reach a network device', async () => {
    await cluster.node('a', { labels: { rack: 'x' } });
    await cluster.node('b', { labels: { rack: 'y' } });
    const term = { matchExpressions: [{ key: 'rack', operator: 'In' as const, values: ['y', 'z'] }] };
    const { nodeName: _, ...spec } = { nodeName: undefined, nodeSelector: { nodeSelectorTerms: [term] } };
    await publish('none', [device('nic-0')], { ...spec, nodeName: undefined as unknown as string });
    await createTemplate();
    await withTemplate('web');
    expect(await bound('web')).toBe('b');
    expect((await claims())[0]?.status?.allocation?.nodeSelector).toEqual({ nodeSelectorTerms: [term] });
  });

  it('contains tolerations of the request, and configuration of the class and of the claim', async () => {
    const opaque = (parameters: object) => ({ opaque: { driver: DRIVER, parameters } });
    await cluster.node('a');
    await publish('a', [device('gpu-0', { taints: [{ key: 'worn', effect: 'NoSchedule' }] })]);
    const spec = { config: [opaque({ mode: 'class' })] };
    await cluster.client.patch(DEVICE_CLASS, { name: 'gpu' }, { spec });
    const tolerations = [{ key: 'worn', operator: 'Exists' }];
    await createTemplate([request({ tolerations })], { config: [{ requests: ['gpu'], ...opaque({ mode: 'claim' }) }] });
    await withTemplate('web');
    await bound('web');
    const { devices } = (await claims())[0]?.status?.allocation ?? {};
    expect(devices).toEqual({
      results: [{ request: 'gpu', driver: DRIVER, pool: 'a', device: 'gpu-0', tolerations }],
      config: [
        { source: 'FromClass', requests: ['gpu'], ...opaque({ mode: 'class' }) },
        { source: 'FromClaim', requests: ['gpu'], ...opaque({ mode: 'claim' }) },
      ],
    });
  });
});

describe('a request', () => {
  it('waits for its class if the class does not exist yet', async () => {
    await cluster.node('a');
    await publish('a', [device('gpu-0')]);
    await cluster.client.delete(DEVICE_CLASS, { name: 'gpu' });
    await createTemplate();
    await withTemplate('web');
    await refusal('web', 'request gpu: device class gpu does not exist');
    await createClass();
    expect(await bound('web')).toBe('a');
  });

  it('gets devices for an extended resource of a class on nodes without a device plugin', async () => {
    await cluster.node('a');
    await publish('a', [device('gpu-0'), device('gpu-1')]);
    await cluster.client.patch(DEVICE_CLASS, { name: 'gpu' }, { spec: { extendedResourceName: 'example.com/gpu' } });
    const containers = [{ name: 'main', image: 'pause', resources: { limits: { 'example.com/gpu': '2' } } }];
    const pod = await createPod('web', { containers });
    expect(await bound('web')).toBe('a');
    const [claim] = await claims();
    expect(claim?.metadata).toMatchObject({
      name: expect.stringMatching(/^web-extended-resources-/),
      annotations: { 'resource.kubernetes.io/extended-resource-claim': 'true' },
      ownerReferences: [{ uid: pod.metadata.uid }],
    });
    expect(claim === undefined ? [] : devicesOf(claim)).toEqual(['a/gpu-0', 'a/gpu-1']);
    expect((await find('web'))?.status).toMatchObject({
      extendedResourceClaimStatus: {
        resourceClaimName: claim?.metadata.name,
        requestMappings: [
          { containerName: 'main', resourceName: 'example.com/gpu', requestName: 'container-0-request-0' },
        ],
      },
    });
    await createPod('more', { containers });
    await refusal('more', 'cannot allocate all claims');
    await remove('web');
    expect(await bound('more')).toBe('a');
  });

  it('uses the device plugin of a node that has one for an extended resource', async () => {
    await cluster.node('a', { allocatable: { 'example.com/gpu': '1' } });
    await cluster.client.patch(DEVICE_CLASS, { name: 'gpu' }, { spec: { extendedResourceName: 'example.com/gpu' } });
    const containers = [{ name: 'main', image: 'pause', resources: { limits: { 'example.com/gpu': '1' } } }];
    await createPod('web', { containers });
    expect(await bound('web')).toBe('a');
    expect(await claims()).toEqual([]);
    await createPod('more', { containers });
    await refusal('more', 'Insufficient example.com/gpu');
  });
});

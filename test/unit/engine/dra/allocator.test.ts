/** Allocation of devices: new nodes, published devices, requests, selectors and taints. */
import { describe, expect, it } from '@jest/globals';
import { type Device, type ResourceClaim, ZONE_LABEL } from '#api/objects';
import { Requirements } from '../../../../src/engine/requirements.ts';
import {
  allocated,
  claim,
  DRIVER,
  details,
  devices,
  existing,
  newNode,
  refusal,
  request,
  selecting,
  slice,
  template,
  world,
} from './build.ts';

const NO_TYPE = 'no instance type can satisfy the allocation';
const oneGpu = (name = 'claim'): ResourceClaim => claim([request('r')], { name });
const inZone = (zone: string) => ({ key: ZONE_LABEL, operator: 'In' as const, values: [zone] });
const zoneSelector = (zone: string) => ({ nodeSelectorTerms: [{ matchExpressions: [inZone(zone)] }] });
const zone = (name: string) => Requirements.fromRequirements([inZone(name)]);

describe('a device of a new node', () => {
  it('restricts the types to those with enough devices', () => {
    const on = newNode({ none: undefined, one: template(devices(1)), two: template(devices(2)) });
    const place = world();
    expect(place.place([claim([request('r', { count: 2 })])], on)).toEqual({ two: ['r=gpu-0', 'r=gpu-1'] });
    const host = newNode({ one: template(devices(1)), two: template(devices(2)) });
    expect(place.place([oneGpu('a')], host)).toEqual({ one: ['r=gpu-0'], two: ['r=gpu-0'] });
    expect(place.place([oneGpu('b')], host)).toEqual({ two: ['r=gpu-1'] });
    expect(place.place([oneGpu('c')], host)).toBe(
      `${NO_TYPE}: no known device matches request "r" (class gpu): all 2 matching devices are in use`,
    );
  });

  it('is unknown without a template, and the reason names the driver', () => {
    expect(world().place([oneGpu()], newNode({ a: undefined, b: undefined }))).toBe(
      `${NO_TYPE}: no known device matches request "r" (class gpu): 2 types have no devices of driver ${DRIVER}`,
    );
  });

  it('is free again for types that the node does not have in the end', () => {
    const network = slice(devices(1), { allNodes: true });
    const cluster = world({ slices: [network] });
    const first = newNode({ with: undefined, without: template([{ name: 'gpu-9' }]) });
    expect(cluster.place([oneGpu('a')], first)).toEqual({ with: ['r=gpu-0'], without: ['r=gpu-0'] });
    const second = newNode({ with: undefined });
    expect(cluster.place([oneGpu('b')], second)).toContain('in use');
    cluster.commit(first, () => false);
    expect(cluster.place([oneGpu('b')], second)).toEqual({ with: ['r=gpu-0'] });
  });

  it('belongs to one claim only, also on other nodes', () => {
    const cluster = world();
    const shared = oneGpu('shared');
    const first = newNode({ a: template(devices(1)) });
    expect(cluster.place([shared], first)).toEqual({ a: ['r=gpu-0'] });
    expect(cluster.place([shared], first)).toEqual({ a: ['r=gpu-0'] });
    expect(cluster.place([shared], newNode({ a: template(devices(1)) }))).toBe(
      'claim is bound to a different in-flight NodeClaim (ResourceClaim=default/shared)',
    );
  });
});

describe('a published device', () => {
  const onNode = slice(devices(1));

  it('is used if it is free', () => {
    expect(world({ slices: [onNode] }).place([oneGpu()], existing())).toEqual({ only: ['r=gpu-0'] });
    expect(world({ slices: [onNode] }).place([oneGpu()], existing('other'))).toContain('no devices of driver');
    expect(world({ slices: [onNode], claims: [allocated('a', 'gpu-0')] }).place([oneGpu()], existing())).toContain(
      'in use',
    );
  });

  it('is free if all pods of its claim move, and the claim can be allocated elsewhere', () => {
    const moving = allocated('a', 'gpu-0');
    const cluster = world({ slices: [onNode], claims: [moving], movingPods: ['p'] });
    expect(cluster.place([moving], newNode({ t: template(devices(1)) }))).toEqual({ t: ['r=gpu-0'] });
    expect(cluster.place([oneGpu('b')], existing())).toEqual({ only: ['r=gpu-0'] });
  });

  it.each([
    { reservedFor: [] },
    {
      reservedFor: [
        { resource: 'pods', name: 'p', uid: 'p' },
        { resource: 'pods', name: 'q', uid: 'q' },
      ],
    },
    { reservedFor: [{ apiGroup: 'batch', resource: 'pods', name: 'p', uid: 'p' }] },
  ])('stays in use if not all consumers move: $reservedFor', ({ reservedFor }) => {
    const staying = allocated('a', 'gpu-0');
    const claims = [{ ...staying, status: { ...staying.status, reservedFor } }];
    const cluster = world({ slices: [onNode], claims, movingPods: ['p'] });
    expect(cluster.place([oneGpu('b')], existing())).toContain('in use');
    expect(cluster.place(claims, newNode({ t: template(devices(1)) }))).toBe(
      'in-cluster allocation topology is incompatible with NodeClaim requirements (ResourceClaim=default/a)',
    );
    expect(cluster.place(claims, existing())).toEqual({});
  });

  it('is not used if slices of its pool are missing, and a request for all devices fails', () => {
    const half = slice(devices(1), { resourceSliceCount: 2 });
    const cluster = world({ slices: [half] });
    expect(cluster.place([oneGpu()], existing())).toContain(NO_TYPE);
    expect(cluster.place([claim([request('r', { allocationMode: 'All' })])], existing())).toBe(
      'validating claim "claim": claim "claim" request "r": pool gpu.example.com/pool is incomplete (missing slices)',
    );
  });

  it('is not used if it is of an older generation', () => {
    const old = [slice(devices(3), { name: 'a' }), slice(devices(3), { name: 'b' })];
    const cluster = world({ slices: [...old, slice(devices(1), { name: 'c', generation: 2 })] });
    expect(cluster.place([claim([request('r', { allocationMode: 'All' })])], existing())).toEqual({
      only: ['r=gpu-0'],
    });
  });

  it('is not used if its pool has duplicate names', () => {
    const twice = [
      slice(devices(1), { name: 'a', resourceSliceCount: 2 }),
      slice(devices(2), { name: 'b', resourceSliceCount: 2 }),
    ];
    expect(world({ slices: twice }).place([oneGpu()], existing())).toContain(NO_TYPE);
    expect(
      refusal(world({ slices: twice }).allocate([claim([request('r', { allocationMode: 'All' })])], existing())),
    ).toContain('is invalid (duplicate device names)');
  });

  it('may have names that occur on other nodes', () => {
    const [a, b] = [
      slice(devices(1), { name: 'a', nodeName: 'node-a', resourceSliceCount: 2 }),
      slice(devices(1), { name: 'b', nodeName: 'node-b', resourceSliceCount: 2 }),
    ];
    expect(world({ slices: [a, b] }).place([oneGpu()], existing('node-b'))).toEqual({ only: ['r=gpu-0'] });
  });

  it('narrows the node if it is on the network', () => {
    const cluster = world({ slices: [slice(devices(1), { nodeSelector: zoneSelector('b') })] });
    const result = cluster.allocate([oneGpu()], { host: {} });
    expect('requirements' in result && result.requirements.get(ZONE_LABEL).sorted).toEqual(['b']);
    expect(refusal(cluster.allocate([oneGpu()], { host: {}, requirements: zone('a') }))).toContain(NO_TYPE);
    // kube-scheduler places the pod on no existing node without the label
    expect(refusal(cluster.allocate([oneGpu()], existing()))).toContain(NO_TYPE);
    expect(cluster.place([oneGpu()], { ...existing(), requirements: zone('b') })).toEqual({ only: ['r=gpu-0'] });
  });

  it('is not taken twice if it is on the network', () => {
    const cluster = world({ slices: [slice(devices(1), { allNodes: true })] });
    expect(cluster.place([oneGpu('a')], { host: {} })).toEqual({ only: ['r=gpu-0'] });
    expect(cluster.place([oneGpu('b')], { host: {} })).toContain('in use');
  });

  it('is not combined with devices of different places', () => {
    const list: readonly Device[] = ['a', 'b'].map((name) => ({
      name: `gpu-${name}`,
      nodeSelector: zoneSelector(name),
    }));
    const cluster = world({ slices: [slice(list, { perDeviceNodeSelection: true })] });
    expect(cluster.place([oneGpu()], { host: {}, requirements: zone('b') })).toEqual({ only: ['r=gpu-b'] });
    const two = claim([request('r', { count: 2 })], { name: 'two' });
    expect(cluster.place([two], { host: {} })).toContain(NO_TYPE);
  });

  it('is tried before templates, and a pool that binds late last', () => {
    const late = slice([{ name: 'late', bindingConditions: ['ready'] }], { pool: 'a', allNodes: true });
    const early = slice([{ name: 'early' }], { pool: 'b', allNodes: true, name: 'early' });
    const on = newNode({ t: template([{ name: 'own' }]) });
    expect(world({ slices: [late, early] }).place([claim([request('r', { count: 3 })])], on)).toEqual({
      t: ['r=early', 'r=late', 'r=own'],
    });
  });
});

describe('a request', () => {
  it('needs every device if it is for all devices', () => {
    const all = (name: string) => claim([request('r', { allocationMode: 'All' })], { name });
    const cluster = world();
    const types = { two: template(devices(2)), four: template(devices(4)), many: template(devices(33)) };
    const on = newNode(types);
    expect(cluster.place([all('a')], on)).toEqual({
      two: ['r=gpu-0', 'r=gpu-1'],
      four: ['r=gpu-0', 'r=gpu-1', 'r=gpu-2', 'r=gpu-3'],
    });
    expect(cluster.place([all('b')], on)).toContain('in use');
    expect(cluster.place([all('b')], newNode({ many: types.many }))).toBe(
      'validating claim "b": claim "b": all instance types pruned, no instance type can satisfy this claim without exceeding ' +
        'the maximum of 32 devices',
    );
    expect(cluster.place([all('b')], newNode({ none: template([]) }))).toContain(NO_TYPE);
  });

  it('uses the first alternative that is possible', () => {
    const ofModel = (name: string) => ({
      ...details(selecting(`device.attributes['${DRIVER}'].model == '${name}'`)),
      name,
    });
    const either = claim([{ name: 'gpu', firstAvailable: [ofModel('h100'), ofModel('a10')] }]);
    const of = (model: string) => template(devices(1, () => ({ attributes: { model: { string: model } } })));
    expect(world().place([either], newNode({ a: of('a10'), h: of('h100'), n: of('t4') }))).toEqual({
      a: ['gpu/a10=gpu-0'],
      h: ['gpu/h100=gpu-0'],
    });
  });

  it.each<[string, ResourceClaim, string]>([
    [
      'an unknown class',
      claim([request('r', { deviceClassName: 'x' })]),
      'claim "claim" request "r": DeviceClass "x" not found: deviceclasses.resource.k8s.io "x" not found',
    ],
    [
      '33 devices',
      claim([request('r', { count: 33 })]),
      'claim "claim" requests 33 total devices, exceeding maximum of 32',
    ],
    [
      '33 devices of two requests',
      claim([request('r', { count: 30 }), request('s', { count: 3 })]),
      'exceeding maximum of 32',
    ],
    [
      'neither form',
      claim([{ name: 'r' }]),
      'claim "claim" request "r": only Exactly and FirstAvailable requests are supported',
    ],
    [
      'an unknown mode',
      claim([request('r', { allocationMode: 'Some' })]),
      'uses allocation mode Some, which is not supported',
    ],
    [
      'an unknown selector',
      claim([request('r', { selectors: [{}] })]),
      'unsupported selector type (only CEL is supported)',
    ],
    [
      'an invalid selector',
      claim([request('r', selecting('device.'))]),
      'CEL expression "device." failed to compile: ',
    ],
    [
      'a selector that is too long',
      claim([request('r', selecting(`'${'x'.repeat(10_240)}' == ''`))]),
      'longer than 10240 bytes',
    ],
    [
      'an unknown constraint',
      claim([request('r')], { constraints: [{}] }),
      'uses an unknown constraint, which is not supported',
    ],
  ])('is refused for every node with %s', (_, wanted, text) => {
    const result = world().allocate([wanted], newNode({ t: template(devices(40)) }));
    expect(result).toMatchObject({ text: expect.stringContaining(text), isPermanent: true });
  });

  it('is satisfied by every type if it is for no devices', () => {
    expect(world().place([claim([])], newNode({ t: undefined }))).toEqual({ t: [] });
  });

  it('uses devices that are taken, and takes none, with administrative access', () => {
    const admin = claim([request('r', { adminAccess: true, count: 2 })], { name: 'admin' });
    const cluster = world({ slices: [slice(devices(2))], claims: [allocated('a', 'gpu-0', 'gpu-1')] });
    const on = existing();
    expect(cluster.place([admin], on)).toEqual({ only: ['r=gpu-0', 'r=gpu-1'] });
    const free = world({ slices: [slice(devices(2))] });
    const other = existing();
    expect(free.place([admin], other)).toEqual({ only: ['r=gpu-0', 'r=gpu-1'] });
    expect(free.place([oneGpu('b')], other)).toEqual({ only: ['r=gpu-0'] });
    expect(free.place([claim([request('r', { adminAccess: true, count: 3 })])], existing())).toContain(NO_TYPE);
  });

  it('needs capacity and counters with administrative access, as in kube-scheduler', () => {
    const admin = claim([request('r', { adminAccess: true })]);
    const sharedGpu = {
      ...devices(1)[0],
      allowMultipleAllocations: true,
      capacity: { memory: { value: '4' } },
    } as Device;
    const share = { driver: DRIVER, pool: 'pool', device: 'gpu-0', shareID: 's', consumedCapacity: { memory: '1' } };
    const user = allocated('a');
    const using = { ...user, status: { ...user.status, allocation: { devices: { results: [share] } } } };
    const full = world({ slices: [slice([sharedGpu])], claims: [using] });
    expect(full.place([admin], existing())).toContain('in use');
    const part = devices(1, () => ({ consumesCounters: [{ counterSet: 's', counters: { c: { value: '2' } } }] }));
    const counted = slice(part, { sharedCounters: [{ name: 's', counters: { c: { value: '3' } } }] });
    const taken = world({ slices: [counted], claims: [allocated('a', 'gpu-0')] });
    expect(taken.place([admin], existing())).toContain('shared counters');
  });
});

describe('a selector', () => {
  it('refuses the node if it fails on a published device', () => {
    const wanted = claim([request('r', selecting(`device.attributes['${DRIVER}'].model == 'a'`))]);
    expect(world({ slices: [slice(devices(1))] }).place([wanted], existing())).toBe(
      `CEL expression "device.attributes['${DRIVER}'].model == 'a'" evaluation failed: no such key: model`,
    );
  });

  it('is not evaluated on devices that are not needed', () => {
    const model = { attributes: { model: { string: 'a' } } };
    const list = [...devices(2, () => model), { name: 'other' }];
    const wanted = (count: number) =>
      claim([request('r', { count, ...selecting(`device.attributes['${DRIVER}'].model == 'a'`) })]);
    expect(world({ slices: [slice(list)] }).place([wanted(2)], existing())).toEqual({ only: ['r=gpu-0', 'r=gpu-1'] });
    expect(world({ slices: [slice(list)] }).place([wanted(3)], existing())).toContain('evaluation failed');
  });

  it('is explained if it reads attributes of running nodes', () => {
    const uuid = template(devices(1), { runtime: [{ attribute: 'uuid', driver: DRIVER, unique: true }] });
    const wanted = claim([request('r', selecting(`device.attributes['${DRIVER}'].uuid == 'a'`))]);
    expect(world().place([wanted], newNode({ t: uuid }))).toBe(
      `${NO_TYPE}: no known device matches request "r" (class gpu): attribute ${DRIVER}/uuid is known only after launch`,
    );
  });

  it('is not evaluated on devices of other classes', () => {
    const other = slice([{ name: 'nic' }], { driver: 'nic.example.com', name: 'nic', pool: 'nics' });
    const gpu = slice(devices(1, () => ({ attributes: { model: { string: 'a' } } })));
    const wanted = claim([request('r', selecting(`device.attributes['${DRIVER}'].model == 'a'`))]);
    expect(world({ slices: [gpu, other] }).place([wanted], existing())).toEqual({ only: ['r=gpu-0'] });
  });
});

describe('a device taint', () => {
  const tainted = devices(2, (index) =>
    index === 0 ? { taints: [{ key: 'k', value: 'v', effect: 'NoExecute' }] } : {},
  );
  const place = (list: readonly Device[], tolerations: NonNullable<ReturnType<typeof details>['tolerations']>) =>
    world({ slices: [slice(list)] }).place([claim([request('r', { tolerations })])], existing());

  it('excludes a device unless the request tolerates it', () => {
    expect(place(tainted, [])).toEqual({ only: ['r=gpu-1'] });
    expect(place(tainted, [{ key: 'k', operator: 'Equal', value: 'x' }])).toEqual({ only: ['r=gpu-1'] });
    expect(place(tainted, [{ key: 'k', effect: 'NoSchedule', operator: 'Exists' }])).toEqual({ only: ['r=gpu-1'] });
    expect(place(tainted, [{ key: 'k', value: 'v' }])).toEqual({ only: ['r=gpu-0'] });
    expect(place(tainted, [{ operator: 'Exists' }])).toEqual({ only: ['r=gpu-0'] });
    expect(
      place(
        devices(1, () => ({ taints: [{ key: 'k', effect: 'None' }] })),
        [],
      ),
    ).toEqual({ only: ['r=gpu-0'] });
  });

  it('applies to the devices that its rule selects', () => {
    const rule = (deviceSelector: object) => ({
      apiVersion: 'resource.k8s.io/v1',
      kind: 'DeviceTaintRule',
      metadata: { name: 'rule' },
      spec: { deviceSelector, taint: { key: 'k', effect: 'NoSchedule' } },
    });
    const placed = (deviceSelector: object) =>
      world({ slices: [slice(devices(2))], rules: [rule(deviceSelector)] }).place([oneGpu()], existing());
    expect(placed({ device: 'gpu-0', driver: DRIVER, pool: 'pool' })).toEqual({ only: ['r=gpu-1'] });
    expect(placed({ device: 'gpu-0', pool: 'x' })).toEqual({ only: ['r=gpu-0'] });
    expect(placed({})).toContain('have taints that the request does not tolerate');
  });
});

import { describe, expect, it } from '@jest/globals';
import type { Device, ResourceClaim } from '../../../../src/api/dra/objects.ts';
import { ZONE_LABEL } from '../../../../src/api/labels.ts';
import { MOST_STEPS, SearchBudget } from '../../../../src/engine/dra/search-budget.ts';
import { Requirements } from '../../../../src/engine/requirements.ts';
import {
  claim,
  DRIVER,
  details,
  deviceClass,
  devices,
  existing,
  GPU_CLASS,
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
const allocated = (name: string, ...results: readonly string[]): ResourceClaim =>
  claim([request('r')], {
    name,
    status: {
      allocation: {
        devices: { results: results.map((device) => ({ driver: DRIVER, pool: 'pool', device })) },
        nodeSelector: {
          nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['node'] }] }],
        },
      },
      reservedFor: [{ resource: 'pods', name: 'p', uid: 'p' }],
    },
  });
const inZone = (zone: string) => ({ key: ZONE_LABEL, operator: 'In' as const, values: [zone] });
const zoneSelector = (zone: string) => ({ nodeSelectorTerms: [{ matchExpressions: [inZone(zone)] }] });
const zone = (name: string) => Requirements.fromRequirements([inZone(name)]);

describe('devices of new nodes', () => {
  it('restrict the types to those with enough devices', () => {
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

  it('are unknown without a template, and the reason names the driver', () => {
    expect(world().place([oneGpu()], newNode({ a: undefined, b: undefined }))).toBe(
      `${NO_TYPE}: no known device matches request "r" (class gpu): 2 types have no devices of driver ${DRIVER}`,
    );
  });

  it('are free again for types that the node does not have in the end', () => {
    const network = slice(devices(1), { allNodes: true });
    const cluster = world({ slices: [network] });
    const first = newNode({ with: undefined, without: template([{ name: 'gpu-9' }]) });
    expect(cluster.place([oneGpu('a')], first)).toEqual({ with: ['r=gpu-0'], without: ['r=gpu-0'] });
    const second = newNode({ with: undefined });
    expect(cluster.place([oneGpu('b')], second)).toContain('in use');
    cluster.commit(first, () => false);
    expect(cluster.place([oneGpu('b')], second)).toEqual({ with: ['r=gpu-0'] });
  });

  it('belong to one claim only, also on other nodes', () => {
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

describe('published devices', () => {
  const onNode = slice(devices(1));

  it('are used if they are free', () => {
    expect(world({ slices: [onNode] }).place([oneGpu()], existing())).toEqual({ only: ['r=gpu-0'] });
    expect(world({ slices: [onNode] }).place([oneGpu()], existing('other'))).toContain('no devices of driver');
    expect(world({ slices: [onNode], claims: [allocated('a', 'gpu-0')] }).place([oneGpu()], existing())).toContain(
      'in use',
    );
  });

  it('are free if all pods of their claim move, and the claim can be allocated elsewhere', () => {
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
  ])('stay in use if not all consumers move: $reservedFor', ({ reservedFor }) => {
    const staying = allocated('a', 'gpu-0');
    const claims = [{ ...staying, status: { ...staying.status, reservedFor } }];
    const cluster = world({ slices: [onNode], claims, movingPods: ['p'] });
    expect(cluster.place([oneGpu('b')], existing())).toContain('in use');
    expect(cluster.place(claims, newNode({ t: template(devices(1)) }))).toBe(
      'in-cluster allocation topology is incompatible with NodeClaim requirements (ResourceClaim=default/a)',
    );
    expect(cluster.place(claims, existing())).toEqual({});
  });

  it('of a pool with missing slices are not used, and a request for all devices fails', () => {
    const half = slice(devices(1), { resourceSliceCount: 2 });
    const cluster = world({ slices: [half] });
    expect(cluster.place([oneGpu()], existing())).toContain(NO_TYPE);
    expect(cluster.place([claim([request('r', { allocationMode: 'All' })])], existing())).toBe(
      'validating claim "claim": claim "claim" request "r": pool gpu.example.com/pool is incomplete (missing slices)',
    );
  });

  it('of an older generation are not used', () => {
    const old = [slice(devices(3), { name: 'a' }), slice(devices(3), { name: 'b' })];
    const cluster = world({ slices: [...old, slice(devices(1), { name: 'c', generation: 2 })] });
    expect(cluster.place([claim([request('r', { allocationMode: 'All' })])], existing())).toEqual({
      only: ['r=gpu-0'],
    });
  });

  it('of a pool with duplicate names are not used', () => {
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

  it('on the network narrow the node', () => {
    const cluster = world({ slices: [slice(devices(1), { nodeSelector: zoneSelector('b') })] });
    const result = cluster.allocate([oneGpu()], { host: {} });
    expect('requirements' in result && result.requirements.get(ZONE_LABEL).sorted).toEqual(['b']);
    expect(refusal(cluster.allocate([oneGpu()], { host: {}, requirements: zone('a') }))).toContain(NO_TYPE);
    // kube-scheduler places the pod on no existing node without the label
    expect(refusal(cluster.allocate([oneGpu()], existing()))).toContain(NO_TYPE);
    expect(cluster.place([oneGpu()], { ...existing(), requirements: zone('b') })).toEqual({ only: ['r=gpu-0'] });
  });

  it('on the network are not taken twice', () => {
    const cluster = world({ slices: [slice(devices(1), { allNodes: true })] });
    expect(cluster.place([oneGpu('a')], { host: {} })).toEqual({ only: ['r=gpu-0'] });
    expect(cluster.place([oneGpu('b')], { host: {} })).toContain('in use');
  });

  it('of different places are not combined', () => {
    const list: readonly Device[] = ['a', 'b'].map((name) => ({
      name: `gpu-${name}`,
      nodeSelector: zoneSelector(name),
    }));
    const cluster = world({ slices: [slice(list, { perDeviceNodeSelection: true })] });
    expect(cluster.place([oneGpu()], { host: {}, requirements: zone('b') })).toEqual({ only: ['r=gpu-b'] });
    const two = claim([request('r', { count: 2 })], { name: 'two' });
    expect(cluster.place([two], { host: {} })).toContain(NO_TYPE);
  });

  it('are tried before templates, and pools that bind late last', () => {
    const late = slice([{ name: 'late', bindingConditions: ['ready'] }], { pool: 'a', allNodes: true });
    const early = slice([{ name: 'early' }], { pool: 'b', allNodes: true, name: 'early' });
    const on = newNode({ t: template([{ name: 'own' }]) });
    expect(world({ slices: [late, early] }).place([claim([request('r', { count: 3 })])], on)).toEqual({
      t: ['r=early', 'r=late', 'r=own'],
    });
  });
});

describe('requests', () => {
  it('for all devices need every device', () => {
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

  it('with alternatives use the first that is possible', () => {
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
  ])('with %s are refused for every node', (_, wanted, text) => {
    const result = world().allocate([wanted], newNode({ t: template(devices(40)) }));
    expect(result).toMatchObject({ text: expect.stringContaining(text), isPermanent: true });
  });

  it('without devices are satisfied by every type', () => {
    expect(world().place([claim([])], newNode({ t: undefined }))).toEqual({ t: [] });
  });

  it('with administrative access use devices that are taken, and take none', () => {
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

  it('with administrative access need capacity and counters, as in kube-scheduler', () => {
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

describe('selectors', () => {
  it('that fail on a published device refuse the node', () => {
    const wanted = claim([request('r', selecting(`device.attributes['${DRIVER}'].model == 'a'`))]);
    expect(world({ slices: [slice(devices(1))] }).place([wanted], existing())).toBe(
      `CEL expression "device.attributes['${DRIVER}'].model == 'a'" evaluation failed: no such key: model`,
    );
  });

  it('are not evaluated on devices that are not needed', () => {
    const model = { attributes: { model: { string: 'a' } } };
    const list = [...devices(2, () => model), { name: 'other' }];
    const wanted = (count: number) =>
      claim([request('r', { count, ...selecting(`device.attributes['${DRIVER}'].model == 'a'`) })]);
    expect(world({ slices: [slice(list)] }).place([wanted(2)], existing())).toEqual({ only: ['r=gpu-0', 'r=gpu-1'] });
    expect(world({ slices: [slice(list)] }).place([wanted(3)], existing())).toContain('evaluation failed');
  });

  it('on attributes of running nodes are explained', () => {
    const uuid = template(devices(1), { runtime: [{ attribute: 'uuid', driver: DRIVER, unique: true }] });
    const wanted = claim([request('r', selecting(`device.attributes['${DRIVER}'].uuid == 'a'`))]);
    expect(world().place([wanted], newNode({ t: uuid }))).toBe(
      `${NO_TYPE}: no known device matches request "r" (class gpu): attribute ${DRIVER}/uuid is known only after launch`,
    );
  });

  it('of a request are not evaluated on devices of other classes', () => {
    const other = slice([{ name: 'nic' }], { driver: 'nic.example.com', name: 'nic', pool: 'nics' });
    const gpu = slice(devices(1, () => ({ attributes: { model: { string: 'a' } } })));
    const wanted = claim([request('r', selecting(`device.attributes['${DRIVER}'].model == 'a'`))]);
    expect(world({ slices: [gpu, other] }).place([wanted], existing())).toEqual({ only: ['r=gpu-0'] });
  });
});

describe('taints', () => {
  const tainted = devices(2, (index) =>
    index === 0 ? { taints: [{ key: 'k', value: 'v', effect: 'NoExecute' }] } : {},
  );
  const place = (list: readonly Device[], tolerations: NonNullable<ReturnType<typeof details>['tolerations']>) =>
    world({ slices: [slice(list)] }).place([claim([request('r', { tolerations })])], existing());

  it('exclude a device unless the request tolerates them', () => {
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

  it('of rules apply to the devices that the rule selects', () => {
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

describe('constraints', () => {
  const onRoots = (...roots: readonly string[]) =>
    devices(roots.length, (index) => ({ attributes: { root: { string: roots[index] as string } } }));
  const aligned = (count: number) =>
    claim([request('r', { count })], { constraints: [{ matchAttribute: `${DRIVER}/root` }] });

  it('keep devices with one value', () => {
    expect(world().place([aligned(2)], newNode({ t: template(onRoots('0', '1', '2', '1')) }))).toEqual({
      t: ['r=gpu-1', 'r=gpu-3'],
    });
    expect(world().place([aligned(3)], newNode({ t: template(onRoots('0', '0', '1', '1')) }))).toContain(
      `violate the constraint on ${DRIVER}/root`,
    );
  });

  it('compare values of running nodes by their groups', () => {
    const ref = (index: number) => ({ driver: DRIVER, pool: 'gpus', device: `gpu-${index}` });
    const runtime = [{ attribute: 'root', same: [[ref(1), ref(2)], [ref(2), ref(3)], [ref(0)]] }];
    const on = () => newNode({ t: template(devices(4), { runtime }) });
    expect(world().place([aligned(3)], on())).toEqual({ t: ['r=gpu-1', 'r=gpu-2', 'r=gpu-3'] });
    expect(world().place([aligned(4)], on())).toContain('violate the constraint');
    expect(world().place([aligned(1)], on())).toEqual({ t: ['r=gpu-0'] });
  });

  it('never compare a value with a value of a running node', () => {
    const list = [...onRoots('0'), { name: 'gpu-1' }];
    const runtime = [{ attribute: 'root', same: [[{ driver: DRIVER, pool: 'gpus', device: 'gpu-1' }]] }];
    expect(world().place([aligned(2)], newNode({ t: template(list, { runtime }) }))).toContain(
      'violate the constraint',
    );
  });

  it('keep devices with different values', () => {
    const distinct = claim([request('r', { count: 2 })], { constraints: [{ distinctAttribute: 'root' }] });
    expect(world().place([distinct], newNode({ t: template(onRoots('0', '0', '1')) }))).toEqual({
      t: ['r=gpu-0', 'r=gpu-2'],
    });
    expect(world().place([distinct], newNode({ t: template(onRoots('0', '0')) }))).toContain('violate the constraint');
    const unique = template(devices(2), { runtime: [{ attribute: 'root', driver: DRIVER, unique: true }] });
    expect(world().place([distinct], newNode({ t: unique }))).toEqual({ t: ['r=gpu-0', 'r=gpu-1'] });
    expect(world().place([aligned(2)], newNode({ t: unique }))).toContain('violate the constraint');
  });

  it('compare lists by common values', () => {
    const list = [['a', 'b'], ['b', 'c'], ['c']].map((strings, index) => ({
      name: `gpu-${index}`,
      attributes: { root: { strings } },
    }));
    expect(world().place([aligned(2)], newNode({ t: template(list) }))).toEqual({ t: ['r=gpu-0', 'r=gpu-1'] });
    expect(world().place([aligned(3)], newNode({ t: template(list) }))).toContain('violate the constraint');
  });

  it('apply to the requests that they name', () => {
    const wanted = (...requests: readonly string[]) =>
      claim([request('a'), { name: 'b', firstAvailable: [{ ...details(), name: 'x' }] }], {
        constraints: [{ matchAttribute: 'root', requests }],
      });
    const on = () => newNode({ t: template(onRoots('0', '1')) });
    expect(world().place([wanted('a')], on())).toEqual({ t: ['a=gpu-0', 'b/x=gpu-1'] });
    expect(world().place([wanted('a', 'b')], on())).toContain('violate the constraint');
    expect(world().place([wanted('a', 'b/x')], on())).toContain('violate the constraint');
  });

  it('align devices of two drivers', () => {
    const classes = [GPU_CLASS, deviceClass('nic', "device.driver == 'nic.example.com'")];
    const name = 'resource.kubernetes.io/pcieRoot';
    const both = claim([request('g'), request('n', { deviceClassName: 'nic' })], {
      constraints: [{ matchAttribute: name }],
    });
    const gpus = { driver: DRIVER, pool: 'gpus', devices: devices(2) };
    const nics = { driver: 'nic.example.com', pool: 'nics', devices: [{ name: 'nic-0' }] };
    const joined = (gpu: string) => ({
      pools: [gpus, nics],
      runtime: [
        {
          attribute: name,
          same: [
            [
              { driver: DRIVER, pool: 'gpus', device: gpu },
              { driver: 'nic.example.com', pool: 'nics', device: 'nic-0' },
            ],
          ],
        },
      ],
    });
    expect(world({ classes }).place([both], newNode({ near: joined('gpu-1'), far: { pools: [gpus, nics] } }))).toEqual({
      near: ['g=gpu-1', 'n=nic-0'],
    });
  });
});

describe('shared devices', () => {
  const shared = (memory: string, requestPolicy?: NonNullable<Device['capacity']>[string]['requestPolicy']) =>
    devices(1, () => ({
      allowMultipleAllocations: true,
      capacity: { memory: { value: memory, ...(requestPolicy && { requestPolicy }) } },
    }));
  const wanting = (name: string, memory?: string) =>
    claim([request('r', memory === undefined ? {} : { capacity: { requests: { memory } } })], { name });

  it('serve claims until their capacity is used', () => {
    const cluster = world();
    const on = newNode({ t: template(shared('10Gi')) });
    expect(cluster.place([wanting('a', '4Gi')], on)).toEqual({ t: ['r=gpu-0'] });
    expect(cluster.place([wanting('b', '6Gi')], on)).toEqual({ t: ['r=gpu-0'] });
    expect(cluster.place([wanting('c', '1')], on)).toContain('in use');
  });

  it('are used completely without a request and policy, and by the default of the policy otherwise', () => {
    const whole = newNode({ t: template(shared('10Gi')) });
    const cluster = world();
    expect(cluster.place([wanting('a')], whole)).toEqual({ t: ['r=gpu-0'] });
    expect(cluster.place([wanting('b', '1')], whole)).toContain('in use');
    const half = newNode({ t: template(shared('10Gi', { default: '5Gi', validRange: { min: '1Gi' } })) });
    expect(cluster.place([wanting('c')], half)).toEqual({ t: ['r=gpu-0'] });
    expect(cluster.place([wanting('d')], half)).toEqual({ t: ['r=gpu-0'] });
    expect(cluster.place([wanting('e', '1')], half)).toContain('in use');
  });

  it.each<[string, NonNullable<Device['capacity']>[string]['requestPolicy'], string, number]>([
    ['the minimum', { validRange: { min: '4Gi' } }, '1', 2],
    ['a step', { validRange: { min: '1Gi', step: '2Gi' } }, '4Gi', 2],
    ['a valid value', { validValues: ['5Gi', '3Gi'] }, '2Gi', 3],
    ['the request', {}, '2Gi', 5],
    ['nothing above the maximum', { validRange: { min: '1Gi', max: '2Gi' } }, '3Gi', 0],
    ['nothing above the valid values', { validValues: ['1Gi'] }, '2Gi', 0],
  ])('are used by %s', (_, policy, memory, times) => {
    const cluster = world();
    const on = newNode({ t: template(shared('10Gi', policy)) });
    let placed = 0;
    while (typeof cluster.place([wanting(`claim-${placed}`, memory)], on) !== 'string') placed++;
    expect(placed).toBe(times);
  });

  it('need every requested capacity', () => {
    const wanted = claim([request('r', { capacity: { requests: { cores: '1' } } })]);
    expect(world().place([wanted], newNode({ t: template(shared('10Gi')) }))).toContain('too little capacity');
    const exclusive = devices(1, () => ({ capacity: { cores: { value: '2' } } }));
    expect(world().place([wanted], newNode({ t: template(exclusive) }))).toEqual({ t: ['r=gpu-0'] });
    const more = claim([request('r', { capacity: { requests: { cores: '3' } } })]);
    expect(world().place([more], newNode({ t: template(exclusive) }))).toContain('too little capacity');
  });

  it('need names of capacity as the driver writes them', () => {
    const wanted = claim([request('r', { capacity: { requests: { [`${DRIVER}/memory`]: '1Gi' } } })]);
    expect(world().place([wanted], newNode({ t: template(shared('10Gi')) }))).toContain('too little capacity');
    const named = devices(1, () => ({ capacity: { [`${DRIVER}/memory`]: { value: '2Gi' } } }));
    expect(world().place([wanted], newNode({ t: template(named) }))).toEqual({ t: ['r=gpu-0'] });
  });

  it('without enough remaining capacity do not count for a request for all devices', () => {
    const two = [0, 1].map((index) => ({ ...(shared('10Gi')[0] as Device), name: `gpu-${index}` }));
    const cluster = world();
    const on = newNode({ t: template(two) });
    const all = (name: string) =>
      claim([request('r', { allocationMode: 'All', capacity: { requests: { memory: '6Gi' } } })], { name });
    expect(cluster.place([wanting('a', '5Gi')], on)).toEqual({ t: ['r=gpu-0'] });
    expect(cluster.place([all('b')], on)).toEqual({ t: ['r=gpu-1'] });
    expect(cluster.place([all('c')], on)).toContain('in use');
  });

  it('serve several requests of a claim, but a request only once', () => {
    const wanted = claim([request('r', { count: 2, capacity: { requests: { memory: '5Gi' } } })]);
    expect(world().place([wanted], newNode({ t: template(shared('10Gi')) }))).toContain(NO_TYPE);
    const half = { capacity: { requests: { memory: '5Gi' } } };
    const two = claim([request('r', half), request('s', half)]);
    expect(world().place([two], newNode({ t: template(shared('10Gi')) }))).toEqual({ t: ['r=gpu-0', 's=gpu-0'] });
  });

  it('count the consumed capacity of the cluster, except of claims that move', () => {
    const using = (name: string, memory: string): ResourceClaim =>
      claim([request('r')], {
        name,
        status: {
          allocation: {
            devices: {
              results: [{ driver: DRIVER, pool: 'pool', device: 'gpu-0', shareID: name, consumedCapacity: { memory } }],
            },
          },
          reservedFor: [{ resource: 'pods', name, uid: name }],
        },
      });
    const parts = { slices: [slice(shared('10Gi'))], claims: [using('a', '6Gi'), using('b', '4Gi')] };
    expect(world(parts).place([wanting('c', '4Gi')], existing())).toContain('in use');
    const moving = world({ ...parts, movingPods: ['b'] });
    expect(moving.place([wanting('c', '4Gi')], existing())).toEqual({ only: ['r=gpu-0'] });
    expect(moving.place([wanting('d', '5Gi')], existing())).toContain('in use');
  });
});

describe('partitions', () => {
  const uses = (memory: string) => [{ counterSet: 'gpu', counters: { memory: { value: memory } } }];
  const parts: readonly Device[] = [
    { name: 'full', consumesCounters: uses('8'), attributes: { size: { int: 8 } } },
    ...devices(7, () => ({ consumesCounters: uses('1'), attributes: { size: { int: 1 } } })),
  ];
  const counters = [{ name: 'gpu', counters: { memory: { value: '8' } } }];
  const sized = (name: string, size: number, count = 1) =>
    claim([request('r', { count, ...selecting(`device.attributes['${DRIVER}'].size == ${size}`) })], { name });
  const mig = { pools: [{ driver: DRIVER, pool: 'gpus', devices: parts, sharedCounters: counters }] };

  it('share the counters of their device', () => {
    const cluster = world();
    const on = newNode({ t: mig });
    expect(cluster.place([sized('a', 1, 7)], on)).toEqual({ t: devices(7).map(({ name }) => `r=${name}`) });
    expect(cluster.place([sized('b', 8)], on)).toContain('the shared counters of 1 devices are in use');
    const other = newNode({ t: mig });
    expect(cluster.place([sized('c', 8)], other)).toEqual({ t: ['r=full'] });
    expect(cluster.place([sized('d', 1)], other)).toContain('shared counters of 7 devices');
  });

  it('are charged for devices that the cluster uses', () => {
    const published = slice(parts, { sharedCounters: counters });
    expect(
      world({ slices: [published], claims: [allocated('a', 'gpu-3')] }).place([sized('b', 8)], existing()),
    ).toContain('counters');
    expect(
      world({ slices: [published], claims: [allocated('a', 'gpu-3')] }).place([sized('b', 1, 6)], existing()),
    ).not.toBe(expect.any(String));
  });

  it('of unknown counters are not used', () => {
    const wrong = slice(parts, { sharedCounters: [{ name: 'other', counters: { memory: { value: '8' } } }] });
    expect(world({ slices: [wrong] }).place([sized('a', 1)], existing())).toContain(NO_TYPE);
  });
});

describe('the search', () => {
  it('tries 8 of 16 devices in few steps if no combination is possible', () => {
    const list = devices(16, (index) => ({ attributes: { root: { int: index % 4 } } }));
    const wanted = claim([request('r', { count: 8 })], { constraints: [{ matchAttribute: 'root' }] });
    const budget = new SearchBudget();
    expect(refusal(world().allocate([wanted], newNode({ t: template(list) }), budget))).toContain(NO_TYPE);
    expect(budget.steps).toBeLessThan(200);
  });

  it('tries equivalent devices once', () => {
    const wanted = claim([request('a', { count: 8 }), request('b', selecting('false'))]);
    const budget = new SearchBudget();
    expect(refusal(world().allocate([wanted], newNode({ t: template(devices(16)) }), budget))).toContain(NO_TYPE);
    expect(budget.steps).toBeLessThan(1_000);
  });

  it('ends if the budget of the pod is spent', () => {
    const list = devices(30, (index) => ({ attributes: { id: { int: index } } }));
    const wanted = claim([request('a', { count: 15 }), request('b', selecting('false'))]);
    const budget = new SearchBudget();
    expect(refusal(world().allocate([wanted], newNode({ t: template(list) }), budget))).toBe(
      `allocation of devices needs more than ${MOST_STEPS} steps`,
    );
    let now = 0;
    const slow = new SearchBudget(() => (now += 1_000));
    expect(refusal(world().allocate([wanted], newNode({ t: template(list) }), slow))).toBe(
      'allocation of devices took longer than 5s',
    );
  });
});

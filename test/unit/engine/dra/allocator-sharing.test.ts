/** Allocation of devices: constraints, shared devices, partitions, and the work of the search. */
import { describe, expect, it } from '@jest/globals';
import type { Device, ResourceClaim } from '#api/objects';
import { MOST_STEPS, SearchBudget } from '../../../../src/engine/dra/search-budget.ts';
import {
  allocated,
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

describe('a constraint', () => {
  const onRoots = (...roots: readonly string[]) =>
    devices(roots.length, (index) => ({ attributes: { root: { string: roots[index] as string } } }));
  const aligned = (count: number) =>
    claim([request('r', { count })], { constraints: [{ matchAttribute: `${DRIVER}/root` }] });

  it('keeps devices with one value', () => {
    expect(world().place([aligned(2)], newNode({ t: template(onRoots('0', '1', '2', '1')) }))).toEqual({
      t: ['r=gpu-1', 'r=gpu-3'],
    });
    expect(world().place([aligned(3)], newNode({ t: template(onRoots('0', '0', '1', '1')) }))).toContain(
      `violate the constraint on ${DRIVER}/root`,
    );
  });

  it('compares values of running nodes by their groups', () => {
    const ref = (index: number) => ({ driver: DRIVER, pool: 'gpus', device: `gpu-${index}` });
    const runtime = [{ attribute: 'root', same: [[ref(1), ref(2)], [ref(2), ref(3)], [ref(0)]] }];
    const on = () => newNode({ t: template(devices(4), { runtime }) });
    expect(world().place([aligned(3)], on())).toEqual({ t: ['r=gpu-1', 'r=gpu-2', 'r=gpu-3'] });
    expect(world().place([aligned(4)], on())).toContain('violate the constraint');
    expect(world().place([aligned(1)], on())).toEqual({ t: ['r=gpu-0'] });
  });

  it('never compares a value with a value of a running node', () => {
    const list = [...onRoots('0'), { name: 'gpu-1' }];
    const runtime = [{ attribute: 'root', same: [[{ driver: DRIVER, pool: 'gpus', device: 'gpu-1' }]] }];
    expect(world().place([aligned(2)], newNode({ t: template(list, { runtime }) }))).toContain(
      'violate the constraint',
    );
  });

  it('keeps devices with different values', () => {
    const distinct = claim([request('r', { count: 2 })], { constraints: [{ distinctAttribute: 'root' }] });
    expect(world().place([distinct], newNode({ t: template(onRoots('0', '0', '1')) }))).toEqual({
      t: ['r=gpu-0', 'r=gpu-2'],
    });
    expect(world().place([distinct], newNode({ t: template(onRoots('0', '0')) }))).toContain('violate the constraint');
    const unique = template(devices(2), { runtime: [{ attribute: 'root', driver: DRIVER, unique: true }] });
    expect(world().place([distinct], newNode({ t: unique }))).toEqual({ t: ['r=gpu-0', 'r=gpu-1'] });
    expect(world().place([aligned(2)], newNode({ t: unique }))).toContain('violate the constraint');
  });

  it('compares lists by common values', () => {
    const list = [['a', 'b'], ['b', 'c'], ['c']].map((strings, index) => ({
      name: `gpu-${index}`,
      attributes: { root: { strings } },
    }));
    expect(world().place([aligned(2)], newNode({ t: template(list) }))).toEqual({ t: ['r=gpu-0', 'r=gpu-1'] });
    expect(world().place([aligned(3)], newNode({ t: template(list) }))).toContain('violate the constraint');
  });

  it('applies to the requests that it names', () => {
    const wanted = (...requests: readonly string[]) =>
      claim([request('a'), { name: 'b', firstAvailable: [{ ...details(), name: 'x' }] }], {
        constraints: [{ matchAttribute: 'root', requests }],
      });
    const on = () => newNode({ t: template(onRoots('0', '1')) });
    expect(world().place([wanted('a')], on())).toEqual({ t: ['a=gpu-0', 'b/x=gpu-1'] });
    expect(world().place([wanted('a', 'b')], on())).toContain('violate the constraint');
    expect(world().place([wanted('a', 'b/x')], on())).toContain('violate the constraint');
  });

  it('aligns devices of two drivers', () => {
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

describe('a shared device', () => {
  const shared = (memory: string, requestPolicy?: NonNullable<Device['capacity']>[string]['requestPolicy']) =>
    devices(1, () => ({
      allowMultipleAllocations: true,
      capacity: { memory: { value: memory, ...(requestPolicy && { requestPolicy }) } },
    }));
  const wanting = (name: string, memory?: string) =>
    claim([request('r', memory === undefined ? {} : { capacity: { requests: { memory } } })], { name });

  it('serves claims until its capacity is used', () => {
    const cluster = world();
    const on = newNode({ t: template(shared('10Gi')) });
    expect(cluster.place([wanting('a', '4Gi')], on)).toEqual({ t: ['r=gpu-0'] });
    expect(cluster.place([wanting('b', '6Gi')], on)).toEqual({ t: ['r=gpu-0'] });
    expect(cluster.place([wanting('c', '1')], on)).toContain('in use');
  });

  it('is used completely without a request and policy, and by the default of the policy otherwise', () => {
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
  ])('is used by %s', (_, policy, memory, times) => {
    const cluster = world();
    const on = newNode({ t: template(shared('10Gi', policy)) });
    let placed = 0;
    while (typeof cluster.place([wanting(`claim-${placed}`, memory)], on) !== 'string') placed++;
    expect(placed).toBe(times);
  });

  it('needs every requested capacity', () => {
    const wanted = claim([request('r', { capacity: { requests: { cores: '1' } } })]);
    expect(world().place([wanted], newNode({ t: template(shared('10Gi')) }))).toContain('too little capacity');
    const exclusive = devices(1, () => ({ capacity: { cores: { value: '2' } } }));
    expect(world().place([wanted], newNode({ t: template(exclusive) }))).toEqual({ t: ['r=gpu-0'] });
    const more = claim([request('r', { capacity: { requests: { cores: '3' } } })]);
    expect(world().place([more], newNode({ t: template(exclusive) }))).toContain('too little capacity');
  });

  it('needs names of capacity as the driver writes them', () => {
    const wanted = claim([request('r', { capacity: { requests: { [`${DRIVER}/memory`]: '1Gi' } } })]);
    expect(world().place([wanted], newNode({ t: template(shared('10Gi')) }))).toContain('too little capacity');
    const named = devices(1, () => ({ capacity: { [`${DRIVER}/memory`]: { value: '2Gi' } } }));
    expect(world().place([wanted], newNode({ t: template(named) }))).toEqual({ t: ['r=gpu-0'] });
  });

  it('does not count without enough remaining capacity for a request for all devices', () => {
    const two = [0, 1].map((index) => ({ ...(shared('10Gi')[0] as Device), name: `gpu-${index}` }));
    const cluster = world();
    const on = newNode({ t: template(two) });
    const all = (name: string) =>
      claim([request('r', { allocationMode: 'All', capacity: { requests: { memory: '6Gi' } } })], { name });
    expect(cluster.place([wanting('a', '5Gi')], on)).toEqual({ t: ['r=gpu-0'] });
    expect(cluster.place([all('b')], on)).toEqual({ t: ['r=gpu-1'] });
    expect(cluster.place([all('c')], on)).toContain('in use');
  });

  it('serves several requests of a claim, but a request only once', () => {
    const wanted = claim([request('r', { count: 2, capacity: { requests: { memory: '5Gi' } } })]);
    expect(world().place([wanted], newNode({ t: template(shared('10Gi')) }))).toContain(NO_TYPE);
    const half = { capacity: { requests: { memory: '5Gi' } } };
    const two = claim([request('r', half), request('s', half)]);
    expect(world().place([two], newNode({ t: template(shared('10Gi')) }))).toEqual({ t: ['r=gpu-0', 's=gpu-0'] });
  });

  it('counts the consumed capacity of the cluster, except of claims that move', () => {
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

describe('a partition', () => {
  const uses = (memory: string) => [{ counterSet: 'gpu', counters: { memory: { value: memory } } }];
  const parts: readonly Device[] = [
    { name: 'full', consumesCounters: uses('8'), attributes: { size: { int: 8 } } },
    ...devices(7, () => ({ consumesCounters: uses('1'), attributes: { size: { int: 1 } } })),
  ];
  const counters = [{ name: 'gpu', counters: { memory: { value: '8' } } }];
  const sized = (name: string, size: number, count = 1) =>
    claim([request('r', { count, ...selecting(`device.attributes['${DRIVER}'].size == ${size}`) })], { name });
  const mig = { pools: [{ driver: DRIVER, pool: 'gpus', devices: parts, sharedCounters: counters }] };

  it('shares the counters of its device', () => {
    const cluster = world();
    const on = newNode({ t: mig });
    expect(cluster.place([sized('a', 1, 7)], on)).toEqual({ t: devices(7).map(({ name }) => `r=${name}`) });
    expect(cluster.place([sized('b', 8)], on)).toContain('the shared counters of 1 devices are in use');
    const other = newNode({ t: mig });
    expect(cluster.place([sized('c', 8)], other)).toEqual({ t: ['r=full'] });
    expect(cluster.place([sized('d', 1)], other)).toContain('shared counters of 7 devices');
  });

  it('is charged for devices that the cluster uses', () => {
    const published = slice(parts, { sharedCounters: counters });
    expect(
      world({ slices: [published], claims: [allocated('a', 'gpu-3')] }).place([sized('b', 8)], existing()),
    ).toContain('counters');
    expect(
      world({ slices: [published], claims: [allocated('a', 'gpu-3')] }).place([sized('b', 1, 6)], existing()),
    ).not.toBe(expect.any(String));
  });

  it('is not used if its counters are unknown', () => {
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
    const slow = new SearchBudget({ elapsedMs: () => (now += 1_000) });
    expect(refusal(world().allocate([wanted], newNode({ t: template(list) }), slow))).toBe(
      'allocation of devices took longer than 5s',
    );
  });
});

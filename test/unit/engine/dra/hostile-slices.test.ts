import { describe, expect, it } from '@jest/globals';
import type { Device, ResourceSlice } from '#api/objects';
import { claim, devices, existing, newNode, request, slice, template, world } from './build.ts';

const healthy = slice(devices(1), { pool: 'healthy', name: 'healthy' });
const wanted = claim([request('r')]);
const many = <T>(count: number, of: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, at) => of(at));
const record = <T>(count: number, value: T): Readonly<Record<string, T>> =>
  Object.fromEntries(many(count, (at) => [`a${at}`, value]));
const policy = (requestPolicy: NonNullable<Device['capacity']>[string]['requestPolicy'], value = '1') =>
  devices(1, () => ({ capacity: { memory: { value, ...(requestPolicy && { requestPolicy }) } } }));
const selectorOf = (count: number) => ({
  nodeSelector: { nodeSelectorTerms: many(count, () => ({ matchExpressions: [] })) },
});
const pool = (generation: number, resourceSliceCount: number): ResourceSlice =>
  slice(devices(1), { pool: 'bad', generation, resourceSliceCount });

describe('a slice that the API does not allow', () => {
  it.each<[string, readonly ResourceSlice[]]>([
    ['10,000 attributes', [slice(devices(1, () => ({ attributes: record(10_000, { int: 1 }) })))]],
    ['100,000 devices', [slice(devices(100_000))]],
    ['129 devices', [slice(devices(129))]],
    ['65 devices with taints', [slice(devices(65, () => ({ taints: [{ key: 'k', effect: 'None' }] })))]],
    ['a text of 1 MiB', [slice(devices(1, () => ({ attributes: { a: { string: 'x'.repeat(2 ** 20) } } })))]],
    ['two values of one attribute', [slice(devices(1, () => ({ attributes: { a: { int: 1, bool: true } } })))]],
    ['an attribute without a value', [slice(devices(1, () => ({ attributes: { a: {} } })))]],
    ['a version that is not semantic', [slice(devices(1, () => ({ attributes: { a: { version: '1' } } })))]],
    ['an integer with a fraction', [slice(devices(1, () => ({ attributes: { a: { int: 0.5 } } })))]],
    ['a name that is not valid', [slice([{ name: 'GPU 0' }])]],
    ['a capacity that is not a number', [slice(policy(undefined, 'NaN'))]],
    ['a negative capacity', [slice(policy(undefined, '-1'))]],
    ['a step of 0', [slice(policy({ validRange: { min: '1', step: '0' } }))]],
    ['two policies', [slice(policy({ validRange: { min: '1' }, validValues: ['1'] }))]],
    ['17 taints', [slice(devices(1, () => ({ taints: many(17, (at) => ({ key: `k${at}`, effect: 'None' })) })))]],
    ['negative counters', [slice(devices(1), { sharedCounters: [{ name: 's', counters: { c: { value: '-1' } } }] })]],
    ['9 counter sets', [slice(devices(1), { sharedCounters: many(9, (at) => ({ name: `s${at}`, counters: {} })) })]],
    [
      'a counter set twice',
      [slice(devices(1), { sharedCounters: many(2, () => ({ name: 's', counters: { c: { value: '1' } } })) })],
    ],
    ['a selector without terms', [slice(devices(1), selectorOf(0))]],
    ['a selector with two terms', [slice(devices(1), selectorOf(2))]],
    ['two ways to select nodes', [slice(devices(1), { nodeName: 'node', allNodes: true })]],
    ['a device without a place', [slice(devices(1), { perDeviceNodeSelection: true })]],
    ['no slices', [pool(1, 0)]],
    ['2^40 slices', [pool(1, 2 ** 40)]],
    ['a higher generation', [pool(-1, 1), { ...pool(2 ** 63 - 1, 2), metadata: { name: 'b' } }]],
    ['nodeAllocatableResources', [slice(devices(1, () => ({ nodeAllocatableResources: {} })))]],
  ])('costs only its own pool: %s', (_, slices) => {
    const wide = slices.map((each) => ({ ...each, spec: { ...each.spec, pool: { ...each.spec.pool, name: 'bad' } } }));
    expect(world({ slices: wide }).place([wanted], existing())).toEqual(expect.any(String));
    expect(world({ slices: [...wide, healthy] }).place([wanted], existing())).toEqual({ only: ['r=gpu-0'] });
  });

  it('costs only its own pool in a template', () => {
    const on = newNode({ bad: template(devices(129)), good: template(devices(1)) });
    expect(world().place([wanted], on)).toEqual({ good: ['r=gpu-0'] });
  });

  it('keeps an enormous capacity exact', () => {
    const shared = devices(1, () => ({ allowMultipleAllocations: true, capacity: { memory: { value: '1e30' } } }));
    const half = (name: string) =>
      claim([request('r', { capacity: { requests: { memory: '4611686018427387904' } } })], { name });
    const cluster = world();
    const on = newNode({ t: template(shared) });
    expect(cluster.place([half('a')], on)).toEqual({ t: ['r=gpu-0'] });
    expect(cluster.place([half('b')], on)).toContain('in use');
  });

  it('may use names of members of objects', () => {
    const named = JSON.parse('{"__proto__": {"int": 1}, "constructor": {"int": 2}}') as Device['attributes'];
    const list = devices(1, () => ({ ...(named && { attributes: named }) }));
    const selected = claim([
      request('r', {
        selectors: [
          { cel: { expression: "device.attributes['gpu.example.com']['__proto__'] == 1" } },
          { cel: { expression: "device.attributes['gpu.example.com']['constructor'] == 2" } },
        ],
      }),
    ]);
    expect(world({ slices: [slice(list)] }).place([selected], existing())).toEqual({ only: ['r=gpu-0'] });
  });

  it('does not confuse names that contain slashes', () => {
    const [left, right] = [
      slice([{ name: 'c' }], { driver: 'a.b', pool: 'x/c', name: 'left' }),
      slice([{ name: 'c' }], { driver: 'a.b', pool: 'x', name: 'right' }),
    ];
    const classes = [{ apiVersion: '', kind: '', metadata: { name: 'gpu' }, spec: {} }];
    const two = claim([request('r', { count: 2 })]);
    expect(world({ slices: [left, right], classes }).place([two], existing())).toEqual({ only: ['r=c', 'r=c'] });
  });
});

describe('a runtime attribute', () => {
  it('is joined in linear time if the groups are a long chain', () => {
    const ref = (index: number) => ({ driver: 'gpu.example.com', pool: 'gpus', device: `gpu-${index}` });
    const chain = many(20_000, (at) => [ref(at), ref(at + 1)]);
    const on = newNode({
      t: template(devices(2), { runtime: [{ attribute: 'root', same: [...chain, [ref(20_000), ref(1)]] }] }),
    });
    const aligned = claim([request('r', { count: 2 })], { constraints: [{ matchAttribute: 'root' }] });
    expect(world().place([aligned], on)).toEqual({ t: ['r=gpu-0', 'r=gpu-1'] });
  });
});

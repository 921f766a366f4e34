/** Pods with claims in whole solves: new nodes, virtual pods of capacity buffers, and resources of DeviceClasses. */
import { describe, expect, it } from '@jest/globals';
import { INSTANCE_TYPE_LABEL, type Pod } from '#api/objects';
import { virtualPods } from '../../../../src/engine/capacity-buffers.ts';
import { solve } from '../../../../src/engine/solve.ts';
import { nodePool, pod, refusalText } from '../build.ts';
import { claim, DRIVER, deviceClass, devices, GPU_CLASS, request, selecting, template } from './build.ts';
import {
  CHEAP,
  clusterOf,
  DRA,
  driversOf,
  GPU,
  gpuNode,
  HUNDRED,
  held,
  NONE,
  planOf,
  podCounts,
  privatePod,
  running,
  typesOf,
  workload,
} from './cluster.ts';

describe('a new node', () => {
  const templates = { b: template(devices(2)) };

  it('has the devices that its pods claim, and lists the drivers', () => {
    const { pods, claims } = workload(1);
    const plan = planOf({ templates, claims, pendingPods: [...pods] });
    expect(typesOf(plan)).toEqual([['b']]);
    expect(driversOf(plan)).toEqual([DRIVER]);
  });

  it('lists no drivers and no more expensive types for pods without claims', () => {
    const { pods, claims } = workload(1);
    const plan = planOf({ templates, claims, pendingPods: [...pods, pod('plain', { cpu: '7950m' })] });
    expect(
      new Map(
        plan.claims.map(({ cheapest, annotations }) => [cheapest, annotations['karpenter.sh/requested-dra-drivers']]),
      ),
    ).toEqual(
      new Map([
        ['a', undefined],
        ['b', DRIVER],
      ]),
    );
  });

  it.each([
    [1, [1]],
    [2, [2]],
    [3, [2, 1]],
    [5, [2, 2, 1]],
  ])('holds as many pods as it has devices: %d pods', (count, expected) => {
    const { pods, claims } = workload(count);
    expect(podCounts(planOf({ templates, claims, pendingPods: pods }))).toEqual(expected);
  });

  it('belongs to one pod if it requests all devices', () => {
    const more = { ...templates, c: template(devices(4)) };
    const { pods, claims } = workload(2, [request('r', { allocationMode: 'All' })]);
    const plan = planOf({ templates: more, claims, pendingPods: pods });
    expect([podCounts(plan), typesOf(plan)]).toEqual([
      [1, 1],
      [
        ['b', 'c'],
        ['b', 'c'],
      ],
    ]);
  });

  it('remains possible with more devices until a pod needs them', () => {
    const more = { ...templates, c: template(devices(4)) };
    const { pods, claims } = workload(3);
    const plan = planOf({ templates: more, claims, pendingPods: pods });
    expect(typesOf(plan)).toEqual([['c']]);
    const two = planOf({ templates: more, claims, pendingPods: pods.slice(0, 2) });
    expect(typesOf(two)).toEqual([['b', 'c']]);
  });

  it('is not launched for claims that no type satisfies, and the reason names the driver', () => {
    const { pods, claims } = workload(1);
    const plan = planOf({ claims, pendingPods: pods });
    expect(plan.claims).toEqual([]);
    expect(refusalText(plan, 'pod-0')).toContain(
      `${NONE}: no known device matches request "r" (class gpu): 3 types have no devices of driver ${DRIVER}`,
    );
    expect(plan.refusals.get('default/pod-0')).toMatchObject({ pools: [{ misfit: { code: 'devices' } }] });
  });

  it('is not launched for more devices than a type has, and the reason names the nearest type', () => {
    const { pods, claims } = workload(1, [request('r', { count: 5 })]);
    const plan = planOf({ templates: { b: template(devices(2)), c: template(devices(4)) }, claims, pendingPods: pods });
    expect(refusalText(plan, 'pod-0')).toContain(
      `2 types have too few devices of driver ${DRIVER}; the nearest type is c with 4 of 5 devices for request "r"`,
    );
    const odd = devices(4, (index) => ({ attributes: { index: { int: index } } }));
    const one = `device.attributes['${DRIVER}'].index == 9`;
    const other = workload(1, [request('r', selecting(one))]);
    const rejected = planOf({ templates: { b: template(odd) }, claims: other.claims, pendingPods: other.pods });
    expect(refusalText(rejected, 'pod-0')).toContain(`the nearest type is b: 4 devices rejected by selector "${one}"`);
  });

  it('is not launched while the class does not exist', () => {
    const { pods, claims } = workload(1);
    const plan = planOf({ templates, claims, pendingPods: pods, deviceClasses: [] });
    expect(refusalText(plan, 'pod-0')).toContain('DeviceClass "gpu" not found');
  });

  it('is not launched while the kinds cannot be read, but pods without claims get nodes', () => {
    const { pods, claims } = workload(1);
    const parts = { templates, claims, pendingPods: [...pods, pod('plain', { cpu: '1' })] };
    const plan = planOf({ ...parts, missingDeviceKinds: ['resourceslices'] });
    expect(refusalText(plan, 'pod-0')).toMatch(/^dynamic resource allocation is not available: .*resourceslices/);
    expect(plan.claims.flatMap(({ pods: placed }) => placed)).toEqual(['default/plain']);
  });

  it('is not launched for expensive searches, which cost only their own pod', () => {
    const list = devices(30, (index) => ({ attributes: { id: { int: index } } }));
    const hard = privatePod('hard', [request('x', { count: 15 }), request('y', selecting('false'))]);
    const { pods, claims } = workload(20);
    const plan = planOf({
      templates: { b: template(list) },
      claims: [...claims, hard.claim],
      pendingPods: [hard.pod, ...pods],
    });
    expect(refusalText(plan, 'hard')).toContain('allocation of devices needs more than 200000 steps');
    expect(plan.claims.flatMap(({ pods: placed }) => placed)).toHaveLength(20);
  });

  it('satisfies minValues after the types without devices are removed', () => {
    const { pods, claims } = workload(1);
    const strict = nodePool('default', {
      requirements: [{ key: INSTANCE_TYPE_LABEL, operator: 'Exists', minValues: 2 }],
    });
    const parts = clusterOf({ templates, claims, pendingPods: pods });
    const plan = solve({ ...parts, pools: parts.pools.map((one) => ({ ...one, nodePool: strict })) }, DRA);
    expect(plan.claims).toEqual([]);
    expect(refusalText(plan, 'pod-0')).toContain('minValues');
  });

  it('counts for the limits of its NodePool with its resources only', () => {
    const { pods, claims } = workload(3);
    const limited = nodePool('default', { limits: { cpu: '8' } });
    const parts = clusterOf({ templates, claims, pendingPods: pods });
    const plan = solve({ ...parts, pools: parts.pools.map((one) => ({ ...one, nodePool: limited })) }, DRA);
    expect(podCounts(plan)).toEqual([2]);
    expect(refusalText(plan, 'pod-2')).toContain('limit');
  });

  it.each([
    ['that does not compile', 'device.driver =='],
    ['that is too long', `'${'x'.repeat(10 * 1024)}' == ''`],
    [
      'that costs too much',
      ['a', 'b', 'c', 'd'].reduceRight((body, name) => `${HUNDRED}.all(${name}, ${body})`, 'true'),
    ],
  ])('is launched for other pods if a pod has a selector %s', (_, expression) => {
    const { pods, claims } = workload(2);
    const bad = privatePod('bad', [request('r', selecting(expression))]);
    const plan = planOf({ templates, claims: [...claims, bad.claim], pendingPods: [bad.pod, ...pods] });
    expect(plan.claims.flatMap(({ pods: placed }) => placed).sort()).toEqual(['default/pod-0', 'default/pod-1']);
    expect(refusalText(plan, 'bad')).toMatch(/CEL expression|rejected by selector/);
  });

  it('depends only on the templates of its own snapshot', () => {
    const { pods, claims } = workload(1);
    // the same instance types, which the solver compiles once
    expect(typesOf(planOf({ templates, claims, pendingPods: pods }))).toEqual([['b']]);
    expect(typesOf(planOf({ templates: { c: template(devices(1)) }, claims, pendingPods: pods }))).toEqual([['c']]);
    expect(typesOf(planOf({ claims, pendingPods: pods }))).toEqual([]);
  });

  it('is the same for the same snapshot', () => {
    const { pods, claims } = workload(7);
    const parts = clusterOf({ templates: { ...templates, c: template(devices(4)) }, claims, pendingPods: pods });
    expect(solve(parts, DRA)).toEqual(solve(structuredClone(parts), DRA));
  });
});

describe('a virtual pod of a capacity buffer', () => {
  const templates = { b: template(devices(2)) };
  const buffer = { metadata: { name: 'buffer', namespace: 'default', uid: 'buffer' } };
  const like = (resourceClaims: NonNullable<Pod['spec']['resourceClaims']>) => [
    ...virtualPods(buffer, pod('like', { cpu: '100m', resourceClaims }), 3, 0),
  ];
  const claimTemplate = {
    ...{
      apiVersion: 'resource.k8s.io/v1',
      kind: 'ResourceClaimTemplate',
      metadata: { name: 't', namespace: 'default' },
    },
    spec: { spec: { devices: { requests: [request('r')] } } },
  };

  it('reserves the devices that its template would claim', () => {
    const pendingPods = like([{ name: 'gpu', resourceClaimTemplateName: 't' }]);
    const plan = planOf({ templates, pendingPods, resourceClaimTemplates: [claimTemplate] });
    expect(typesOf(plan)).toEqual([['b'], ['b']]);
    expect(podCounts(plan)).toEqual([2, 1]);
    const missing = planOf({ templates, pendingPods });
    expect([...missing.refusals.values()][0]?.text).toBe('resourceclaimtemplate "default/t" not found');
  });

  it('needs no devices for claims with a name', () => {
    const plan = planOf({ templates, pendingPods: like([{ name: 'gpu', resourceClaimName: 'named' }]) });
    expect(plan.claims.map(({ cheapest }) => cheapest)).toEqual(['a']);
  });
});

describe('a resource that a DeviceClass provides', () => {
  const templates = { b: template(devices(2)) };
  const IMPLICIT = 'deviceclass.resource.kubernetes.io/gpu';
  const asking = (count: number, resource: string) =>
    Array.from({ length: count }, (_, at) => pod(`pod-${at}`, { cpu: '100m', requests: { [resource]: '1' } }));
  const mapping = { ...GPU_CLASS, spec: { ...GPU_CLASS.spec, extendedResourceName: 'example.com/gpu' } };

  it.each([
    ['by the name of the class', IMPLICIT, GPU_CLASS],
    ['by a name that no type has', 'example.com/gpu', mapping],
  ])('takes devices of new nodes %s', (_, resource, deviceClasses) => {
    const plan = planOf({ templates, pendingPods: asking(3, resource), deviceClasses: [deviceClasses] });
    expect(typesOf(plan)).toEqual([['b'], ['b']]);
    expect(podCounts(plan)).toEqual([2, 1]);
    expect(driversOf(plan)).toEqual([DRIVER, DRIVER]);
    const none = planOf({ pendingPods: asking(1, resource), deviceClasses: [deviceClasses] });
    expect(refusalText(none, 'pod-0')).toContain(`types have no devices of driver ${DRIVER}`);
  });

  it('is the capacity of types that have the resource', () => {
    const types = [CHEAP, { ...GPU, capacity: { ...GPU.capacity, 'example.com/gpu': 2 } }];
    const parts = clusterOf({ pendingPods: asking(3, 'example.com/gpu'), deviceClasses: [mapping] });
    const pools = parts.pools.map((pool) => ({ ...pool, instanceTypes: types }));
    const plan = solve({ ...parts, pools }, DRA);
    expect(podCounts(plan)).toEqual([2, 1]);
    expect(driversOf(plan)).toEqual([undefined, undefined]);
  });

  it.each([true, false])('counts free devices of an initialized node without a device plugin: %s', (isOffered) => {
    const types = [CHEAP, isOffered ? { ...GPU, capacity: { ...GPU.capacity, 'example.com/gpu': 2 } } : GPU];
    const user = running(pod('user', { cpu: '100m', requests: { 'example.com/gpu': '1' } }), 'n');
    const { node, slices } = gpuNode('n', 3, { pods: [user] });
    const own = held(claim([request('r')], { name: 'user-extended-resources' }), user, 'n');
    const parts = clusterOf({
      ...{ nodes: [node], resourceSlices: slices, claims: [own], deviceClasses: [mapping], templates },
      pendingPods: asking(3, 'example.com/gpu'),
    });
    const plan = solve({ ...parts, pools: parts.pools.map((pool) => ({ ...pool, instanceTypes: types })) }, DRA);
    expect(plan.placements.map(({ pods }) => pods)).toEqual([['default/pod-0', 'default/pod-1']]);
    expect(podCounts(plan)).toEqual([1]);
  });

  it('belongs to the newest of several classes with one name', () => {
    const other = deviceClass('other', 'false');
    const older = { ...other, spec: { ...other.spec, extendedResourceName: 'example.com/gpu' } };
    const at = (one: typeof mapping, creationTimestamp: string) => ({
      ...one,
      metadata: { ...one.metadata, creationTimestamp },
    });
    const [early, late] = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'] as const;
    const count = (...deviceClasses: (typeof mapping)[]) =>
      planOf({ templates, pendingPods: asking(1, 'example.com/gpu'), deviceClasses }).claims.length;
    expect(count(at(older, early), at(mapping, late))).toBe(1);
    expect(count(at(older, late), at(mapping, early))).toBe(0);
    expect(count(at(older, late), at(mapping, late))).toBe(1);
  });
});

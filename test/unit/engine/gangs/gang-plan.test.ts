import { describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, ZONE_LABEL } from '#api/objects';
import { refusalMessage } from '../../../../src/engine/causes/pod-verdict.ts';
import type { Plan } from '../../../../src/engine/model.ts';
import { prepare } from '../../../../src/engine/solve.ts';
import {
  instanceType,
  nodePool,
  OPTIONS,
  oneOf,
  planOf,
  pod,
  refusalText,
  replicas,
  snapshot,
  stateNode,
} from '../build.ts';
import { countPlaced, type GangParts, gang, inGang } from './build.ts';

const TYPES = [instanceType('four', { cpu: 4, zones: ['zone-a', 'zone-b'] })];
const limited = (cpu: string) => [nodePool('default', { limits: { cpu } })];
/** Gang of pods that need a node each. */
const train = (pods: number, parts: Omit<GangParts, 'pods'> = {}) => gang('train', { pods, cpu: '3', ...parts });
const zonesOf = ({ claims }: Plan): readonly string[] => [
  ...new Set(claims.flatMap(({ requirements }) => requirements.find(({ key }) => key === ZONE_LABEL)?.values ?? [])),
];

describe('a plan with a gang', () => {
  it('launches nothing if the limits have room for a part of the gang', () => {
    const pods = train(8);
    const plan = planOf({ types: TYPES, pools: limited('16'), pendingPods: pods }, { explain: true });
    expect(plan.claims).toEqual([]);
    expect(plan.refusals.size).toBe(8);
    const refusal = plan.refusals.get('default/train-7');
    expect(refusal && refusalMessage(refusal)).toMatch(
      /^gang train needs 8 pods together, room for 4: NodePool "default" has reached its limit: cpu 16 of 16 \(16 planned/,
    );
    expect(refusal).toMatchObject({ code: 'no-fit', cause: { code: 'limits', gang: { minimum: 8, room: 4 } } });
  });

  it('launches a node for each pod if there is room for the gang', () => {
    const plan = planOf({ types: TYPES, pools: limited('32'), pendingPods: train(8) });
    expect(plan.claims).toHaveLength(8);
    expect(plan.refusals.size).toBe(0);
  });

  it.each([
    'compatible',
    'cheapest',
  ] as const)('counts the smallest types against limits with packing %s', (packing) => {
    const types = [4, 8, 16].map((cpu) => instanceType(`type-${cpu}`, { cpu, usd: cpu }));
    const pendingPods = train(8, { hostPort: 80 });
    const plan = planOf({ types, pools: limited('32'), pendingPods }, { packing });
    expect([plan.claims.length, plan.refusals.size]).toEqual([8, 0]);
    expect(plan.claims.every(({ instanceTypes }) => instanceTypes.join() === 'type-4')).toBe(true);
    expect(planOf({ types, pools: limited('28'), pendingPods }, { packing }).claims).toEqual([]);
  });

  it('places one of two gangs if there is room for one, the older gang first', () => {
    const [young, old] = [
      gang('young', { pods: 6, cpu: '3', createdAt: '2026-01-02T00:00:00Z' }),
      gang('old', { pods: 6, cpu: '3' }),
    ];
    const plan = planOf({ types: TYPES, pools: limited('32'), pendingPods: [...young, ...old] });
    expect([countPlaced(plan, old), countPlaced(plan, young)]).toEqual([6, 0]);
  });

  it('prefers the gang with the higher priority to an older one', () => {
    const [low, high] = [
      gang('low', { pods: 6, cpu: '3' }),
      gang('high', { pods: 6, cpu: '3', priority: 10, createdAt: '2026-01-02T00:00:00Z' }),
    ];
    const plan = planOf({ types: TYPES, pools: limited('32'), pendingPods: [...low, ...high] });
    expect([countPlaced(plan, high), countPlaced(plan, low)]).toEqual([6, 0]);
  });

  it('places a small gang that follows a gang without room', () => {
    const [large, small] = [gang('a-large', { pods: 6, cpu: '3' }), gang('b-small', { pods: 2, cpu: '3' })];
    const plan = planOf({ types: TYPES, pools: limited('16'), pendingPods: [...large, ...small] });
    expect([countPlaced(plan, large), countPlaced(plan, small)]).toEqual([0, 2]);
  });

  it('gives ordinary pods their room first', () => {
    const ordinary = replicas(2, 'web', { cpu: '3' });
    const plan = planOf({ types: TYPES, pools: limited('16'), pendingPods: [...train(3), ...ordinary] });
    expect([countPlaced(plan, ordinary), countPlaced(plan, train(3))]).toEqual([2, 0]);
  });

  it('refuses only the surplus pods of a gang with room for its minimum', () => {
    const pods = train(6, { minimum: 4 });
    const plan = planOf({ types: TYPES, pools: limited('20'), pendingPods: pods });
    expect(countPlaced(plan, pods)).toBe(5);
    expect([...plan.refusals.values()].map(({ text }) => text)).toEqual([
      expect.stringContaining('all available instance types exceed limits'),
    ]);
  });

  it('counts bound pods toward the minimum', () => {
    const bound = inGang(pod('train-9', { cpu: '3', nodeName: 'node-a' }), 'train', 5);
    const parts = { types: TYPES, pendingPods: train(4, { minimum: 5 }) };
    const nodes = [stateNode('node-a', { pods: [bound] })];
    expect(planOf({ ...parts, nodes, pools: limited('20') }).claims).toHaveLength(4);
    expect(planOf({ ...parts, nodes, pools: limited('12') }).claims).toEqual([]);
    expect(refusalText(planOf(parts), 'train-0')).toBe(
      'gang train needs 5 pods together, but only 4 wait or run; nodes are launched when the others exist',
    );
  });

  it('treats further pods of a running gang as ordinary pods', () => {
    const bound = [0, 1].map((at) => inGang(pod(`b-${at}`, { cpu: '1', nodeName: 'node-a' }), 'train', 2));
    const nodes = [stateNode('node-a', { pods: bound })];
    const plan = planOf({ types: TYPES, nodes, pools: limited('8'), pendingPods: train(4, { minimum: 2 }) });
    expect(plan.claims).toHaveLength(1);
  });

  it('uses existing nodes and leaves them to other pods if the gang has no room', () => {
    const nodes = [stateNode('node-a'), stateNode('node-b')];
    const parts = { types: TYPES, nodes, pendingPods: train(3) };
    expect(planOf({ ...parts, pools: limited('12') })).toMatchObject({ claims: [{}], placements: [{}, {}] });
    expect(planOf({ ...parts, pools: limited('8') })).toMatchObject({ claims: [], placements: [] });
  });

  it('reports marks that are not valid', () => {
    const plan = planOf({ types: TYPES, pendingPods: train(2, { minimum: 'all' }) });
    expect(plan.claims).toEqual([]);
    expect(refusalText(plan, 'train-0')).toBe(
      'gang train: annotation karpenter-ts.sh/gang-min "all" is not a number of pods; use an integer from 1 to 10000',
    );
  });

  it('places no pod of a gang that is held', () => {
    const gangHolds = new Map([['karpenter-ts.sh/gang default/train', 'a launch failed']]);
    const plan = planOf({ types: TYPES, gangHolds, pendingPods: train(2) });
    expect(plan.claims).toEqual([]);
    expect(plan.refusals.get('default/train-1')).toEqual({ code: 'gang', text: 'gang train: a launch failed' });
  });

  it('reads the minimum of the object that declares the gang', () => {
    const labelled = replicas(3, 'mpi', { cpu: '3', labels: { 'scheduling.x-k8s.io/pod-group': 'mpi' } });
    const gangGroups = new Map([['PodGroup.scheduling.x-k8s.io default/mpi', { minimum: 4 }]]);
    expect(planOf({ types: TYPES, pendingPods: labelled }).claims).toHaveLength(3);
    expect(planOf({ types: TYPES, pendingPods: labelled, gangGroups }).claims).toEqual([]);
  });

  it('drops a gang whose claims do not satisfy minValues in the end', () => {
    const requirements = [{ key: CAPACITY_TYPE_LABEL, operator: 'Exists' as const, minValues: 3 }];
    const pods = train(2);
    const plan = planOf({ types: TYPES, pools: [nodePool('default', { requirements })], pendingPods: pods });
    expect([plan.claims, plan.refusals.size]).toEqual([[], 2]);
  });
});

describe('a gang with a topology key', () => {
  const zonal = (pods: number, minimum = pods) => train(pods, { minimum, topologyKey: ZONE_LABEL });
  const cheapB = [
    instanceType('four', { cpu: 4, zones: ['zone-a'], usd: 1 }),
    instanceType('four-b', { cpu: 4, zones: ['zone-b'], usd: 0.5 }),
  ];

  it('has all its nodes in the cheapest domain', () => {
    const plan = planOf({ types: cheapB, pendingPods: zonal(3) });
    expect([plan.claims.length, zonesOf(plan)]).toEqual([3, ['zone-b']]);
  });

  it('follows its bound pods', () => {
    const bound = inGang(pod('train-9', { cpu: '3', nodeName: 'node-a' }), 'train', 4, ZONE_LABEL);
    const nodes = [stateNode('node-a', { pods: [bound] })];
    const plan = planOf({ types: cheapB, nodes, pendingPods: zonal(3, 4) });
    expect([plan.claims.length, zonesOf(plan)]).toEqual([3, ['zone-a']]);
  });

  it('is refused if each domain has room for a part only', () => {
    const pools = ['zone-a', 'zone-b'].map((zone) =>
      nodePool(zone, { requirements: [oneOf(ZONE_LABEL, zone)], limits: { cpu: '8' } }),
    );
    const plan = planOf({ types: TYPES, pools, pendingPods: zonal(4) });
    expect(plan.claims).toEqual([]);
    expect(refusalText(plan, 'train-0')).toMatch(/^gang train needs 4 pods together, room for 2: /);
    expect(planOf({ types: TYPES, pools, pendingPods: train(4) }).claims).toHaveLength(4);
  });

  it('is refused if no node has the label', () => {
    const plan = planOf({ types: TYPES, pendingPods: train(2, { topologyKey: 'rack' }) });
    expect(refusalText(plan, 'train-0')).toBe('gang train: no node or NodePool has the label rack');
  });
});

describe('a simulation of disruption', () => {
  it('launches no nodes for a pending gang without room', () => {
    const fallback = { reservedMode: 'fallback' } as const;
    const world = snapshot({ types: TYPES, pools: limited('16'), pendingPods: train(8), nodes: [stateNode('node-a')] });
    const prepared = prepare(world, { ...OPTIONS, ...fallback });
    const leaving = new Set(['aws:///node-a']);
    const moved = pod('web', { cpu: '1', nodeName: 'node-a' });
    const plan = prepared.solve({ leaving, pendingPods: [...world.pendingPods, moved] });
    expect(plan.claims.map(({ pods }) => pods)).toEqual([['default/web']]);
    expect(plan.refusals.size).toBe(8);
  });
});

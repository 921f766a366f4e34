import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { NodeOverlay } from '#api/objects';
import type { NodeOverlaySpec } from '#api/testing';
import type { InstanceType, PoolInput, Requirement } from '../../../src/engine/model.ts';
import { adjustedPrice, evaluateOverlays, overlaid } from '../../../src/engine/overlays.ts';
import { instanceType, nodePool, oneOf, planOf, pod } from './build.ts';

const TYPE = 'node.kubernetes.io/instance-type';
const ZONE = 'topology.kubernetes.io/zone';
const CAPACITY_TYPE = 'karpenter.sh/capacity-type';

const overlay = (name: string, spec: Partial<NodeOverlaySpec>): NodeOverlay => ({
  apiVersion: 'karpenter.sh/v1alpha1',
  kind: 'NodeOverlay',
  metadata: { name },
  spec: { requirements: [], ...spec },
});
const types = [instanceType('small', { cpu: 2, usd: 0.2 }), instanceType('large', { cpu: 8, usd: 0.8 })];
const poolOf = (name: string, parts: Parameters<typeof nodePool>[1] = {}): PoolInput => ({
  nodePool: nodePool(name, parts),
  instanceTypes: types,
});
const pool = poolOf('default');
const under = (overlays: readonly NodeOverlay[], on: PoolInput = pool): readonly InstanceType[] =>
  overlaid(on, evaluateOverlays(overlays, [on]).accepted);
const pricesOf = (type: InstanceType | undefined, capacityType: string): readonly number[] =>
  (type?.offerings ?? [])
    .filter(({ requirements }) => requirements.some(({ values }) => values?.includes(capacityType)))
    .map(({ usdPerHour }) => usdPerHour);
const problems = (overlays: readonly NodeOverlay[], pools = [pool]): object =>
  Object.fromEntries([...evaluateOverlays(overlays, pools).problems].map(([name, { reason }]) => [name, reason]));

describe('the price under an overlay', () => {
  it.each([
    { spec: { price: '1.25' }, of: 0.4, is: 1.25 },
    { spec: { priceAdjustment: '+0.5' }, of: 0.4, is: 0.9 },
    { spec: { priceAdjustment: '-0.1' }, of: 0.4, is: 0.3 },
    { spec: { priceAdjustment: '-1' }, of: 0.4, is: 0 },
    { spec: { priceAdjustment: '+50%' }, of: 0.4, is: 0.6 },
    { spec: { priceAdjustment: '-12.5%' }, of: 0.4, is: 0.35 },
    { spec: { priceAdjustment: '-100%' }, of: 0.4, is: 0 },
    { spec: { priceAdjustment: '+.5' }, of: 0.4, is: 0.9 },
  ])('is, for $of under $spec, $is', ({ spec, of, is }) => {
    expect(adjustedPrice(overlay('a', spec), of)).toBeCloseTo(is, 10);
  });
});

describe('an overlay', () => {
  it('changes only matching offerings', () => {
    const requirements = [oneOf(TYPE, 'small'), oneOf(CAPACITY_TYPE, 'spot')];
    const [small, large] = under([overlay('cheap', { requirements, price: '0.01' })]);
    expect(new Set(pricesOf(small, 'spot'))).toEqual(new Set([0.01]));
    expect(new Set(pricesOf(small, 'on-demand'))).toEqual(new Set([0.2]));
    expect(small?.offerings.filter(({ priceOverlaid }) => priceOverlaid)).toHaveLength(3);
    expect(large).toBe(types[1]);
  });

  it('adds resources to the whole type even if it matches only some offerings', () => {
    const requirements = [oneOf(CAPACITY_TYPE, 'spot')];
    const [small] = under([overlay('dongle', { requirements, capacity: { 'example.com/dongle': '2' } })]);
    expect(small?.capacity).toMatchObject({ cpu: 2000, 'example.com/dongle': 2 });
    expect(small?.capacityOverlaid).toBe(true);
    expect(small?.offerings).toEqual(types[0]?.offerings);
  });

  it('removes the capacity override of a repriced offering', () => {
    const [base] = types;
    const own = base?.offerings.map((offering) => ({ ...offering, capacityOverride: { cpu: 1 } })) ?? [];
    const on = { ...pool, instanceTypes: [{ ...instanceType('small'), offerings: own }] };
    const [small] = under([overlay('price', { requirements: [oneOf(CAPACITY_TYPE, 'spot')], price: '1' })], on);
    expect(
      small?.offerings.map(({ priceOverlaid, capacityOverride }) => [priceOverlaid, capacityOverride?.cpu]),
    ).toEqual(
      own.map(({ requirements }) => (requirements[0]?.values?.[0] === 'spot' ? [true, undefined] : [undefined, 1])),
    );
  });

  it.each<{ readonly about: string; readonly requirements: readonly Requirement[]; readonly matches: boolean }>([
    { about: 'everything', requirements: [], matches: true },
    { about: 'this NodePool', requirements: [oneOf('karpenter.sh/nodepool', 'default')], matches: true },
    { about: 'another NodePool', requirements: [oneOf('karpenter.sh/nodepool', 'other')], matches: false },
    { about: 'a label of the pool', requirements: [oneOf('team', 'blue')], matches: true },
    { about: 'another value of the label', requirements: [oneOf('team', 'red')], matches: false },
    { about: 'an unknown label', requirements: [{ key: 'size', operator: 'Exists' }], matches: false },
    { about: 'the absence of a label', requirements: [{ key: 'size', operator: 'DoesNotExist' }], matches: true },
    {
      about: 'a well-known label that the type does not have',
      requirements: [oneOf('kubernetes.io/arch', 'amd64')],
      matches: false,
    },
    {
      about: 'a zone of some offerings',
      requirements: [oneOf('topology.kubernetes.io/zone', 'zone-b')],
      matches: true,
    },
    { about: 'a zone of no offering', requirements: [oneOf('topology.kubernetes.io/zone', 'zone-x')], matches: false },
  ])('matches by $about: $matches', ({ requirements, matches }) => {
    const on = poolOf('default', { labels: { team: 'blue' } });
    const [small] = under([overlay('a', { requirements, price: '9' })], on);
    expect(pricesOf(small, 'spot').includes(9)).toBe(matches);
  });
});

describe('a set of several overlays', () => {
  it('applies the heaviest one per offering and resource', () => {
    const [small] = under([
      overlay('light', { price: '1', capacity: { 'a.io/x': '1', 'a.io/y': '1' }, weight: 1 }),
      overlay('heavy', {
        requirements: [oneOf(CAPACITY_TYPE, 'spot')],
        price: '2',
        capacity: { 'a.io/x': '2' },
        weight: 10,
      }),
    ]);
    expect(new Set(pricesOf(small, 'spot'))).toEqual(new Set([2]));
    expect(new Set(pricesOf(small, 'on-demand'))).toEqual(new Set([1]));
    expect(small?.capacity).toMatchObject({ 'a.io/x': 2, 'a.io/y': 1 });
  });

  it.each<{
    readonly when: string;
    readonly first?: Partial<NodeOverlaySpec>;
    readonly second?: Partial<NodeOverlaySpec>;
    readonly are: object;
  }>([
    { when: 'they price the same offering', first: { price: '1' }, second: { price: '2' }, are: { a: 'Conflict' } },
    {
      when: 'one sets and one adjusts the price',
      first: { priceAdjustment: '-10%' },
      second: { price: '2' },
      are: { a: 'Conflict' },
    },
    { when: 'their weights differ', first: { price: '1', weight: 2 }, second: { price: '2' }, are: {} },
    {
      when: 'they price different offerings',
      first: { price: '1', requirements: [oneOf(CAPACITY_TYPE, 'spot')] },
      second: { price: '2', requirements: [oneOf(CAPACITY_TYPE, 'on-demand')] },
      are: {},
    },
    {
      when: 'one prices and one adds resources',
      first: { price: '1' },
      second: { capacity: { 'a.io/x': '1' } },
      are: {},
    },
    {
      when: 'they add the same resource',
      first: { capacity: { 'a.io/x': '1' } },
      second: { capacity: { 'a.io/x': '2', 'a.io/y': '1' } },
      are: { a: 'Conflict' },
    },
    {
      when: 'they add different resources',
      first: { capacity: { 'a.io/x': '1' } },
      second: { capacity: { 'a.io/y': '1' } },
      are: {},
    },
    {
      when: 'one is invalid',
      first: { price: '1', requirements: [{ key: TYPE, operator: 'In', values: [] }] },
      second: { price: '2' },
      are: { a: 'RuntimeValidation' },
    },
  ])('is in conflict or not if $when', ({ first = {}, second = {}, are }) => {
    expect(problems([overlay('a', first), overlay('b', second)])).toEqual(are);
  });

  it('is rejected as a whole if it conflicts in a single NodePool', () => {
    const team = (name: string) => poolOf(name, { labels: { team: name } });
    const overlays = [
      overlay('z-blue', { requirements: [oneOf('team', 'blue')], price: '1' }),
      overlay('all', { price: '2' }),
    ];
    const { accepted, problems: found } = evaluateOverlays(overlays, [team('red'), team('blue')]);
    expect(accepted.map(({ metadata }) => metadata.name)).toEqual(['z-blue']);
    expect(found.get('all')).toEqual({ reason: 'Conflict', message: 'conflict with another overlay' });
  });

  it('changes nothing if it matches no type', () => {
    const nobody = [overlay('nobody', { requirements: [oneOf(TYPE, 'gone')], price: '1' })];
    expect(under(nobody)).toBe(types);
    expect(problems(nobody)).toEqual({});
  });
});

describe('any set of overlays', () => {
  const some: fc.Arbitrary<NodeOverlaySpec> = fc.record(
    {
      requirements: fc.subarray([oneOf(TYPE, 'small'), oneOf(CAPACITY_TYPE, 'spot'), oneOf(ZONE, 'zone-a', 'zone-b')]),
      price: fc.constantFrom('1', '2', '3'),
      capacity: fc.constantFrom({ 'a.io/x': '1' }, { 'a.io/x': '2', 'a.io/y': '1' }),
      weight: fc.integer({ min: 1, max: 3 }),
    },
    { requiredKeys: ['requirements'] },
  );
  const several = fc
    .array(some, { maxLength: 6 })
    .map((specs) => specs.map((spec, index) => overlay(`o-${index}`, spec)));

  it('is evaluated equally in any order', () => {
    fc.assert(
      fc.property(several, fc.infiniteStream(fc.integer()), (overlays, keys) => {
        const shuffled = overlays
          .map((each) => ({ each, key: keys.next().value as number }))
          .sort((a, b) => a.key - b.key)
          .map(({ each }) => each);
        expect(evaluateOverlays(shuffled, [pool])).toEqual(evaluateOverlays(overlays, [pool]));
        expect(under(shuffled)).toEqual(under(overlays));
      }),
    );
  });

  it('never has two accepted overlays with equal weight for one value, and the heaviest overlay sets the value', () => {
    fc.assert(
      fc.property(several, (overlays) => {
        const { accepted } = evaluateOverlays(overlays, [pool]);
        for (const type of overlaid(pool, accepted)) {
          for (const [index, offering] of type.offerings.entries()) {
            const alone = accepted.filter(
              (each) =>
                each.spec.price !== undefined &&
                overlaid(pool, [each]).find(({ name }) => name === type.name)?.offerings[index]?.priceOverlaid,
            );
            const weights = alone.map(({ spec }) => spec.weight ?? 0);
            expect(new Set(weights).size).toBe(weights.length);
            const heaviest = alone.find(({ spec }) => (spec.weight ?? 0) === Math.max(...weights));
            if (heaviest) expect(offering.usdPerHour).toBe(Number(heaviest.spec.price));
            else expect(offering.priceOverlaid).toBeUndefined();
          }
        }
      }),
    );
  });
});

describe('a solve with overlays', () => {
  it('launches by the changed price, and annotates the claim', () => {
    const free = planOf({ pendingPods: [pod('p', { cpu: '1' })], types });
    expect(free.claims[0]?.cheapest).toBe('small');
    const dear = under([overlay('dear', { requirements: [oneOf(TYPE, 'small')], price: '5' })]);
    const [claim] = planOf({ pendingPods: [pod('p', { cpu: '1' })], types: dear }).claims;
    expect(claim?.cheapest).toBe('large');
    expect(claim?.annotations).toMatchObject({ 'karpenter.sh/price-overlay-applied': 'true' });
    expect(claim?.annotations['karpenter.sh/capacity-overlay-applied']).toBeUndefined();
  });

  it('has room for pods that request the added resource', () => {
    const wanting = [pod('p', { cpu: '1', requests: { 'example.com/dongle': '1' } })];
    expect(planOf({ pendingPods: wanting, types }).claims).toEqual([]);
    const larger = under([
      overlay('dongle', { requirements: [oneOf(TYPE, 'large')], capacity: { 'example.com/dongle': '1' } }),
    ]);
    const [claim] = planOf({ pendingPods: wanting, types: larger }).claims;
    expect(claim?.instanceTypes).toEqual(['large']);
    expect(claim?.annotations).toMatchObject({ 'karpenter.sh/capacity-overlay-applied': 'true' });
  });
});

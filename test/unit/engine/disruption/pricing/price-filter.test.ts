import { describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, ZONE_LABEL } from '#api/objects';
import { Replacement } from '../../../../../src/engine/disruption/pricing/price-filter.ts';
import type { InstanceType, Offering, PlannedClaim, Requirement } from '../../../../../src/engine/model.ts';
import { instanceType } from '../objects.ts';

type Place = readonly [zone: string, capacityType: string, usdPerHour: number, available?: boolean];

const offeringOf = ([zone, capacityType, usdPerHour, available = true]: Place): Offering => ({
  requirements: [
    { key: ZONE_LABEL, operator: 'In', values: [zone] },
    { key: CAPACITY_TYPE_LABEL, operator: 'In', values: [capacityType] },
  ],
  usdPerHour,
  available,
});

const sold = (name: string, ...places: readonly Place[]): InstanceType => ({
  ...instanceType(name, 2, 1),
  offerings: places.map(offeringOf),
});

const planned = (types: readonly InstanceType[], more: readonly Requirement[] = []): PlannedClaim => ({
  nodePool: 'default',
  pods: [],
  instanceTypes: types.map(({ name }) => name),
  requirements: [...more],
  requests: {},
  labels: {},
  annotations: {},
  cheapest: types[0]?.name ?? '',
  usdPerHour: 1,
});

const ofTypes = (types: readonly InstanceType[], more: readonly Requirement[] = []): Replacement =>
  Replacement.of(planned(types, more), types);

const names = (found: Replacement | string): readonly string[] | string =>
  typeof found === 'string' ? found : found.types.map(({ name }) => name);

const atLeast = (minValues: number): Requirement => ({
  key: INSTANCE_TYPE_LABEL,
  operator: 'Exists',
  minValues,
});

describe('cheaperThan', () => {
  it.each([
    {
      what: 'the most expensive zone of a type',
      places: [['a', 'spot', 1] as Place, ['b', 'spot', 3] as Place],
      limit: 3,
    },
    { what: 'spot before on-demand', places: [['a', 'spot', 2] as Place, ['a', 'on-demand', 9] as Place], limit: 2 },
    { what: 'reserved before spot', places: [['a', 'reserved', 0.1] as Place, ['a', 'spot', 9] as Place], limit: 0.1 },
    {
      what: 'available offerings',
      places: [['a', 'spot', 1, false] as Place, ['a', 'on-demand', 4] as Place],
      limit: 4,
    },
  ])('compares $what with the price, and requires a lower price', ({ places, limit }) => {
    const replacement = ofTypes([sold('x', ...places)]);
    expect(names(replacement.cheaperThan(limit))).toEqual([]);
    expect(names(replacement.cheaperThan(limit + 0.01))).toEqual(['x']);
  });

  it('includes the surplus CPU credits for the requests', () => {
    const cpuBurst = { baseline: 400, utilization: 0.5, usdPerVcpuHour: 1 };
    const types = [{ ...sold('burstable', ['a', 'on-demand', 1]), cpuBurst }, sold('steady', ['a', 'on-demand', 1.3])];
    const replacement = (cpu: number) => Replacement.of({ ...planned(types), requests: { cpu } }, types);
    expect(names(replacement(800).cheaperThan(1.4))).toEqual(['burstable', 'steady']);
    expect(names(replacement(1_600).cheaperThan(1.5))).toEqual(['steady', 'burstable']);
    expect(names(replacement(1_800).cheaperThan(1.5))).toEqual(['steady']);
    const kept = replacement(1_600).cheaperThan(9) as Replacement;
    expect(kept.claim).toMatchObject({ cheapest: 'steady', usdPerHour: 1.3 });
    const other = replacement(1_000).cheaperThan(9) as Replacement;
    expect(other.claim).toMatchObject({ cheapest: 'burstable', surplusUsdPerHour: expect.closeTo(0.1) });
  });

  it('excludes types without an available offering', () => {
    expect(names(ofTypes([sold('x', ['a', 'spot', 1, false])]).cheaperThan(Number.POSITIVE_INFINITY))).toEqual([]);
  });
});

describe('a replacement', () => {
  const types = [sold('x', ['a', 'spot', 1]), sold('y', ['a', 'on-demand', 2]), sold('z', ['b', 'spot', 3, false])];

  it('keeps the types that have offerings of its capacity type if it has a single one', () => {
    expect(names(ofTypes(types).only('spot'))).toEqual(['x']);
    expect(names(ofTypes(types).only('on-demand'))).toEqual(['y']);
  });

  it('keeps as many types as minValues requires if it is limited to its first types', () => {
    const many = [1, 2, 3, 4].map((at) => sold(`t${at}`, ['a', 'spot', at]));
    expect(names(ofTypes(many).first(2))).toEqual(['t1', 't2']);
    expect(names(ofTypes(many, [atLeast(3)]).first(2))).toEqual(['t1', 't2', 't3']);
    expect(names(ofTypes(many, [atLeast(1)]).first(2))).toEqual(['t1', 't2']);
  });

  it('returns the price limit that a number of types can meet', () => {
    const many = [4, 1, 3].map((at) => sold(`t${at}`, ['a', 'spot', at]));
    expect([1, 2, 3, 4].map((count) => ofTypes(many).worstOf(count))).toEqual([1, 3, 4, Number.POSITIVE_INFINITY]);
  });

  it('selects the zone with the lowest price limit', () => {
    const split = [sold('x', ['a', 'spot', 1], ['b', 'spot', 2]), sold('y', ['a', 'spot', 5], ['b', 'spot', 3])];
    const zonesOf = (found: Replacement) => found.claim.requirements.filter(({ key }) => key === ZONE_LABEL);
    expect(zonesOf(ofTypes(split).inCheapestZone(1))).toMatchObject([{ values: ['a'] }]);
    expect(zonesOf(ofTypes(split).inCheapestZone(2))).toMatchObject([{ values: ['b'] }]);
    const even = [sold('x', ['a', 'spot', 1], ['b', 'spot', 1])];
    expect(zonesOf(ofTypes(even).inCheapestZone(1))).toEqual([]);
  });

  it('is priced under its own requirements', () => {
    const type = sold('x', ['a', 'spot', 1], ['b', 'spot', 2], ['b', 'on-demand', 7]);
    const inZone = (zone: string) => ofTypes([type], [{ key: ZONE_LABEL, operator: 'In', values: [zone] }]);
    // Several replacements share one list of types.
    const list = [type];
    const under = (requirements: readonly Requirement[]) =>
      Replacement.of(planned(list, requirements), list).worstOf(1);
    expect(under([{ key: ZONE_LABEL, operator: 'In', values: ['a'] }])).toBe(1);
    expect(under([{ key: ZONE_LABEL, operator: 'In', values: ['b'] }])).toBe(2);
    expect(under([{ key: CAPACITY_TYPE_LABEL, operator: 'In', values: ['on-demand'] }])).toBe(7);
    expect(inZone('b').only('on-demand').claim).toMatchObject({ cheapest: 'x', usdPerHour: 7 });
  });
});

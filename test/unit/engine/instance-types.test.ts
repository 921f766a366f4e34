import { describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, ZONE_LABEL } from '#api/objects';
import {
  allocatable,
  cheapestOffering,
  cheapestPrice,
  compatibleOfferings,
  isReserved,
  orderByPrice,
  satisfiesMinValues,
  worstLaunchPrice,
} from '../../../src/engine/instance-types.ts';
import type { InstanceType, Offering, Requirement } from '../../../src/engine/model.ts';
import { Requirements } from '../../../src/engine/requirements.ts';
import { instanceType, offering, oneOf } from './build.ts';

const GI = 2 ** 30;
const wish = (...requirements: readonly Requirement[]): Requirements => Requirements.fromRequirements(requirements);
const ANY = wish();
const selling = (name: string, ...offerings: readonly Offering[]): InstanceType => instanceType(name, { offerings });

describe('the amount of allocatable resources', () => {
  const overhead = {
    kubeReserved: { cpu: 80, memory: GI },
    systemReserved: { cpu: 20 },
    evictionThreshold: { memory: GI / 2 },
  };
  const base = { ...instanceType('t', { cpu: 4, gib: 16 }), overhead };

  it('is the capacity minus the reservations of kubelet, system and eviction', () => {
    expect(allocatable(base)).toEqual({ cpu: 3900, memory: 14.5 * GI, pods: 110 });
  });

  it('excludes memory that is reserved for huge pages, down to 0', () => {
    const huge = (bytes: number): InstanceType => ({ ...base, capacity: { ...base.capacity, 'hugepages-2Mi': bytes } });
    expect(allocatable(huge(4 * GI)).memory).toBe(10.5 * GI);
    expect(allocatable(huge(40 * GI)).memory).toBe(0);
  });

  it('can differ for one offering', () => {
    const own = {
      ...offering('spot', 'zone-a', 1),
      capacityOverride: { cpu: 2000 },
      overheadOverride: { ...overhead, systemReserved: {} },
    };
    expect(allocatable(base, own)).toEqual({ cpu: 1920, memory: 14.5 * GI, pods: 110 });
  });
});

describe('the price of an instance type', () => {
  const type = selling(
    't',
    offering('on-demand', 'zone-a', 3),
    offering('spot', 'zone-a', 1),
    offering('spot', 'zone-b', 2),
    offering('spot', 'zone-c', 0.5, false),
  );
  const spot = oneOf(CAPACITY_TYPE_LABEL, 'spot');
  const inB = oneOf(ZONE_LABEL, 'zone-b');

  it.each([
    { under: [], is: 1 },
    { under: [inB], is: 2 },
    { under: [oneOf(CAPACITY_TYPE_LABEL, 'on-demand')], is: 3 },
    { under: [oneOf(ZONE_LABEL, 'zone-c')], is: Number.POSITIVE_INFINITY },
  ])('is the lowest available price under $under: $is', ({ under, is }) => {
    expect(cheapestPrice(type, wish(...under))).toBe(is);
  });

  it('is the price of the first of equal offerings', () => {
    const [first, second] = [offering('spot', 'zone-b', 1), offering('spot', 'zone-a', 1)];
    expect(cheapestOffering(selling('t', first, second), ANY)).toBe(first);
  });

  it('includes offerings that no requirement excludes, and treats undefined labels as compatible', () => {
    expect(compatibleOfferings(type, wish(spot, oneOf('team', 'blue')))).toHaveLength(2);
    expect(compatibleOfferings(type, wish(spot, inB))).toHaveLength(1);
  });

  it.each([
    { sold: ['spot', 'on-demand', 'reserved'], is: 0.2 },
    { sold: ['spot', 'on-demand'], is: 2 },
    { sold: ['on-demand'], is: 4 },
    { sold: [], is: Number.POSITIVE_INFINITY },
  ])('is at most the highest price of the first launchable capacity type of $sold: $is', ({ sold, is }) => {
    const offerings = [
      offering('reserved', 'zone-a', 0.1),
      offering('reserved', 'zone-b', 0.2),
      offering('spot', 'zone-a', 1),
      offering('spot', 'zone-b', 2),
      offering('on-demand', 'zone-a', 4),
    ];
    expect(worstLaunchPrice(selling('t', ...offerings), wish(oneOf(CAPACITY_TYPE_LABEL, ...sold)))).toBe(is);
  });

  it('sorts types by price and then name, types without available offerings last', () => {
    const types = [
      selling('dear', offering('spot', 'zone-a', 9)),
      selling('b', offering('spot', 'zone-a', 1)),
      selling('gone', offering('spot', 'zone-a', 0, false)),
      selling('a', offering('spot', 'zone-a', 1)),
    ];
    expect(orderByPrice(types, ANY).map(({ name }) => name)).toEqual(['a', 'b', 'dear', 'gone']);
  });

  it('identifies a reservation by its capacity type', () => {
    expect([offering('reserved', 'zone-a', 0), offering('spot', 'zone-a', 0)].map(isReserved)).toEqual([true, false]);
  });
});

describe('minValues', () => {
  const of = (name: string, ...racks: readonly string[]): InstanceType =>
    instanceType(name, { requirements: racks.length === 0 ? [] : [oneOf('rack', ...racks)] });
  const atLeast = (minValues: number, key = 'rack'): Requirement => ({ key, operator: 'Exists', minValues });
  const types = [of('a', 'r1'), of('b', 'r1'), of('c', 'r2', 'r3'), of('d', 'r4')];

  it.each([
    { wanted: [], result: { needed: 0, unsatisfied: [] } },
    { wanted: [atLeast(1)], result: { needed: 1, unsatisfied: [] } },
    { wanted: [atLeast(2)], result: { needed: 3, unsatisfied: [] } },
    { wanted: [atLeast(3)], result: { needed: 3, unsatisfied: [] } },
    { wanted: [atLeast(4)], result: { needed: 4, unsatisfied: [] } },
    { wanted: [atLeast(5)], result: { needed: 4, unsatisfied: [['rack', 4]] } },
    { wanted: [atLeast(2), atLeast(4, 'node.kubernetes.io/instance-type')], result: { needed: 4, unsatisfied: [] } },
    {
      wanted: [atLeast(9), atLeast(9, 'other')],
      result: {
        needed: 4,
        unsatisfied: [
          ['other', 0],
          ['rack', 4],
        ],
      },
    },
  ])('is satisfied for $wanted by the first types: $result', ({ wanted, result }) => {
    expect(satisfiesMinValues(types, wish(...wanted))).toEqual(result);
  });

  it('counts all values of types, even values that the requirement excludes', () => {
    const narrow: Requirement = { key: 'rack', operator: 'In', values: ['r2'], minValues: 2 };
    expect(satisfiesMinValues([of('c', 'r2', 'r3')], wish(narrow)).unsatisfied).toEqual([]);
  });

  it('is not reported as unsatisfied if there are no types', () => {
    expect(satisfiesMinValues([], wish(atLeast(2)))).toEqual({ needed: 0, unsatisfied: [] });
  });
});

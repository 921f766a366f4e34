import { describe, expect, it } from '@jest/globals';
import {
  CAPACITY_RESERVATION_ID_LABEL,
  CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL,
  CAPACITY_RESERVATION_TYPE_LABEL,
  CAPACITY_TYPE_LABEL,
  INSTANCE_SIZE_LABEL,
  INSTANCE_TYPE_LABEL,
  ZONE_LABEL,
} from '#api/objects';
import { type InstanceType, type Offering, type Requirement, Requirements } from '#engine/model';
import { chooseCapacityType, filterForLaunch } from '../../../../src/aws/fleet/launch-choice.ts';

const only = (key: string, value: string): Requirement => ({ key, operator: 'In', values: [value] });

const offer = (capacityType: string, usdPerHour: number, more: Partial<Offering> = {}): Offering => ({
  requirements: [only(CAPACITY_TYPE_LABEL, capacityType), only(ZONE_LABEL, 'a')],
  usdPerHour,
  available: true,
  ...more,
});

const reserve = (id: string, usdPerHour: number, reservationCapacity: number, type = 'default'): Offering => ({
  requirements: [
    only(CAPACITY_TYPE_LABEL, 'reserved'),
    only(ZONE_LABEL, 'a'),
    only(CAPACITY_RESERVATION_ID_LABEL, id),
    only(CAPACITY_RESERVATION_TYPE_LABEL, type),
    only(CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL, 'false'),
  ],
  usdPerHour,
  available: true,
  reservationCapacity,
});

const none = { kubeReserved: {}, systemReserved: {}, evictionThreshold: {} };

const type = (name: string, offerings: readonly Offering[], capacity = {}): InstanceType => ({
  name,
  requirements: [only(INSTANCE_TYPE_LABEL, name), only(INSTANCE_SIZE_LABEL, name.split('.')[1] ?? '')],
  capacity: { cpu: 2000, memory: 8e9, pods: 29, ...capacity },
  overhead: none,
  offerings,
});

const wish = (...requirements: Requirement[]) => ({
  requirements: Requirements.fromRequirements(requirements),
  requests: { cpu: 1000 },
});
const names = (types: readonly InstanceType[], wanted = wish()): string[] =>
  filterForLaunch(types, wanted).types.map(({ name }) => name);

const OD = only(CAPACITY_TYPE_LABEL, 'on-demand');

describe('filterForLaunch', () => {
  it.each([
    { when: 'it is too small', types: [type('m.large', [offer('on-demand', 1)], { cpu: 500 })] },
    { when: 'nothing of it is available', types: [type('m.large', [offer('on-demand', 1, { available: false })])] },
    { when: 'the capacity type differs', types: [type('m.large', [offer('spot', 1)])] },
  ])('excludes a type if $when', ({ types }) => {
    expect(names(types, wish(OD))).toEqual([]);
  });

  it('counts an overridden capacity only with its own offering', () => {
    const small = { capacityOverride: { cpu: 500 } };
    expect(names([type('m.large', [offer('on-demand', 1, small)])], wish(OD))).toEqual([]);
    const both = [offer('on-demand', 1, small), offer('on-demand', 2)];
    expect(names([type('m.large', both)], wish(OD))).toEqual(['m.large']);
  });

  it('orders by price', () => {
    const types = [type('b.large', [offer('on-demand', 3)]), type('a.large', [offer('on-demand', 1)])];
    expect(names(types, wish(OD))).toEqual(['a.large', 'b.large']);
  });

  it('excludes bare metal and accelerators unless only they remain or minValues requires them', () => {
    const gpu = type('g.large', [offer('on-demand', 1)], { 'nvidia.com/gpu': 1 });
    const metal = type('m.metal', [offer('on-demand', 2)]);
    const plain = type('m.large', [offer('on-demand', 3)]);
    expect(names([gpu, metal, plain], wish(OD))).toEqual(['m.large']);
    expect(names([gpu, metal], wish(OD))).toEqual(['g.large', 'm.metal']);
    const values: Requirement = { key: INSTANCE_TYPE_LABEL, operator: 'Exists', minValues: 2 };
    expect(names([gpu, metal, plain], wish(OD, values))).toHaveLength(3);
  });

  it('drops spot that costs more than the cheapest on-demand', () => {
    const types = [
      type('a.large', [offer('on-demand', 1), offer('spot', 0.4)]),
      type('b.large', [offer('spot', 1.01)]),
      type('c.large', [offer('spot', 1)]),
    ];
    expect(names(types)).toEqual(['a.large', 'c.large']);
  });

  it('uses reservations first, the largest of a zone', () => {
    const both = type('a.large', [offer('on-demand', 1), reserve('cr-1', 1e-7, 1), reserve('cr-2', 1e-7, 5)]);
    const plain = type('b.large', [offer('on-demand', 0.5)]);
    const { types } = filterForLaunch([both, plain], wish());
    expect(types.map(({ name, offerings }) => [name, offerings.length])).toEqual([['a.large', 1]]);
    expect(types[0]?.offerings[0]?.reservationCapacity).toBe(5);
    expect(chooseCapacityType(types, wish())).toBe('reserved');
  });

  it('launches into one capacity block, the cheapest', () => {
    const types = [
      type('a.large', [reserve('cr-1', 2e-7, 1, 'capacity-block')]),
      type('b.large', [reserve('cr-2', 1e-7, 1, 'capacity-block')]),
    ];
    expect(names(types)).toEqual(['b.large']);
  });

  it('returns the types that each filter excluded', () => {
    const types = [type('m.metal', [offer('on-demand', 2)]), type('m.large', [offer('on-demand', 3)])];
    expect(filterForLaunch(types, wish(OD)).rejections).toEqual([
      { filter: 'exotic-instance-filter', names: ['m.metal'] },
    ]);
  });
});

describe('chooseCapacityType', () => {
  it.each([
    { when: 'both are offered', offerings: [offer('spot', 1), offer('on-demand', 1)], is: 'spot' },
    {
      when: 'spot is out',
      offerings: [offer('spot', 1, { available: false }), offer('on-demand', 1)],
      is: 'on-demand',
    },
    { when: 'nothing is offered', offerings: [], is: 'on-demand' },
  ])('is $is when $when', ({ offerings, is }) => {
    expect(chooseCapacityType([type('m.large', offerings)], wish())).toBe(is);
  });
});

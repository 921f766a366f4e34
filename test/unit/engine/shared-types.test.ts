import { describe, expect, it } from '@jest/globals';
import { benchmarkTypes } from '../../../bench/catalogue.ts';
import type { InstanceType } from '../../../src/engine/model.ts';
import { sharedType, sharedTypeList } from '../../../src/engine/shared-types.ts';

const fresh = (): InstanceType => benchmarkTypes(3)[2] as InstanceType;
const shared = sharedType(fresh());

describe('an instance type that equals another', () => {
  it('is deduplicated to one object', () => {
    expect(shared).toEqual(fresh());
    expect(sharedType(fresh())).toBe(shared);
    expect(sharedType(shared)).toBe(shared);
  });

  it.each<[string, Partial<InstanceType>]>([
    ['requirements', { requirements: fresh().requirements.slice(1) }],
    ['capacity', { capacity: { ...fresh().capacity, pods: 7 } }],
    ['other resources', { capacity: { ...fresh().capacity, constructor: 0 } }],
    ['overhead', { overhead: { ...fresh().overhead, systemReserved: { cpu: 1 } } }],
    ['fewer offerings', { offerings: fresh().offerings.slice(1) }],
    ['a price', { offerings: fresh().offerings.map((offering) => ({ ...offering, usdPerHour: 9 })) }],
    ['a list price', { offerings: fresh().offerings.map((offering) => ({ ...offering, listUsdPerHour: 9 })) }],
    ['availability', { offerings: fresh().offerings.map((offering) => ({ ...offering, available: false })) }],
    ['a reservation', { offerings: fresh().offerings.map((offering) => ({ ...offering, reservationCapacity: 2 })) }],
    [
      'an overlay on a price',
      { offerings: fresh().offerings.map((offering) => ({ ...offering, priceOverlaid: true })) },
    ],
    ['overrides', { offerings: fresh().offerings.map((offering) => ({ ...offering, capacityOverride: { cpu: 1 } })) }],
    ['an overlay on the capacity', { capacityOverlaid: true }],
  ])('remains separate if it differs by %s, but shares other parts', (_, difference) => {
    const other = sharedType({ ...fresh(), ...difference });
    expect(other).toEqual({ ...fresh(), ...difference });
    expect(other).not.toBe(shared);
    expect(sharedType({ ...fresh(), ...difference })).toBe(other);
    const same = (['requirements', 'capacity', 'overhead', 'offerings'] as const).filter(
      (part) => other[part] === shared[part],
    );
    expect(same).toHaveLength('capacityOverlaid' in difference ? 4 : 3);
  });

  it('shares requirements with different types', () => {
    const [small, large] = benchmarkTypes(9).map(sharedType);
    expect(small?.offerings[0]?.requirements).toBe(large?.offerings[0]?.requirements);
    expect(small?.requirements[1]).toBe(large?.requirements[1]);
  });

  it('forms equal lists, which are deduplicated too', () => {
    const list = sharedTypeList(benchmarkTypes(3).map(sharedType));
    expect(sharedTypeList(benchmarkTypes(3).map(sharedType))).toBe(list);
    const shorter = list.slice(0, 2);
    expect(sharedTypeList(shorter)).toBe(shorter);
    expect(sharedTypeList([])).toEqual([]);
  });
});

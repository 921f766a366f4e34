/** Offerings of a type, their prices, and the obstacles that make them unavailable. */
import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import { describe, expect, it } from '@jest/globals';
import { requirementsOf } from '#engine/model';
import {
  baseEntries,
  expandPartitions,
  isLasting,
  type OfferingContext,
  type OfferingEntry,
  reservedEntries,
} from '../../../../src/aws/offerings/offerings.ts';
import type { Shortage } from '../../../../src/aws/offerings/unavailable.ts';
import type { CapacityReservation } from '../../../../src/aws/reservations/reservations.ts';

const INFO: InstanceTypeInfo = {
  InstanceType: 'm5.large',
  SupportedUsageClasses: ['on-demand', 'spot', 'capacity-block'],
};

const context = (more: Partial<OfferingContext> = {}): OfferingContext => ({
  allZones: ['a', 'b', 'c'],
  zones: [
    { name: 'a', id: 'az1', subnetIds: ['subnet-1'] },
    { name: 'b', id: '', subnetIds: ['subnet-2'] },
  ],
  offeredIn: new Set(['a', 'b', 'c']),
  launchable: true,
  placementGroup: undefined,
  onDemandPrice: () => 0.1,
  spotPrice: (_, zone) => (zone === 'a' ? 0.03 : 0.04),
  shortage: () => undefined,
  ...more,
});

/** `zone/capacity type: obstacle`, or `ok` without an obstacle. */
const states = (entries: readonly OfferingEntry[]): Record<string, string> =>
  Object.fromEntries(
    entries.map(({ offering, obstacle }) => {
      const requirements = requirementsOf(offering);
      const zone = requirements.get('topology.kubernetes.io/zone').any();
      expect(offering.available).toBe(obstacle === undefined);
      return [`${zone}/${requirements.get('karpenter.sh/capacity-type').any()}`, obstacle?.code ?? 'ok'];
    }),
  );
const base = (more: Partial<OfferingContext> = {}) => states(baseEntries(INFO, context(more)));

describe('spot risk', () => {
  const risks = (more: Partial<OfferingContext>) =>
    baseEntries(INFO, context(more)).map(({ offering: { usdPerHour, spotRiskUsdPerHour } }) => [
      usdPerHour,
      spotRiskUsdPerHour,
    ]);
  const inZoneA = (part: number) => (instanceType: string, zone: string) =>
    instanceType === 'm5.large' && zone === 'a' ? part : 0;

  it('is added to the price of its spot pool', () => {
    expect(risks({ spotRisk: inZoneA(0.5) }).slice(0, 4)).toEqual([
      [0.1, undefined],
      [0.03, 0.015],
      [0.1, undefined],
      [0.04, undefined],
    ]);
    expect(risks({ spotRisk: () => 0 })).toEqual(risks({}));
  });

  it('is a fraction of the paid price, and keeps spot cheaper than on-demand', () => {
    const discounted = (_: string, __: string, list: number) => list / 2;
    expect(risks({ spotRisk: inZoneA(0.5), discounted })[1]).toEqual([0.015, 0.0075]);
    const [, [spot = 0, risk = 0] = []] = risks({ spotRisk: inZoneA(1), onDemandPrice: () => 0.04 });
    expect(risk).toBeGreaterThan(0.009);
    expect(spot + risk).toBeLessThan(0.04);
    expect(risks({ spotRisk: inZoneA(1), onDemandPrice: () => 0.02 })[1]).toEqual([0.03, undefined]);
    expect(risks({ spotRisk: inZoneA(1), onDemandPrice: () => undefined })[1]).toEqual([0.03, 0.03]);
  });
});

describe('a discount of the price book', () => {
  const priced = (discounted: OfferingContext['discounted'], more: Partial<OfferingContext> = {}) =>
    baseEntries(INFO, context({ discounted, ...more }))
      .slice(0, 2)
      .map(({ offering: { usdPerHour, listUsdPerHour } }) => [usdPerHour, listUsdPerHour]);

  it('determines the price, and keeps the list price beside it if it differs', () => {
    const ofOnDemand = (_: string, capacityType: string, list: number) => (capacityType === 'spot' ? list : list / 2);
    expect(priced(ofOnDemand)).toEqual([
      [0.05, 0.1],
      [0.03, undefined],
    ]);
  });

  it('is not applied to an overlay price if AWS has none', () => {
    const none = { onDemandPrice: () => undefined, spotPrice: () => undefined, overlayPrice: () => 0.5 };
    expect(priced((_, __, list) => list / 2, none)).toEqual([
      [0.5, undefined],
      [0.5, undefined],
    ]);
  });
});

const OK = { 'a/on-demand': 'ok', 'a/spot': 'ok', 'b/on-demand': 'ok', 'b/spot': 'ok' };
const C_OUT = { 'c/on-demand': 'no-subnet', 'c/spot': 'no-subnet' };
const every = (code: string) => ({ 'a/on-demand': code, 'a/spot': code, 'b/on-demand': code, 'b/spot': code });
const short = (of: Shortage['of']): Shortage => ({ of, reason: 'because', untilMs: 1000 });

describe('the list of offerings of a type', () => {
  it('has its capacity types in every zone of the region, and is available in zones with a subnet', () => {
    expect(base()).toEqual({ ...OK, ...C_OUT });
  });

  it.each<[string, Partial<OfferingContext>, object]>([
    [
      'the type is not sold there',
      { offeredIn: new Set(['a']) },
      { 'b/on-demand': 'not-offered', 'b/spot': 'not-offered', 'c/on-demand': 'not-offered', 'c/spot': 'not-offered' },
    ],
    ['the NodeClass cannot be launched on it', { launchable: false }, every('incompatible')],
    [
      'the zone is shifted away from',
      { shiftedUntil: (id) => (id === 'az1' ? 5 : undefined) },
      { 'a/on-demand': 'zonal-shift', 'a/spot': 'zonal-shift' },
    ],
    [
      'capacity is short',
      {
        shortage: ({ zone, capacityType }) => (zone === 'a' && capacityType === 'spot' ? short('offering') : undefined),
      },
      { 'a/spot': 'insufficient-capacity' },
    ],
    [
      'spot is refused',
      { shortage: ({ capacityType }) => (capacityType === 'spot' ? short('capacity-type') : undefined) },
      { 'a/spot': 'capacity-type-refused', 'b/spot': 'capacity-type-refused' },
    ],
    [
      'the subnets of a zone are full',
      { shortage: (_, subnets) => (subnets.includes('subnet-2') ? short('subnets') : undefined) },
      { 'b/on-demand': 'subnets-full', 'b/spot': 'subnets-full' },
    ],
    [
      'there is no spot price',
      { spotPrice: () => undefined },
      { 'a/spot': 'no-spot-price', 'b/spot': 'no-spot-price' },
    ],
    [
      'there is no on-demand price',
      { onDemandPrice: () => undefined },
      { 'a/on-demand': 'no-on-demand-price', 'b/on-demand': 'no-on-demand-price' },
    ],
  ])('is unavailable if %s', (_, more, out) => {
    expect(base(more)).toEqual({ ...OK, ...C_OUT, ...out });
  });

  it('has the price of an overlay if AWS returns none', () => {
    const entries = baseEntries(INFO, context({ spotPrice: () => undefined, overlayPrice: () => 0.5 }));
    expect(entries.map(({ offering }) => offering.usdPerHour)).toEqual([0.1, 0.5, 0.1, 0.5, 0.1, 0.5]);
    expect(states(entries)).toMatchObject(OK);
  });

  it('contains the zone, the zone ID if it exists, and no reservation', () => {
    const [inA, , inB] = baseEntries(INFO, context()).map(({ offering }) => offering.requirements);
    expect(inA).toEqual([
      { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
      { key: 'topology.kubernetes.io/zone', operator: 'In', values: ['a'] },
      { key: 'topology.k8s.aws/zone-id', operator: 'In', values: ['az1'] },
      { key: 'karpenter.k8s.aws/capacity-reservation-id', operator: 'DoesNotExist' },
      { key: 'karpenter.k8s.aws/capacity-reservation-type', operator: 'DoesNotExist' },
      { key: 'karpenter.k8s.aws/capacity-reservation-interruptible', operator: 'DoesNotExist' },
    ]);
    expect(inB).toContainEqual({ key: 'topology.k8s.aws/zone-id', operator: 'DoesNotExist' });
  });

  it('includes shortages of the placement group, but not of its partitions', () => {
    const asked: unknown[] = [];
    const placementGroup = { id: 'pg-1', name: 'g', strategy: 'partition', partitions: 2 };
    baseEntries(INFO, context({ placementGroup, shortage: ({ placementGroup: group }) => void asked.push(group) }));
    expect(new Set(asked.map((group) => JSON.stringify(group)))).toEqual(
      new Set([undefined, JSON.stringify({ id: 'pg-1' })]),
    );
  });

  it('separates lasting from passing causes of missing offerings', () => {
    expect((['not-offered', 'no-subnet', 'incompatible'] as const).every((code) => isLasting({ code }))).toBe(true);
    expect(isLasting({ code: 'no-spot-price' })).toBe(false);
  });
});

describe('an offering of a reservation', () => {
  const reservation: CapacityReservation = {
    id: 'cr-1',
    availabilityZone: 'a',
    instanceType: 'm5.large',
    instanceMatchCriteria: 'targeted',
    ownerID: '123456789012',
    reservationType: 'default',
    state: 'active',
    interruptible: false,
  };
  const reserved = (change: Partial<CapacityReservation> = {}, left = 2, more: Partial<OfferingContext> = {}) =>
    reservedEntries(INFO, [{ ...reservation, ...change }], () => left, context(more));

  it('costs almost 0 and is ordered by its on-demand price', () => {
    expect(reserved()[0]).toEqual({
      offering: {
        requirements: [
          { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['reserved'] },
          { key: 'topology.kubernetes.io/zone', operator: 'In', values: ['a'] },
          { key: 'topology.k8s.aws/zone-id', operator: 'In', values: ['az1'] },
          { key: 'karpenter.k8s.aws/capacity-reservation-id', operator: 'In', values: ['cr-1'] },
          { key: 'karpenter.k8s.aws/capacity-reservation-type', operator: 'In', values: ['default'] },
          { key: 'karpenter.k8s.aws/capacity-reservation-interruptible', operator: 'In', values: ['false'] },
        ],
        usdPerHour: 0.1 / 10_000_000,
        available: true,
        reservationCapacity: 2,
      },
      obstacle: undefined,
    });
  });

  it.each<[string, string, readonly OfferingEntry[]]>([
    ['used up', 'reservation-used-up', reserved({}, 0)],
    ['about to end', 'reservation-expiring', reserved({ state: 'expiring' })],
    ['in a zone without a subnet', 'no-subnet', reserved({ availabilityZone: 'c' })],
    ['in a zone with a zonal shift', 'zonal-shift', reserved({}, 1, { shiftedUntil: () => 5 })],
    ['of a NodeClass that cannot be launched on the type', 'incompatible', reserved({}, 1, { launchable: false })],
  ])('is unavailable if it is %s', (_, code, entries) => {
    expect(entries.map(({ obstacle }) => obstacle?.code)).toEqual([code]);
    expect(entries[0]?.offering.available).toBe(false);
  });

  it('needs no price and ignores shortages', () => {
    const [entry] = reserved({}, 1, { onDemandPrice: () => undefined, shortage: () => short('offering') });
    expect(entry).toMatchObject({ offering: { usdPerHour: 0, available: true } });
  });

  it('contains only its own type', () => {
    expect(reserved({ instanceType: 'm5.xlarge' })).toEqual([]);
  });
});

describe('expandPartitions', () => {
  const [first] = baseEntries(INFO, context()).map(({ offering }) => offering);
  const offerings = first === undefined ? [] : [first];
  const group = (partitions: number) => ({ id: 'pg-1', name: 'g', strategy: 'partition', partitions });

  it('returns one offering per partition', () => {
    const expanded = expandPartitions(offerings, group(3));
    expect(expanded.map(({ requirements }) => requirements.at(-1))).toEqual(
      ['1', '2', '3'].map((value) => ({
        key: 'karpenter.k8s.aws/placement-group-partition',
        operator: 'In',
        values: [value],
      })),
    );
  });

  it('returns other offerings unchanged', () => {
    expect(expandPartitions(offerings, group(0))).toBe(offerings);
    expect(expandPartitions(offerings, undefined)).toBe(offerings);
  });
});

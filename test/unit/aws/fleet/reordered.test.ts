import { describe, expect, it } from '@jest/globals';
import { type InstanceType, Requirements } from '#engine/model';
import { fleetRequest } from '../../../../src/aws/fleet/create-fleet.ts';
import { isReordered } from '../../../../src/aws/fleet/launch-choice.ts';

const typed = (name: string, usdPerHour: number, listUsdPerHour?: number): InstanceType => ({
  name,
  requirements: [],
  capacity: {},
  overhead: { kubeReserved: {}, systemReserved: {}, evictionThreshold: {} },
  offerings: ['a', 'b'].map((zone) => ({
    requirements: [
      { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
      { key: 'topology.kubernetes.io/zone', operator: 'In', values: [zone] },
    ],
    usdPerHour,
    available: true,
    ...(listUsdPerHour === undefined ? {} : { listUsdPerHour }),
  })),
});

describe('a priority of a fleet request', () => {
  const any = Requirements.fromRequirements([]);
  it.each([
    ['no discounts', [typed('a', 1), typed('b', 2)], false],
    ['the same discount on all', [typed('a', 0.9, 1), typed('b', 1.8, 2)], false],
    ['a discount that makes the dearer type cheaper', [typed('a', 1), typed('b', 0.9, 2)], true],
    ['a discount that makes the dearer type as cheap', [typed('a', 1), typed('b', 1, 2)], false],
  ])('is set with %s: %#', (_, types, reordered) => {
    expect(isReordered(types, { requirements: any, requests: {} }, 'on-demand')).toBe(reordered);
    expect(isReordered(types, { requirements: any, requests: {} }, 'spot')).toBe(false);
  });

  it('lets AWS choose by priority instead of list price', () => {
    const request = { configs: [], capacityType: 'on-demand', reservation: undefined, tags: {}, context: undefined };
    expect(fleetRequest({ ...request, prioritized: true }).OnDemandOptions).toEqual({
      AllocationStrategy: 'prioritized',
    });
    expect(fleetRequest({ ...request, prioritized: false }).OnDemandOptions).toEqual({
      AllocationStrategy: 'lowest-price',
    });
  });
});

import type { Instance as Described } from '@aws-sdk/client-ec2';
import { describe, expect, it } from '@jest/globals';
import { claimOf } from '../../../../src/aws/instances/claim.ts';
import { fromDescription } from '../../../../src/aws/instances/instance.ts';
import { instanceType } from '../../engine/disruption/objects.ts';

const described: Described = {
  InstanceId: 'i-1',
  InstanceType: 'm5.large',
  State: { Name: 'running' },
  LaunchTime: new Date(0),
  CapacityReservationId: 'cr-1',
  CapacityReservationSpecification: { CapacityReservationPreference: 'capacity-reservations-only' },
  NetworkInterfaces: [],
};
const efa = { ...described, NetworkInterfaces: [{ InterfaceType: 'efa' }] };

describe('an instance', () => {
  it('is parsed once from each description', () => {
    const instance = fromDescription(described, false);
    expect(fromDescription(described, false)).toBe(instance);
    expect(fromDescription({ ...described }, false)).toEqual(instance);
    expect(fromDescription(described, true).capacityType).toBe('reserved');
  });

  it('has the capacity of its type, with EFA adapters only if it was launched with them', () => {
    const type = { ...instanceType('m5.large', 2, 0.1), capacity: { cpu: 2000, 'vpc.amazonaws.com/efa': 1, pods: 0 } };
    const capacityOf = (of: Described) => claimOf(fromDescription(of, false), { type, nowMs: 0 }).status?.capacity;
    expect(capacityOf(described)).toEqual({ cpu: '2' });
    expect(capacityOf(efa)).toEqual({ cpu: '2', 'vpc.amazonaws.com/efa': '1' });
    expect(capacityOf(described)).toEqual({ cpu: '2' });
  });
});

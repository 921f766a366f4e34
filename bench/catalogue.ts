/**
 * Instance types of the scheduling benchmark: `fake-it-0` has 1 CPU and 2 GiB, and each next type has that much more.
 */
import { ARCH_LABEL, CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, OS_LABEL, ZONE_LABEL } from '#api/objects';
import type { InstanceType, Offering, Requirement } from '#engine/model';

const GIB = 2 ** 30;
const MIB = 2 ** 20;
const ON_DEMAND_ZONES = ['test-zone-1', 'test-zone-2', 'test-zone-3'];
const SPOT_ZONES = ON_DEMAND_ZONES.slice(0, 2);

const isOneOf = (key: string, ...values: readonly string[]): Requirement => ({ key, operator: 'In', values });

const offering = (capacityType: string, zone: string, usdPerHour: number): Offering => ({
  requirements: [isOneOf(CAPACITY_TYPE_LABEL, capacityType), isOneOf(ZONE_LABEL, zone)],
  usdPerHour,
  available: true,
});

function instanceType(index: number): InstanceType {
  const cpu = index + 1;
  const gib = 2 * (index + 1);
  const price = 0.1 * cpu + (0.1 * gib * GIB) / 1e9;
  const isLarge = cpu > 4 && gib > 8;
  return {
    name: `fake-it-${index}`,
    requirements: [
      isOneOf(INSTANCE_TYPE_LABEL, `fake-it-${index}`),
      isOneOf(ARCH_LABEL, 'amd64'),
      isOneOf(OS_LABEL, 'darwin', 'linux', 'windows'),
      isOneOf(ZONE_LABEL, ...ON_DEMAND_ZONES),
      isOneOf(CAPACITY_TYPE_LABEL, 'on-demand', 'spot'),
      isOneOf('integer', String(cpu)),
      isOneOf('size', isLarge ? 'large' : 'small'),
      isLarge ? isOneOf('special', 'optional') : { key: 'special', operator: 'DoesNotExist' },
    ],
    capacity: { cpu: cpu * 1000, memory: gib * GIB, pods: 10 * (index + 1) },
    overhead: { kubeReserved: { cpu: 100, memory: 10 * MIB }, systemReserved: {}, evictionThreshold: {} },
    offerings: [
      ...SPOT_ZONES.map((zone) => offering('spot', zone, price)),
      ...ON_DEMAND_ZONES.map((zone) => offering('on-demand', zone, price)),
    ],
  };
}

export const benchmarkTypes = (count: number): readonly InstanceType[] =>
  Array.from({ length: count }, (_, index) => instanceType(index));

import { describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL } from '#api/objects';
import type { Candidate } from '../../../../../src/engine/disruption/command.ts';
import { described } from '../../../../../src/engine/disruption/pass.ts';
import { byWaste, unitPrices } from '../../../../../src/engine/disruption/pricing/worth.ts';
import type { InstanceType } from '../../../../../src/engine/model.ts';
import { instanceType, pod, pool, stateNode } from '../objects.ts';

const GIB = 2 ** 30;

/** Instance type with four cores and 16 GiB, on demand only. */
const onDemand = (name: string, usdPerHour: number): InstanceType => {
  const type = instanceType(name, 4, usdPerHour);
  const isOnDemand = ({ requirements }: InstanceType['offerings'][number]): boolean =>
    requirements.some(({ key, values }) => key === CAPACITY_TYPE_LABEL && values?.includes('on-demand'));
  return { ...type, offerings: type.offerings.filter(isOnDemand) };
};
const types = [onDemand('m.large', 0.4)];
const input = { nodePool: pool(), instanceTypes: types };

const candidate = (name: string, cpu: string, memory: string): Candidate => {
  const containers = [{ name: 'main', resources: { requests: { cpu, memory } } }];
  const node = stateNode(name, { pods: [pod(`on-${name}`, { spec: { nodeName: name, containers } })] });
  return described(node, new Map([['default', input]])) as Candidate;
};

describe('waste', () => {
  it('is the cost of a node beyond the share of its pods of scarce memory, highest first', () => {
    const all = [candidate('full', '100m', '16Gi'), candidate('idle', '100m', '1Gi'), candidate('half', '100m', '8Gi')];
    const found = byWaste(all, input).map(({ candidate: { name }, usdPerHour }) => [name, usdPerHour.toFixed(3)]);
    expect(found).toEqual([
      ['idle', '0.375'],
      ['half', '0.200'],
      ['full', '0.000'],
    ]);
  });

  it('uses cores if cores are scarce', () => {
    const all = [candidate('a', '1', '1Gi'), candidate('b', '3', '1Gi')];
    const found = byWaste(all, input).map(({ candidate: { name }, usdPerHour }) => [name, usdPerHour.toFixed(3)]);
    expect(found).toEqual([
      ['a', '0.300'],
      ['b', '0.100'],
    ]);
  });
});

describe('a unit price', () => {
  it('covers the types that the NodePool can launch', () => {
    const offered = [...types, onDemand('cheap', 0.1)];
    const picky = {
      ...input.nodePool,
      spec: {
        ...input.nodePool.spec,
        template: {
          spec: {
            ...input.nodePool.spec.template.spec,
            requirements: [{ key: INSTANCE_TYPE_LABEL, operator: 'NotIn' as const, values: ['cheap'] }],
          },
        },
      },
    };
    const demand = { cpu: 100, memory: 16 * GIB };
    const worthOf = (nodePool: typeof input.nodePool): number => {
      const { cpu, memory } = unitPrices({ nodePool, instanceTypes: offered }, demand);
      return cpu * demand.cpu + memory * demand.memory;
    };
    expect(worthOf(input.nodePool)).toBeCloseTo(0.1, 6);
    expect(worthOf(picky)).toBeCloseTo(0.4, 6);
  });

  it('is 0 if no type is available', () => {
    expect(unitPrices({ ...input, instanceTypes: [] }, { cpu: 1, memory: 1 })).toEqual({ cpu: 0, memory: 0 });
  });
});

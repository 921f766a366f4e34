import { describe, expect, it } from '@jest/globals';
import { catalogueIn } from '#cli/testing';
import { instanceTypeReport } from '../../../src/engine/instance-type-report.ts';
import type { InstanceType } from '../../../src/engine/model.ts';

const GIB = 2 ** 30;
const small: InstanceType = {
  name: 'm.small',
  requirements: [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['m.small'] }],
  capacity: { cpu: 2000, memory: 4 * GIB, pods: 29, 'vpc.amazonaws.com/pod-eni': 9 },
  overhead: {
    kubeReserved: { cpu: 70, memory: 0.5 * GIB },
    systemReserved: {},
    evictionThreshold: { memory: 100 * 2 ** 20 },
  },
  offerings: [
    {
      requirements: [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot'] }],
      usdPerHour: 0.0123,
      available: false,
      outage: { reason: 'InsufficientInstanceCapacity', untilMs: Date.parse('2026-06-03T10:33:00Z') },
    },
    {
      requirements: [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['reserved'] }],
      usdPerHour: 0,
      listUsdPerHour: 0.5,
      available: true,
      reservationCapacity: 3,
    },
  ],
};
const large = {
  ...small,
  name: 'm.large',
  cpuBurst: { baseline: 600, utilization: 0.7, usdPerVcpuHour: 0.05 },
};

describe('a report of instance types', () => {
  it('is parsed to equal types', () => {
    const told = instanceTypeReport(new Map([['default', [small, large]]]));
    const read = catalogueIn(JSON.parse(JSON.stringify(told)), 'operator');
    expect(read).toEqual({ instanceTypes: [small, large], nodePools: new Map() });
  });

  it('lists the types of most NodePools once, and other lists by NodePool', () => {
    const [usual, own]: readonly InstanceType[][] = [[small], [large]];
    const told = instanceTypeReport(
      new Map([
        ['gpu', own ?? []],
        ['default', usual ?? []],
        ['broken', []],
        ['batch', usual ?? []],
      ]),
    );
    const read = catalogueIn(JSON.parse(JSON.stringify(told)), 'operator');
    expect(read).toEqual({ instanceTypes: [small], nodePools: new Map([['gpu', [large]]]) });
    expect(JSON.stringify(instanceTypeReport(new Map()))).toBe('{"instanceTypes":[]}');
  });
});

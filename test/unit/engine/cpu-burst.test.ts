/** Surplus CPU credits in the price of burstable types. */
import { describe, expect, it } from '@jest/globals';
import { type CpuBurst, includedCpu, surplusUsdPerHour } from '../../../src/engine/cpu-burst.ts';
import { withCpuUtilization, withoutExpectedCosts } from '../../../src/engine/expected-costs.ts';
import { orderByPrice } from '../../../src/engine/instance-types.ts';
import type { InstanceType, Plan } from '../../../src/engine/model.ts';
import { nodeUsdPerHour } from '../../../src/engine/purchase.ts';
import { Requirements } from '../../../src/engine/requirements.ts';
import { sharedType } from '../../../src/engine/shared-types.ts';
import { pricedRooms, unitPricesOf } from '../../../src/engine/unit-prices.ts';
import { daemon, instanceType, nodePool, oneOf, planOf, replicas } from './build.ts';

/** Baseline of 400m, so 800m of requests are included at a utilization of 0.5, and each further vCPU costs 0.02. */
const CREDITS: CpuBurst = { baseline: 400, utilization: 0.5, usdPerVcpuHour: 0.04 };
const BURSTABLE: InstanceType = { ...instanceType('burstable', { cpu: 2, gib: 4, usd: 0.03 }), cpuBurst: CREDITS };
const STEADY = instanceType('steady', { cpu: 2, gib: 4, usd: 0.045 });

const onDemand = [nodePool('default', { requirements: [oneOf('karpenter.sh/capacity-type', 'on-demand')] })];
const planFor = (cpu: string, more: Parameters<typeof planOf>[0] = {}): Plan =>
  planOf({ pools: onDemand, types: [BURSTABLE, STEADY], pendingPods: replicas(1, 'web', { cpu }), ...more });

describe('surplusUsdPerHour', () => {
  it.each([
    [0, 0],
    [800, 0],
    [1_300, 0.01],
    [1_800, 0.02],
  ])('returns the price of %dm of requests as %d', (cpu, usd) => {
    expect(surplusUsdPerHour(BURSTABLE, cpu)).toBeCloseTo(usd, 12);
    expect(surplusUsdPerHour(STEADY, cpu)).toBe(0);
  });

  it('includes all CPU of types that are not burstable', () => {
    expect(includedCpu(STEADY)).toBe(Number.POSITIVE_INFINITY);
    expect(includedCpu(BURSTABLE)).toBe(800);
  });
});

describe('a planned node', () => {
  it('is burstable if its pods request no more than the included CPU', () => {
    const [claim] = planFor('800m').claims;
    expect(claim).toMatchObject({ cheapest: 'burstable', instanceTypes: ['burstable', 'steady'], usdPerHour: 0.03 });
    expect(claim).not.toHaveProperty('surplusUsdPerHour');
  });

  it('reports the surplus credits beside the price of the instance', () => {
    const [claim] = planFor('1500m').claims;
    expect(claim).toMatchObject({ cheapest: 'burstable', usdPerHour: 0.03, surplusUsdPerHour: expect.closeTo(0.014) });
    expect(claim && nodeUsdPerHour(claim)).toBeCloseTo(0.044, 12);
  });

  it('is of the other type if surplus credits make the burstable type cost more', () => {
    const [claim] = planFor('1600m').claims;
    expect(claim).toMatchObject({ cheapest: 'steady', instanceTypes: ['steady', 'burstable'], usdPerHour: 0.045 });
    expect(claim).not.toHaveProperty('surplusUsdPerHour');
  });

  it('counts the CPU that DaemonSets request', () => {
    const [claim] = planFor('1500m', { daemonPods: [daemon('agent', { cpu: '100m' })] }).claims;
    expect(claim?.cheapest).toBe('steady');
  });

  it('has the same instance types in another order for claims with the same possible types', () => {
    const pendingPods = [...replicas(1, 'large', { cpu: '1900m' }), ...replicas(1, 'small', { cpu: '1200m' })];
    const { claims } = planFor('0', { pendingPods });
    expect(claims.map(({ instanceTypes }) => instanceTypes[0])).toEqual(['steady', 'burstable']);
  });

  it.each([
    'cheapest',
    'compatible',
  ] as const)('ignores credits without an expected cost under packing %s', (packing) => {
    const plain = withoutExpectedCosts([BURSTABLE, STEADY]);
    const plan = planOf(
      { pools: onDemand, types: plain, pendingPods: replicas(1, 'web', { cpu: '1900m' }) },
      { packing },
    );
    expect(plan.claims[0]).toMatchObject({ cheapest: 'burstable', usdPerHour: 0.03 });
    expect(plan.claims[0]).not.toHaveProperty('surplusUsdPerHour');
  });
});

describe('packing', () => {
  const priceOf = ({ claims }: Plan): number => claims.reduce((sum, claim) => sum + nodeUsdPerHour(claim), 0);
  const packed = (cpu: string, count: number, types: readonly InstanceType[]) =>
    planOf({ pools: onDemand, types, pendingPods: replicas(count, 'web', { cpu, memory: '1Gi' }) });

  it('fills burstable nodes only up to their included CPU if further CPU costs more there', () => {
    const dearCredits = { ...BURSTABLE, cpuBurst: { ...CREDITS, usdPerVcpuHour: 0.2 } };
    const plan = packed('400m', 6, [dearCredits, { ...STEADY, offerings: instanceType('s', { usd: 0.2 }).offerings }]);
    expect(plan.claims.map(({ cheapest, pods }) => [cheapest, pods.length])).toEqual([
      ['burstable', 2],
      ['burstable', 2],
      ['burstable', 2],
    ]);
    expect(priceOf(plan)).toBeCloseTo(0.09, 12);
  });

  it('fills burstable nodes completely if further CPU costs less there', () => {
    const plan = packed('400m', 8, [BURSTABLE, instanceType('large', { cpu: 16, gib: 64, usd: 1 })]);
    expect(plan.claims.map(({ cheapest, pods }) => [cheapest, pods.length])).toEqual([
      ['burstable', 4],
      ['burstable', 4],
    ]);
    expect(priceOf(plan)).toBeCloseTo(2 * (0.03 + 0.016), 12);
  });

  it('keeps a type that a burstable type with more memory would replace at the price of the instance alone', () => {
    const roomy = { ...BURSTABLE, ...{ capacity: { ...BURSTABLE.capacity, memory: 8 * 2 ** 30 } } };
    const plan = packed('950m', 4, [roomy, STEADY]);
    expect(plan.claims.map(({ cheapest }) => cheapest)).toEqual(['steady', 'steady']);
  });
});

describe('pricedRooms', () => {
  const room = { cpu: 2_000, memory: 4, usdPerHour: 0.03 };

  it('returns unit prices at which any use of a burstable node is worth at most its cost', () => {
    const rooms = pricedRooms(BURSTABLE, room);
    expect(rooms).toHaveLength(2);
    for (const memory of [0.5, 2, 4])
      for (const cpu of [400, 800, 1_400, 2_000]) {
        const prices = unitPricesOf(rooms, { cpu, memory });
        expect(cpu * prices.cpu + memory * prices.memory).toBeLessThanOrEqual(
          0.03 + surplusUsdPerHour(BURSTABLE, cpu) + 1e-9,
        );
      }
  });

  it('returns the room itself for types that are not burstable', () => {
    expect(pricedRooms(STEADY, room)).toEqual([room]);
  });
});

describe('a list of instance types', () => {
  it('is ordered by the price for the requests', () => {
    const names = (cpu: number) =>
      orderByPrice(
        [BURSTABLE, STEADY],
        Requirements.fromRequirements(onDemand[0]?.spec.template.spec.requirements),
        cpu,
      ).map(({ name }) => name);
    expect(names(800)).toEqual(['burstable', 'steady']);
    expect(names(2_000)).toEqual(['steady', 'burstable']);
  });

  it('takes another utilization', () => {
    const [type, steady] = withCpuUtilization([BURSTABLE, STEADY], 1);
    expect(type && includedCpu(type)).toBe(400);
    expect(steady).toBe(STEADY);
    expect(withCpuUtilization([BURSTABLE], 0)[0]).not.toHaveProperty('cpuBurst');
  });

  it('shares types with another only if their credits are equal', () => {
    const shared = sharedType(BURSTABLE);
    expect(sharedType({ ...BURSTABLE, cpuBurst: { ...CREDITS } })).toBe(shared);
    expect(sharedType({ ...BURSTABLE, cpuBurst: { ...CREDITS, utilization: 0.6 } })).not.toBe(shared);
  });
});

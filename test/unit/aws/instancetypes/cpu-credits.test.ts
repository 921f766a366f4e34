import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import { describe, expect, it } from '@jest/globals';
import { ruleBuiltCatalogue } from '#local/machines';
import { cpuCreditsOf } from '../../../../src/aws/instancetypes/cpu-credits.ts';

const burstable = (name: string, architecture: 'x86_64' | 'arm64' = 'x86_64'): InstanceTypeInfo => ({
  InstanceType: name as NonNullable<InstanceTypeInfo['InstanceType']>,
  BurstablePerformanceSupported: true,
  ProcessorInfo: { SupportedArchitectures: [architecture] },
});

describe('cpuCreditsOf', () => {
  it.each([
    ['t2.nano', 'x86_64', 50, 0.05],
    ['t2.2xlarge', 'x86_64', 1_360, 0.05],
    ['t3.small', 'x86_64', 400, 0.05],
    ['t3a.2xlarge', 'x86_64', 3_200, 0.05],
    ['t4g.medium', 'arm64', 400, 0.04],
    ['t4g.large', 'arm64', 600, 0.04],
  ] as const)('returns baseline and price of %s', (name, architecture, baseline, usdPerVcpuHour) => {
    expect(cpuCreditsOf(burstable(name, architecture), false, 0.7)).toEqual({
      ...{ baseline: expect.closeTo(baseline), utilization: 0.7, usdPerVcpuHour },
    });
  });

  it('uses the price of Windows for nodes with Windows', () => {
    const credits = cpuCreditsOf(burstable('t3.large'), true, 0.7);
    expect(credits?.usdPerVcpuHour).toBe(0.096);
  });

  it('uses the baselines of t3 for families that the table does not have', () => {
    expect(cpuCreditsOf(burstable('t9.large'), false, 0.7)?.baseline).toBe(600);
    expect(cpuCreditsOf(burstable('t9.giant'), false, 0.7)).toBeUndefined();
  });

  it('returns undefined if the type is not burstable or no use is expected', () => {
    expect(
      cpuCreditsOf({ ...burstable('m5.large'), BurstablePerformanceSupported: false }, false, 0.7),
    ).toBeUndefined();
    expect(cpuCreditsOf(burstable('t3.large'), false, 0)).toBeUndefined();
  });

  it('has credits for every burstable type of the catalogue', () => {
    const { types } = ruleBuiltCatalogue([], 1);
    const names = types.filter(({ BurstablePerformanceSupported: is }) => is).map(({ InstanceType: name }) => name);
    const known = types.filter((info) => cpuCreditsOf(info, false, 0.7)).map(({ InstanceType: name }) => name);
    expect(known).toEqual(names);
    expect(known.length).toBeGreaterThan(20);
  });
});

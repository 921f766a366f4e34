/** Spot risk orders the types of a fleet request and removes no type from the request. */
import { describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, ZONE_LABEL } from '#api/objects';
import { type InstanceType, type Requirement, Requirements, satisfiesMinValues } from '#engine/model';
import { filterForLaunch, isReordered, MAX_FLEET_TYPES, overridesOf } from '../../../../src/aws/fleet/launch-choice.ts';
import type { TemplateConfig } from '../../../../src/aws/launchtemplates/launchtemplates.ts';
import type { ZonalSubnet } from '../../../../src/aws/subnets/subnets.ts';

const only = (key: string, value: string): Requirement => ({ key, operator: 'In', values: [value] });
const FAMILY = 'karpenter.k8s.aws/instance-family';

/** An on-demand instance costs three times as much as a spot instance. */
const typed = (name: string, spotUsd: number, spotRiskUsdPerHour?: number): InstanceType => ({
  name,
  requirements: [only(INSTANCE_TYPE_LABEL, name), only(FAMILY, name)],
  capacity: { cpu: 2_000 },
  overhead: { kubeReserved: {}, systemReserved: {}, evictionThreshold: {} },
  offerings: ['on-demand', 'spot'].map((capacityType) => ({
    requirements: [only(CAPACITY_TYPE_LABEL, capacityType), only(ZONE_LABEL, 'a')],
    usdPerHour: capacityType === 'spot' ? spotUsd : 3 * spotUsd,
    available: true,
    ...(capacityType === 'spot' && spotRiskUsdPerHour !== undefined && { spotRiskUsdPerHour }),
  })),
});

/** Seventy types. The ten cheapest types have the highest risk. */
const types = (risk: number): readonly InstanceType[] =>
  Array.from({ length: 70 }, (_, at) => typed(`type-${at}`, 1 + at / 100, at < 10 && risk > 0 ? risk : undefined));
const launchOf = (requirements: Requirements) => ({ requirements, requests: { cpu: 1_000 } });
const spot = Requirements.fromRequirements([only(CAPACITY_TYPE_LABEL, 'spot')]);
const namesOf = (list: readonly InstanceType[]): readonly string[] => list.map(({ name }) => name);
const requested = (risk: number, requirements = spot): readonly InstanceType[] =>
  filterForLaunch(types(risk), launchOf(requirements)).types.slice(0, MAX_FLEET_TYPES);

describe('the list of types of a request', () => {
  it.each(['spot', 'spot and on-demand'])('is the same as without risk: %s', (what) => {
    const requirements = what === 'spot' ? spot : Requirements.fromRequirements([]);
    expect(namesOf(requested(1.9, requirements))).toEqual(namesOf(requested(0, requirements)));
    expect(requested(1.9, requirements)).toHaveLength(60);
  });

  it('reaches the same minValues', () => {
    const requirements = Requirements.fromRequirements([
      only(CAPACITY_TYPE_LABEL, 'spot'),
      { key: FAMILY, operator: 'In', values: namesOf(types(0)), minValues: 60 },
    ]);
    expect(satisfiesMinValues(requested(1.9, requirements), requirements).unsatisfied).toEqual([]);
  });
});

describe('the priority of a type in a request', () => {
  const config = (of: readonly InstanceType[]) => ({ types: of, imageId: 'ami-1' }) as unknown as TemplateConfig;
  const subnets = new Map([['a', { id: 'subnet-1' } as ZonalSubnet]]);
  const overrides = (of: readonly InstanceType[], capacityType: string) =>
    overridesOf(config(of), launchOf(Requirements.fromRequirements([])), capacityType, subnets).map(
      ({ InstanceType: name, Priority }) => [name, Priority],
    );
  const both = [typed('risky', 1, 0.5), typed('calm', 1.2)];

  it('is its price plus the risk of spot', () => {
    expect(overrides(both, 'spot')).toEqual([
      ['risky', 1.5],
      ['calm', 1.2],
    ]);
    expect(overrides(both, 'on-demand')).toEqual([
      ['risky', 3],
      ['calm', expect.closeTo(3.6)],
    ]);
  });

  it('includes the surplus CPU credits for the requests, which change the order', () => {
    const cpuBurst = { baseline: 400, utilization: 0.5, usdPerVcpuHour: 1 };
    const types = [{ ...typed('burstable', 1), cpuBurst }, typed('steady', 1.2)];
    const any = Requirements.fromRequirements([]);
    const launch = (cpu: number) => ({ requirements: any, requests: { cpu } });
    const named = (cpu: number) => namesOf(filterForLaunch(types, launch(cpu)).types);
    expect(isReordered(types, launch(800), 'spot')).toBe(false);
    expect(named(800)).toEqual(['burstable', 'steady']);
    expect(isReordered(types, launch(1_800), 'spot')).toBe(true);
    expect(named(1_800)).toEqual(['steady', 'burstable']);
    const priorities = overridesOf(config(types), launch(1_800), 'spot', subnets).map(({ Priority }) => Priority);
    expect(priorities).toEqual([expect.closeTo(1.5), 1.2]);
  });

  it('is set only for spot, and only if the risk changes the order', () => {
    const launch = launchOf(Requirements.fromRequirements([]));
    expect(isReordered(both, launch, 'spot')).toBe(true);
    expect(isReordered(both, launch, 'on-demand')).toBe(false);
    expect(isReordered([typed('risky', 1, 0.1), typed('calm', 1.2)], launch, 'spot')).toBe(false);
  });
});

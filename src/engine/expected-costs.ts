/** Removes expected costs of instance types, for decisions that must be the same as in Karpenter. */

import type { PackingPolicy } from '#api/values';
import type { InstanceType, Offering } from './model.ts';
import { sharedType, sharedTypeList } from './shared-types.ts';

const made = new WeakMap<readonly InstanceType[], readonly InstanceType[]>();

/** Returns the types for decisions: without spot risks and surplus CPU if only the prices of instances count. */
export const countedTypes = (
  { expectsCosts }: Pick<PackingPolicy, 'expectsCosts'>,
  types: readonly InstanceType[],
): readonly InstanceType[] => (expectsCosts ? types : withoutExpectedCosts(types));

/**
 * Returns types without spot risk and surplus CPU. Returns the list itself if it has none, otherwise one shared object
 * for each list.
 */
export function withoutExpectedCosts(types: readonly InstanceType[]): readonly InstanceType[] {
  const known = made.get(types);
  if (known !== undefined) return known;
  const plain = types.some(hasExpectedCosts) ? sharedTypeList(types.map(plainType)) : types;
  made.set(types, plain);
  return plain;
}

/** Returns types with another expected utilization of the requested CPU. */
export const withCpuUtilization = (types: readonly InstanceType[], utilization: number): readonly InstanceType[] =>
  types.map((type) => {
    const { cpuBurst, ...plain } = type;
    if (cpuBurst === undefined) return type;
    return utilization === 0 ? plain : { ...plain, cpuBurst: { ...cpuBurst, utilization } };
  });

const hasExpectedCosts = ({ cpuBurst, offerings }: InstanceType): boolean =>
  cpuBurst !== undefined || offerings.some(({ spotRiskUsdPerHour }) => spotRiskUsdPerHour !== undefined);

function plainType(type: InstanceType): InstanceType {
  if (!hasExpectedCosts(type)) return type;
  const { cpuBurst: _, ...plain } = type;
  return sharedType({ ...plain, offerings: type.offerings.map(plainOffering) });
}

const plainOffering = ({ spotRiskUsdPerHour: _, ...offering }: Offering): Offering => offering;

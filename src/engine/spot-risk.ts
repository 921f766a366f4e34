/** Removes the spot risk of instance types, for decisions that must be the same as in Karpenter. */
import type { InstanceType, Offering } from './model.ts';
import { sharedType, sharedTypeList } from './shared-types.ts';

const made = new WeakMap<readonly InstanceType[], readonly InstanceType[]>();

/** Returns the list itself if it has no risk, otherwise one shared object for each list. */
export function withoutSpotRisk(types: readonly InstanceType[]): readonly InstanceType[] {
  const known = made.get(types);
  if (known !== undefined) return known;
  const plain = types.some(isRisky) ? sharedTypeList(types.map(plainType)) : types;
  made.set(types, plain);
  return plain;
}

const isRisky = ({ offerings }: InstanceType): boolean =>
  offerings.some(({ spotRiskUsdPerHour }) => spotRiskUsdPerHour !== undefined);

const plainType = (type: InstanceType): InstanceType =>
  isRisky(type) ? sharedType({ ...type, offerings: type.offerings.map(plainOffering) }) : type;

const plainOffering = ({ spotRiskUsdPerHour: _, ...offering }: Offering): Offering => offering;

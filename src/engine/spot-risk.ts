/** Instance types without their spot risk, for decisions that are to be Karpenter's. */
import type { InstanceType, Offering } from './model.ts';
import { sharedType, sharedTypeList } from './shared-types.ts';

const made = new WeakMap<readonly InstanceType[], readonly InstanceType[]>();

/** The list itself where nothing of it has a risk; one object for each list that has. */
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

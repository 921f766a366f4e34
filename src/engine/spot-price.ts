/** Maximum price of spot offerings as a part of the on-demand price. */
import { CAPACITY_TYPE_LABEL, ZONE_LABEL } from '#api/objects';
import { formatDuration } from '#api/values';
import { requirementsOf } from './instance-types.ts';
import type { InstanceType, Offering, PoolInput, SpotLimit, SpotTerms } from './model.ts';
import { sharedType, sharedTypeList } from './shared-types.ts';

/** Relative rounding error of prices. */
const ROUNDING = 1e-9;

const isOf = (capacityType: string, offering: Offering): boolean =>
  requirementsOf(offering).get(CAPACITY_TYPE_LABEL).has(capacityType);

/** Returns the on-demand price in the zone of a spot offering, or the lowest of all zones. Undefined if it is not known. */
function onDemandPrice({ offerings }: InstanceType, spot: Offering): number | undefined {
  const zone = requirementsOf(spot).get(ZONE_LABEL);
  const priced = offerings.filter((each) => each.usdPerHour > 0 && isOf('on-demand', each));
  const inZone = priced.filter((each) => requirementsOf(each).get(ZONE_LABEL).intersects(zone));
  const prices = (inZone.length > 0 ? inZone : priced).map(({ usdPerHour }) => usdPerHour);
  return prices.length === 0 ? undefined : Math.min(...prices);
}

/**
 * Returns the types without available spot offerings above the maximum price. An offering without a known on-demand price counts
 * as above it. The result is shared by equal lists.
 */
export function withinSpotPrice(
  types: readonly InstanceType[],
  { policy, maxPrice: share }: SpotTerms,
): readonly InstanceType[] {
  if (share === undefined) return types;
  const limited = (type: InstanceType, offering: Offering): Offering => {
    if (!offering.available || !isOf('spot', offering)) return offering;
    const onDemandUsdPerHour = onDemandPrice(type, offering);
    if (onDemandUsdPerHour !== undefined && offering.usdPerHour <= onDemandUsdPerHour * share * (1 + ROUNDING))
      return offering;
    const spotLimit: SpotLimit = { policy, share, ...(onDemandUsdPerHour !== undefined && { onDemandUsdPerHour }) };
    return { ...offering, available: false, spotLimit };
  };
  let isSame = true;
  const found = types.map((type) => {
    const offerings = type.offerings.map((offering) => limited(type, offering));
    if (offerings.every((offering, at) => offering === type.offerings[at])) return type;
    isSame = false;
    return sharedType({ ...type, offerings });
  });
  return isSame ? types : sharedTypeList(found);
}

/** Use of spot capacity by a NodePool, for reports. */
export interface PoolSpot extends SpotTerms {
  readonly nodePool: string;
  /** Number of spot offerings that are available or above the maximum price. */
  readonly offerings?: number;
  /** Number of spot offerings above the maximum price. */
  readonly aboveMaxPrice?: number;
}

/** Returns the use of spot capacity by the NodePools with terms. */
export const poolSpots = (pools: readonly PoolInput[]): readonly PoolSpot[] =>
  pools.flatMap(({ nodePool, instanceTypes, spot }) => {
    if (spot === undefined) return [];
    const named = { nodePool: nodePool.metadata.name, ...spot };
    if (spot.maxPrice === undefined) return [named];
    const offerings = instanceTypes.flatMap((type) =>
      type.offerings.filter((each) => (each.available || each.spotLimit !== undefined) && isOf('spot', each)),
    );
    const above = offerings.filter(({ spotLimit }) => spotLimit !== undefined);
    return [{ ...named, offerings: offerings.length, aboveMaxPrice: above.length }];
  });

/** Returns the text of a report, such as "default (NodePolicy spot): at most 60 % of on-demand, …". */
export function poolSpotText({ nodePool, policy, ...terms }: PoolSpot): string {
  const { maxPrice, offerings, aboveMaxPrice, consolidationTypes, share, onDemandAfterMs } = terms;
  const parts = [
    maxPrice === undefined
      ? []
      : [`at most ${percentText(maxPrice)} of on-demand, which ${aboveMaxPrice} of ${offerings} spot offerings exceed`],
    share === undefined ? [] : [`at most ${percentText(share)} of the replicas of a workload`],
    onDemandAfterMs === undefined ? [] : [`on-demand after ${formatDuration(onDemandAfterMs)}`],
    consolidationTypes === undefined ? [] : [`${consolidationTypes} instance types for spot-to-spot consolidation`],
  ];
  return `${nodePool} (NodePolicy ${policy}): ${parts.flat().join('; ')}`;
}

/** Returns a part as a percentage, such as "62.5 %". */
export const percentText = (part: number): string => `${Number((part * 100).toFixed(2))} %`;

/** Returns the reason why an offering is above the maximum price. */
export function spotLimitText(usdPerHour: number, { policy, share, onDemandUsdPerHour }: SpotLimit): string {
  const price =
    onDemandUsdPerHour === undefined
      ? 'the on-demand price is not known'
      : `spot costs ${percentText(usdPerHour / onDemandUsdPerHour)} of on-demand`;
  return `${price}, and spot.maxPrice of NodePolicy "${policy}" is ${percentText(share)}`;
}

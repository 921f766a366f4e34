/**
 * Ceilings for several NodePools together: amounts of resources, the number of nodes, and the billed price. A NodeClaim without
 * an instance counts with the largest amounts that its instance can have, so that no launch exceeds a ceiling.
 */
import { INSTANCE_TYPE_LABEL, type NodeClaim } from '#api/objects';
import { billedUsdPerHour } from './billed-price.ts';
import { billedNodePrice } from './disruption/candidates/disruption-cost.ts';
import { PricedTypes } from './disruption/price-table.ts';
import { compatibleOfferings, requirementsOf } from './instance-types.ts';
import type { Ceiling, InstanceType, PlannedClaim, Resources, StateNode } from './model.ts';
import { isUnlaunched, largestCapacity, withNode } from './pool-usage.ts';
import { Requirements } from './requirements.ts';
import { addResources, maxResources, quantityList } from './resources.ts';

/** Resource of the billed price, in millionths of a USD per hour, because amounts are integers. */
export const USD = 'usdPerHour';
const MICRO = 1_000_000;
/** Rounding error of prices, in millionths of a USD. */
const ROUNDING = 1e-3;

/** Returns the amount of a price. Rounds up, so that sums never exceed a ceiling. */
export const usdAmount = (usd: number): number => Math.ceil(usd * MICRO - ROUNDING);

/** Returns the amount of a ceiling. */
export const usdLimit = (usd: number): number => Math.floor(usd * MICRO + ROUNDING);

/** Returns the highest billed price that an instance of one of the types can have under the requirements. */
export function highestUsd(
  types: readonly InstanceType[],
  requirements: Requirements,
  chargesUsdPerHour: number,
): number {
  let usdPerHour = 0;
  for (const type of types)
    for (const offering of compatibleOfferings(type, requirements))
      usdPerHour = Math.max(usdPerHour, billedUsdPerHour({ usdPerHour: offering.usdPerHour, chargesUsdPerHour }));
  return usdPerHour;
}

/** Returns the highest billed price that the instance of a NodeClaim can have. */
function highestClaimUsd({ spec }: NodeClaim, types: readonly InstanceType[], chargesUsdPerHour: number): number {
  const wanted = Requirements.fromRequirements(spec.requirements);
  const possible = types.filter((type) => requirementsOf(type).intersects(wanted));
  return highestUsd(possible, wanted, chargesUsdPerHour);
}

/** Returns the largest amounts that the instance of a NodeClaim can have. */
export const largestAmounts = (
  claim: NodeClaim,
  types: readonly InstanceType[],
  chargesUsdPerHour: number,
): Resources => ({
  ...largestCapacity(claim, types),
  [USD]: usdAmount(highestClaimUsd(claim, types, chargesUsdPerHour)),
});

/** Returns an amount in the unit of metrics: USD, cores, bytes or a number. */
export const ceilingAmount = (name: string, amount: number): number =>
  name === USD ? amount / MICRO : name === 'cpu' ? amount / 1000 : amount;

/** Returns the text of an amount, such as "8", "16Gi" or "$1.5000/h". */
export const ceilingText = (name: string, amount: number): string =>
  name === USD ? `$${(amount / MICRO).toFixed(4)}/h` : (quantityList({ [name]: amount })[name] ?? '0');

/** Returns the billed price of a node, or the highest possible price of a NodeClaim without an instance. */
export function nodeUsd(
  node: Pick<StateNode, 'labels' | 'nodeClaim' | 'providerId'>,
  types: readonly InstanceType[],
  chargesUsdPerHour: number,
): number {
  const { labels, nodeClaim } = node;
  if (nodeClaim === undefined) return 0;
  if (isUnlaunched(node)) return highestClaimUsd(nodeClaim, types, chargesUsdPerHour);
  return billedNodePrice(node, PricedTypes.of(types).type(labels[INSTANCE_TYPE_LABEL] ?? ''), chargesUsdPerHour);
}

/** Returns the amounts of a node of the type under the requirements, without volumes and addresses. */
export const amountsUnder = (type: InstanceType, requirements: Requirements): Resources => ({
  ...withNode(type.capacity),
  [USD]: usdAmount(highestUsd([type], requirements, 0)),
});

/** Returns the ceilings with the largest amounts of planned NodeClaims added to their use. */
export const withPlanned = (
  ceilings: readonly Ceiling[],
  claims: readonly PlannedClaim[],
  typesOf: (nodePool: string) => readonly InstanceType[],
): readonly Ceiling[] =>
  ceilings.map((ceiling) => {
    const planned = claims
      .filter(({ nodePool }) => ceiling.nodePools.includes(nodePool))
      .map(({ nodePool, instanceTypes, requirements, chargesUsdPerHour = 0 }) => {
        const names = new Set(instanceTypes);
        const types = typesOf(nodePool).filter(({ name }) => names.has(name));
        const usd = highestUsd(types, Requirements.fromRequirements(requirements), chargesUsdPerHour);
        return { ...withNode(maxResources(...types.map(({ capacity }) => capacity))), [USD]: usdAmount(usd) };
      });
    return { ...ceiling, used: addResources(ceiling.used, ...planned) };
  });

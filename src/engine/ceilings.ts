/**
 * Ceilings for several NodePools together: amounts of resources, the number of nodes, and the billed price. A NodeClaim without
 * an instance counts with the largest amounts that its instance can have, so that no launch exceeds a ceiling.
 */
import { INSTANCE_TYPE_LABEL, type LabelSelector, type NodeClaim } from '#api/objects';
import { remembering } from '#lib';
import { billedUsdPerHour } from './billed-price.ts';
import { billedNodePrice } from './disruption/candidates/disruption-cost.ts';
import { PricedTypes } from './disruption/price-table.ts';
import { requirementsOf } from './instance-types.ts';
import type { Ceiling, InstanceType, Offering, PlannedClaim, Resources, StateNode } from './model.ts';
import { withNode } from './pool-usage.ts';
import { maySelect } from './possible-labels.ts';
import { LOOSE, Requirements } from './requirements.ts';
import { addResources, amountIn, quantityList, readableResources } from './resources.ts';

/** Resource of the billed price, in millionths of a USD per hour, because amounts are integers. */
export const USD = 'usdPerHour';
const MICRO = 1_000_000;
/** Rounding error of prices, in millionths of a USD. */
const ROUNDING = 1e-3;

/** Returns the amount of a price. Rounds up, so that sums never exceed a ceiling. */
export const usdAmount = (usd: number): number => Math.ceil(usd * MICRO - ROUNDING);

/** Returns the amount of a ceiling. */
export const usdLimit = (usd: number): number => Math.floor(usd * MICRO + ROUNDING);

/** New node with an undecided instance: a NodeClaim, or a node that a NodePool could launch. */
interface Undecided {
  /** Requirements with the labels that the node will have. */
  readonly requirements: Requirements;
  readonly types: readonly InstanceType[];
  readonly chargesUsdPerHour?: number | undefined;
}

/** Offerings that can be launched now, after an outage, or when their price falls. */
const launchableOfferings = ({ offerings }: InstanceType, requirements: Requirements): readonly Offering[] =>
  offerings.filter(
    (offering) =>
      (offering.available || offering.outage !== undefined || offering.spotLimit !== undefined) &&
      requirements.compatible(requirementsOf(offering), LOOSE),
  );

/** Launch of an instance type as one offering, as a ceiling counts it. */
export interface CountedLaunch {
  readonly offering: Offering;
  /** False if the selector of the ceiling excludes the node. */
  readonly isCounted: boolean;
  /** Amount of the billed price. */
  readonly usd: number;
}

/** Returns the possible launches of a type under the requirements. */
export function countedLaunches(
  selector: LabelSelector,
  type: InstanceType,
  { requirements, chargesUsdPerHour = 0 }: Omit<Undecided, 'types'>,
): readonly CountedLaunch[] {
  const ofType = requirements.intersect(requirementsOf(type));
  return launchableOfferings(type, requirements).map((offering) => ({
    offering,
    isCounted: maySelect(selector, ofType.intersect(requirementsOf(offering))),
    usd: usdAmount(billedUsdPerHour({ usdPerHour: offering.usdPerHour, chargesUsdPerHour })),
  }));
}

/** Returns the amount with which a launch of the type counts. */
export const launchAmount = (type: InstanceType, { isCounted, usd }: Omit<CountedLaunch, 'offering'>, name: string) =>
  !isCounted ? 0 : name === USD ? usd : amountIn(withNode(type.capacity), name);

/** Returns the launch that counts most: the most expensive one among the launches that count. */
export function largestLaunch(launches: readonly CountedLaunch[]): Omit<CountedLaunch, 'offering'> {
  const counted = launches.filter(({ isCounted }) => isCounted);
  return { isCounted: counted.length > 0, usd: Math.max(0, ...counted.map(({ usd }) => usd)) };
}

/** Returns the largest amounts with which a new node can count. */
export function largestAmounts({ selector, limits }: Pick<Ceiling, 'selector' | 'limits'>, node: Undecided): Resources {
  const possible = node.types.filter((type) => requirementsOf(type).intersects(node.requirements));
  const each = possible.map((type) => ({ type, launch: largestLaunch(countedLaunches(selector, type, node)) }));
  return Object.fromEntries(
    Object.keys(limits).map((name) => [
      name,
      Math.max(0, ...each.map(({ type, launch }) => launchAmount(type, launch, name))),
    ]),
  );
}

/** Returns the requirements of a NodeClaim together with its labels. */
export const claimRequirements = remembering(
  ({ spec, metadata }: NodeClaim): Requirements =>
    Requirements.fromRequirements(spec.requirements).intersect(Requirements.fromLabels(metadata.labels)),
);

/**
 * Returns the largest amounts with which a NodeClaim without an instance can count. If its instance types are unknown, it counts
 * as one node with its requests.
 */
export function largestClaimAmounts(
  ceiling: Pick<Ceiling, 'selector' | 'limits'>,
  claim: NodeClaim,
  { types, chargesUsdPerHour }: Pick<Undecided, 'types' | 'chargesUsdPerHour'>,
): Resources {
  const requirements = claimRequirements(claim);
  const least = maySelect(ceiling.selector, requirements)
    ? withNode(readableResources(claim.spec.resources?.requests))
    : {};
  const most = largestAmounts(ceiling, { requirements, types, chargesUsdPerHour });
  return Object.fromEntries(
    Object.keys(ceiling.limits).map((name) => [name, Math.max(amountIn(least, name), amountIn(most, name))]),
  );
}

/** Returns an amount in the unit of metrics: USD, cores, bytes or a number. */
export const ceilingAmount = (name: string, amount: number): number =>
  name === USD ? amount / MICRO : name === 'cpu' ? amount / 1000 : amount;

/** Returns the text of an amount, such as "8", "16Gi" or "$1.5000/h". */
export const ceilingText = (name: string, amount: number): string =>
  name === USD ? `$${(amount / MICRO).toFixed(4)}/h` : (quantityList({ [name]: amount })[name] ?? '0');

/** Returns the amounts of a node with an instance. Unmanaged nodes have no price. */
export function nodeAmounts(
  { limits }: Pick<Ceiling, 'limits'>,
  node: Pick<StateNode, 'labels' | 'nodeClaim' | 'capacity'>,
  { types, chargesUsdPerHour = 0 }: Pick<Undecided, 'types' | 'chargesUsdPerHour'>,
): Resources {
  const capacity = withNode(node.capacity);
  const priceOf = (): number =>
    node.nodeClaim === undefined
      ? 0
      : usdAmount(
          billedNodePrice(node, PricedTypes.of(types).type(node.labels[INSTANCE_TYPE_LABEL] ?? ''), chargesUsdPerHour),
        );
  return Object.fromEntries(
    Object.keys(limits).map((name) => [name, name === USD ? priceOf() : amountIn(capacity, name)]),
  );
}

/** Returns the ceilings with the largest amounts of planned NodeClaims added to their use. */
export const withPlanned = (
  ceilings: readonly Ceiling[],
  claims: readonly PlannedClaim[],
  typesOf: (nodePool: string) => readonly InstanceType[],
): readonly Ceiling[] =>
  ceilings.map((ceiling) => {
    const planned = claims.map(({ nodePool, instanceTypes, requirements, labels, chargesUsdPerHour }) => {
      const names = new Set(instanceTypes);
      const types = typesOf(nodePool).filter(({ name }) => names.has(name));
      const all = Requirements.fromRequirements(requirements).intersect(Requirements.fromLabels(labels));
      return largestAmounts(ceiling, { requirements: all, types, chargesUsdPerHour });
    });
    return { ...ceiling, used: addResources(ceiling.used, ...planned) };
  });

/** Offerings that a NodeClaim could have used, with the reason why each was not chosen. */
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, type NodeClaim, type NodePool, ZONE_LABEL } from '#api/objects';
import { defined } from '#lib';
import { billedUsdPerHour } from '../billed-price.ts';
import { allocatable, requirementsOf, weighedUsdPerHour } from '../instance-types.ts';
import type { InstanceType, Offering } from '../model.ts';
import { templateRequirements } from '../node-template.ts';
import { Requirements } from '../requirements.ts';
import { fits, resourcesOf } from '../resources.ts';
import { spotLimitText } from '../spot-price.ts';
import { requirementText } from './requirement-text.ts';

/** Response of the cloud to the launch of a NodeClaim. */
export interface LaunchAnswer {
  /** Number of instance types in the request. */
  readonly requestedTypes: number;
  readonly capacityType: string;
  /** Instance that was launched. Absent if the launch failed. */
  readonly launched?: { readonly id: string; readonly instanceType: string; readonly zone: string };
  /** Errors of the fleet by offering. */
  readonly errors: readonly { readonly instanceType: string; readonly zone: string; readonly text: string }[];
}

export interface OfferingName {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
}

/** Price of a node with an offering, in USD per hour. */
export interface OfferingPrice {
  /** Price as AWS bills it. */
  readonly usdPerHour: number;
  /** Planning figure that the price excludes: expected cost of interruptions. Absent if it is 0. */
  readonly spotRiskUsdPerHour?: number;
}

export interface Alternative extends OfferingName, OfferingPrice {
  readonly code: 'sold-out' | 'spot-price' | 'not-requested' | 'capacity-type' | 'cloud' | 'price';
  /** Reason why the offering was not chosen. */
  readonly text: string;
}

/** Offerings that the NodeClaim could not use, because of one requirement of its NodePool or of its pods. */
export interface ExcludedOfferings {
  readonly code: 'nodepool' | 'pods';
  readonly text: string;
  /** Number of offerings. */
  readonly offerings: number;
  readonly cheapest: OfferingName & OfferingPrice;
}

export interface Alternatives {
  /** Cheapest offerings within the requirements, cheapest first. */
  readonly alternatives: readonly Alternative[];
  /** Other offerings in groups, the group with the cheapest offering first. */
  readonly excluded: readonly ExcludedOfferings[];
}

export interface AlternativesInput {
  readonly claim: NodeClaim;
  readonly pool: NodePool | undefined;
  readonly types: readonly InstanceType[];
  /** Volumes and public IPv4 address of nodes of the NodePool. */
  readonly chargesUsdPerHour: number;
  readonly answer: LaunchAnswer | undefined;
}

interface Priced extends OfferingName {
  readonly type: InstanceType;
  readonly offering: Offering;
  /** Price of the instance plus spot risk, which determines the order of offerings. */
  readonly weighedUsd: number;
}

const MOST = 10;

/** Returns the offering in which the instance of a NodeClaim runs, as its labels name it. */
export const chosenOffering = ({ metadata: { labels = {} } }: NodeClaim): OfferingName => ({
  instanceType: labels[INSTANCE_TYPE_LABEL] ?? '',
  zone: labels[ZONE_LABEL] ?? '',
  capacityType: labels[CAPACITY_TYPE_LABEL] ?? '',
});

const isSame = (a: OfferingName, b: OfferingName): boolean =>
  a.instanceType === b.instanceType && a.zone === b.zone && a.capacityType === b.capacityType;

function offeringsOf(types: readonly InstanceType[]): readonly Priced[] {
  const all = types.flatMap((type) =>
    type.offerings.map((offering) => {
      const requirements = requirementsOf(offering);
      return {
        type,
        offering,
        instanceType: type.name,
        weighedUsd: weighedUsdPerHour(offering),
        zone: requirements.get(ZONE_LABEL).any(),
        capacityType: requirements.get(CAPACITY_TYPE_LABEL).any(),
      };
    }),
  );
  return all.sort((a, b) => a.weighedUsd - b.weighedUsd || (a.instanceType < b.instanceType ? -1 : 1));
}

/** Returns an offering by its name, or undefined if it is unknown. */
const offeringNamed = (chosen: OfferingName, types: readonly InstanceType[]): Priced | undefined =>
  offeringsOf(types.filter(({ name }) => name === chosen.instanceType)).find((each) => isSame(each, chosen));

const priceWith = ({ usdPerHour, spotRiskUsdPerHour }: Offering, chargesUsdPerHour: number): OfferingPrice => ({
  usdPerHour: billedUsdPerHour({ usdPerHour, chargesUsdPerHour }),
  ...defined({ spotRiskUsdPerHour }),
});

/** Returns the price of a node with the chosen offering, if it is known. */
export function priceOf(
  chosen: OfferingName,
  { types, chargesUsdPerHour }: Pick<AlternativesInput, 'types' | 'chargesUsdPerHour'>,
): OfferingPrice | undefined {
  const found = offeringNamed(chosen, types);
  return found && priceWith(found.offering, chargesUsdPerHour);
}

/** Returns the offerings with enough room for the requests, except for the chosen one. */
export function alternativesOf(input: AlternativesInput): Alternatives {
  const { claim, pool, types, chargesUsdPerHour } = input;
  const requests = resourcesOf(claim.spec.resources?.requests);
  const chosen = chosenOffering(claim);
  const ofPool = pool === undefined ? Requirements.EMPTY : templateRequirements(pool);
  const ofClaim = Requirements.fromRequirements(claim.spec.requirements);
  const ofPods = ofClaim.without(INSTANCE_TYPE_LABEL);
  const roomy = types.filter((type) => fits(requests, allocatable(type)));
  const alternatives: Alternative[] = [];
  const excluded = new Map<string, ExcludedOfferings>();
  for (const each of offeringsOf(roomy)) {
    // offerings without a price are not sold
    if (isSame(each, chosen) || each.weighedUsd <= 0) continue;
    const { instanceType, zone, capacityType, offering } = each;
    const named = { instanceType, zone, capacityType, ...priceWith(offering, chargesUsdPerHour) };
    const exclusion = exclusionOf(each, { ofPool, ofPods });
    if (exclusion !== undefined) {
      const { offerings = 0, cheapest = named } = excluded.get(exclusion.text) ?? {};
      excluded.set(exclusion.text, { ...exclusion, offerings: offerings + 1, cheapest });
    } else if (alternatives.length < MOST)
      alternatives.push({ ...named, ...reasonFor(each, { ...input, chosen, ofClaim }) });
  }
  return { alternatives, excluded: [...excluded.values()].slice(0, MOST) };
}

/** Returns the first label that excludes an offering. */
function excluding(requirements: Requirements, { type, offering }: Priced): string | undefined {
  const [ofType, ofOffering] = [requirementsOf(type), requirementsOf(offering)];
  for (const [key, set] of requirements.entries()) {
    const own = ofOffering.has(key) ? ofOffering : ofType;
    if (own.has(key) && !own.get(key).intersects(set) && !(own.get(key).allowsAbsence && set.allowsAbsence)) return key;
  }
  return undefined;
}

function exclusionOf(
  each: Priced,
  { ofPool, ofPods }: { readonly ofPool: Requirements; readonly ofPods: Requirements },
): Pick<ExcludedOfferings, 'code' | 'text'> | undefined {
  const poolKey = excluding(ofPool, each);
  if (poolKey !== undefined)
    return { code: 'nodepool', text: `the NodePool allows ${requirementText(poolKey, ofPool.get(poolKey))}` };
  const podKey = excluding(ofPods, each);
  if (podKey === undefined) return undefined;
  return { code: 'pods', text: `the pods require ${requirementText(podKey, ofPods.get(podKey))}` };
}

function reasonFor(
  each: Priced,
  {
    chosen,
    ofClaim,
    answer,
    types,
  }: Pick<AlternativesInput, 'answer' | 'types'> & {
    readonly chosen: OfferingName;
    readonly ofClaim: Requirements;
  },
): Pick<Alternative, 'code' | 'text'> {
  const error = answer?.errors.find(
    ({ instanceType, zone }) => instanceType === each.instanceType && zone === each.zone,
  );
  if (error !== undefined && answer?.capacityType === each.capacityType)
    return { code: 'cloud', text: `EC2 answered ${error.text}` };
  const { spotLimit, usdPerHour } = each.offering;
  if (spotLimit !== undefined) return { code: 'spot-price', text: spotLimitText(usdPerHour, spotLimit) };
  if (!each.offering.available)
    return { code: 'sold-out', text: 'the offering is out of capacity or not available now' };
  if (excluding(ofClaim, each) !== undefined)
    return { code: 'not-requested', text: 'the type was not among the types of the NodeClaim when it was created' };
  if (each.capacityType !== chosen.capacityType)
    return { code: 'capacity-type', text: `the launch requested ${chosen.capacityType} capacity` };
  const chosenUsd = offeringNamed(chosen, types)?.weighedUsd ?? 0;
  if (each.weighedUsd >= chosenUsd) return { code: 'price', text: 'the offering does not cost less' };
  return {
    code: 'cloud',
    text:
      each.capacityType === 'spot'
        ? 'the request contained the offering; EC2 chose a spot pool with more capacity'
        : 'the request contained the offering; EC2 chose another one',
  };
}

/** Returns the reason for the capacity type of a NodeClaim. */
export function capacityTypeText({ claim, pool, types, chargesUsdPerHour, answer }: AlternativesInput): string {
  const { capacityType } = chosenOffering(claim);
  const allowed = Requirements.fromRequirements(claim.spec.requirements).get(CAPACITY_TYPE_LABEL);
  const ofPool = pool === undefined ? allowed : templateRequirements(pool).get(CAPACITY_TYPE_LABEL);
  const others = ['reserved', 'spot', 'on-demand'].filter((each) => each !== capacityType);
  if (!others.some((each) => ofPool.has(each)))
    return `${capacityType}, because the NodePool allows only ${capacityType}`;
  const soldOut = answer?.capacityType === capacityType ? '' : '; the preferred capacity type was not available';
  if (!others.some((each) => allowed.has(each)))
    return `${capacityType}, because only ${capacityType} offerings matched the pods when the NodeClaim was created`;
  const cheapest = (each: string): number => {
    const named = offeringsOf(types).filter((one) => one.capacityType === each && allowsType(claim, one));
    const found = named.find(({ offering }) => offering.available);
    return found ? priceWith(found.offering, chargesUsdPerHour).usdPerHour : Number.POSITIVE_INFINITY;
  };
  const prices = ['spot', 'on-demand']
    .filter((each) => allowed.has(each) && Number.isFinite(cheapest(each)))
    .map((each) => `${each} from $${cheapest(each).toFixed(4)}/h`);
  const order =
    capacityType === 'on-demand'
      ? `no spot or reserved offering could be launched${soldOut}`
      : `it is launched before ${others.filter((each) => allowed.has(each) && each !== 'reserved').join(' and ')}`;
  return `${capacityType}, because ${order}${prices.length === 0 ? '' : ` (now: ${prices.join(', ')})`}`;
}

const allowsType = ({ spec }: NodeClaim, each: Priced): boolean =>
  excluding(Requirements.fromRequirements(spec.requirements), each) === undefined;

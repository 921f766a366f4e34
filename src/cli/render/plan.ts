/** Plan in the public format of `karpenter simulate -o json`. */
import { INSTANCE_TYPE_LABEL } from '../../api/labels.ts';
import type { Cause } from '../../engine/causes/cause.ts';
import { compareText } from '../../engine/instance-types.ts';
import type { Plan, PlannedClaim, PodRefusal, Requirement } from '../../engine/model.ts';
import { quantityList } from '../../engine/resources.ts';

export interface SimulatedClaim {
  readonly nodePool: string;
  readonly pods: readonly string[];
  readonly instanceTypes: readonly string[];
  readonly requirements: readonly Requirement[];
  readonly requests: Readonly<Record<string, string>>;
  readonly cheapest: string;
  /** List price in USD per hour. */
  readonly price: number;
  /** Increase of the bill according to the price book. */
  readonly effectivePrice?: number;
  /**
   * Expected cost of interruptions in USD per hour. It affects the choice but is not billed. Undefined if it is zero.
   */
  readonly spotRisk?: number;
  /** Expected price of surplus CPU credits for the requests, in USD per hour. Absent if there is none. */
  readonly surplusCredits?: number;
}

export interface SimulationAnswer {
  readonly nodeClaims: readonly SimulatedClaim[];
  readonly existingNodes: readonly { readonly name: string; readonly pods: readonly string[] }[];
  readonly unschedulable: Readonly<Record<string, string>>;
  /** Cause in the NodePool that the pod is meant for. Undefined if no pod has one. */
  readonly causes?: Readonly<Record<string, Cause>>;
  /** List price of all new claims in USD per hour. */
  readonly totalPrice: number;
  /** Increase of the bill according to the price book. Undefined if it equals the total price. */
  readonly effectivePrice?: number;
  readonly explanations?: Readonly<Record<string, PodRefusal>>;
  /** Unknown facts that affect the result. Undefined if the list is empty. */
  readonly unknown?: readonly string[];
}

const inOrder = (names: readonly string[]): readonly string[] => [...names].sort(compareText);

/** Rounds a sum of list prices. Further digits are rounding errors. */
const rounded = (usd: number): number => Number(usd.toFixed(6));

/** Returns the requirements without instance types, because a separate list contains them. */
const requirementsToShow = ({ requirements, instanceTypes }: PlannedClaim): readonly Requirement[] =>
  requirements.filter(({ key, values = [] }) => key !== INSTANCE_TYPE_LABEL || values.length < instanceTypes.length);

function claimOf(claim: PlannedClaim): SimulatedClaim {
  const { nodePool, pods, instanceTypes, requests, cheapest } = claim;
  return {
    nodePool,
    pods: inOrder(pods),
    instanceTypes,
    requirements: requirementsToShow(claim),
    requests: quantityList(requests),
    cheapest,
    price: listPriceOf(claim),
    ...(effectivePriceOf(claim) === listPriceOf(claim) ? {} : { effectivePrice: rounded(effectivePriceOf(claim)) }),
    ...(claim.spotRiskUsdPerHour === undefined ? {} : { spotRisk: rounded(claim.spotRiskUsdPerHour) }),
    ...(claim.surplusUsdPerHour === undefined ? {} : { surplusCredits: rounded(claim.surplusUsdPerHour) }),
  };
}

const listPriceOf = ({ usdPerHour, listUsdPerHour = usdPerHour }: PlannedClaim): number => listUsdPerHour;

const effectivePriceOf = ({ usdPerHour, coveredUsdPerHour = 0 }: PlannedClaim): number =>
  usdPerHour - coveredUsdPerHour;

const sumOf = (claims: readonly PlannedClaim[], priceOf: (claim: PlannedClaim) => number): number =>
  rounded(claims.reduce((sum, claim) => sum + priceOf(claim), 0));

/** Converts a plan. `explain` adds the structured reason for each pod and NodePool. */
export function simulationOf(
  plan: Plan,
  options: { readonly explain: boolean; readonly unknown: readonly string[] },
): SimulationAnswer {
  const [totalPrice, effectivePrice] = [listPriceOf, effectivePriceOf].map((priceOf) =>
    sumOf(plan.claims, priceOf),
  ) as [number, number];
  const refused = [...plan.refusals].sort(([a], [b]) => compareText(a, b));
  const causes = refused.flatMap(([pod, refusal]) =>
    refusal.code === 'no-fit' && refusal.cause !== undefined ? [[pod, refusal.cause] as const] : [],
  );
  return {
    nodeClaims: plan.claims.map(claimOf),
    existingNodes: plan.placements.map(({ node, pods }) => ({ name: node, pods: inOrder(pods) })),
    unschedulable: Object.fromEntries(refused.map(([pod, { text }]) => [pod, text])),
    ...(causes.length === 0 ? {} : { causes: Object.fromEntries(causes) }),
    totalPrice,
    ...(effectivePrice === totalPrice ? {} : { effectivePrice }),
    ...(options.explain ? { explanations: Object.fromEntries(refused) } : {}),
    ...(options.unknown.length === 0 ? {} : { unknown: options.unknown }),
  };
}

/** A plan in the form of `karpenter simulate -o json`, which is public. */
import { INSTANCE_TYPE_LABEL } from '../../api/labels.ts';
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
  /** USD per hour: AWS's list price. */
  readonly price: number;
  /** What it adds to the bill instead, by the price book. */
  readonly effectivePrice?: number;
  /** USD per hour that interruptions of it are expected to cost, which counts in choosing and is not paid; absent when nothing. */
  readonly spotRisk?: number;
  /** Expected price of surplus CPU credits for the requests, in USD per hour. Absent if there is none. */
  readonly surplusCredits?: number;
}

export interface SimulationAnswer {
  readonly nodeClaims: readonly SimulatedClaim[];
  readonly existingNodes: readonly { readonly name: string; readonly pods: readonly string[] }[];
  readonly unschedulable: Readonly<Record<string, string>>;
  /** USD per hour of all new claims, by AWS's list prices. */
  readonly totalPrice: number;
  /** What they add to the bill, by the price book; absent where that is the same. */
  readonly effectivePrice?: number;
  readonly explanations?: Readonly<Record<string, PodRefusal>>;
  /** What the answer depends on and cannot be known from manifests; absent when that is nothing. */
  readonly unknown?: readonly string[];
}

const inOrder = (names: readonly string[]): readonly string[] => [...names].sort(compareText);

/** Prices are sums of list prices: more digits than this are noise of the addition. */
const rounded = (usd: number): number => Number(usd.toFixed(6));

/** Names of instance types stand in a list of their own already. */
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

/** What `--explain` adds is the structured reason per pod and NodePool. */
export function simulationOf(
  plan: Plan,
  options: { readonly explain: boolean; readonly unknown: readonly string[] },
): SimulationAnswer {
  const [totalPrice, effectivePrice] = [listPriceOf, effectivePriceOf].map((priceOf) =>
    sumOf(plan.claims, priceOf),
  ) as [number, number];
  const refused = [...plan.refusals].sort(([a], [b]) => compareText(a, b));
  return {
    nodeClaims: plan.claims.map(claimOf),
    existingNodes: plan.placements.map(({ node, pods }) => ({ name: node, pods: inOrder(pods) })),
    unschedulable: Object.fromEntries(refused.map(([pod, { text }]) => [pod, text])),
    totalPrice,
    ...(effectivePrice === totalPrice ? {} : { effectivePrice }),
    ...(options.explain ? { explanations: Object.fromEntries(refused) } : {}),
    ...(options.unknown.length === 0 ? {} : { unknown: options.unknown }),
  };
}

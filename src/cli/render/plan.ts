/** Plan in the public format of `karpenter simulate -o json`. */
import { INSTANCE_TYPE_LABEL } from '#api/objects';
import { billedUsdPerHour } from '#engine/costs';
import { type Cause, type PoolSpot, poolSpots, type WaitingPod, waitingText, zonesText } from '#engine/explanations';
import {
  compareText,
  type Plan,
  type PlannedClaim,
  type PodRefusal,
  type PoolInput,
  type PreferenceDecision,
  podKey,
  quantityList,
  type Requirement,
  type SpotRule,
} from '#engine/model';
import type { ChangeEffect } from '#engine/what-if';
import { defined } from '#lib';

export interface SimulatedClaim {
  readonly nodePool: string;
  readonly pods: readonly string[];
  readonly instanceTypes: readonly string[];
  readonly requirements: readonly Requirement[];
  readonly requests: Readonly<Record<string, string>>;
  readonly cheapest: string;
  /** Price of the cheapest offering at list prices, in USD per hour. */
  readonly price: number;
  /** Price of the node as AWS bills it, in USD per hour: the instance according to the price book, volumes and address. */
  readonly billedPrice: number;
  readonly planning?: PlanningFigures;
}

/** Planning figures in USD per hour, which decisions add to the price. Figures of 0 are absent. */
export interface PlanningFigures {
  /** Fee of the node, which AWS does not bill. */
  readonly fee?: number;
  /** Expected cost of interruptions. */
  readonly spotRisk?: number;
  /** Expected price of surplus CPU credits for the requests. */
  readonly surplusCredits?: number;
}

export interface SimulationAnswer {
  readonly nodeClaims: readonly SimulatedClaim[];
  readonly existingNodes: readonly { readonly name: string; readonly pods: readonly string[] }[];
  readonly unschedulable: Readonly<Record<string, string>>;
  /** Pending pods that wait, with the reason. Undefined if no pod waits. */
  readonly waiting?: Readonly<Record<string, string>>;
  /** Cause in the NodePool that the pod is meant for. Undefined if no pod has one. */
  readonly causes?: Readonly<Record<string, Cause>>;
  /** Zones that the balance of zones chose, with the extra price. Undefined if it chose no zone. */
  readonly zones?: string;
  /** Decisions on preferences with a price. Undefined without such preferences. */
  readonly preferences?: readonly PreferenceDecision[];
  /** Use of spot capacity by NodePools with a policy. Undefined without such a policy. */
  readonly spot?: readonly PoolSpot[];
  /** Rules for spot in force. */
  readonly spotRules?: readonly SpotRule[];
  /** Sum of the prices of offerings at list prices, in USD per hour. */
  readonly totalPrice: number;
  /** Sum of the billed prices, in USD per hour. */
  readonly totalBilledPrice: number;
  readonly explanations?: Readonly<Record<string, PodRefusal>>;
  /** Difference to the manifests without the changes of `--what-if`. Undefined without changes. */
  readonly effect?: ChangeEffect;
  /** Unknown facts that affect the result. Undefined if the list is empty. */
  readonly unknown?: readonly string[];
}

const inOrder = (names: readonly string[]): readonly string[] => [...names].sort(compareText);

/** Rounds a sum of prices. Further digits are rounding errors. */
export const rounded = (usd: number): number => Number(usd.toFixed(6));

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
    billedPrice: rounded(billedUsdPerHour(claim)),
    ...planningOf(claim),
  };
}

/** Returns the planning figures of a claim, or no field if all are 0. */
export function planningOf({
  extrasUsdPerHour = 0,
  chargesUsdPerHour = 0,
  spotRiskUsdPerHour = 0,
  surplusUsdPerHour = 0,
}: PlannedClaim): { readonly planning?: PlanningFigures } {
  const figures = {
    fee: Math.max(0, extrasUsdPerHour - chargesUsdPerHour),
    spotRisk: spotRiskUsdPerHour,
    surplusCredits: surplusUsdPerHour,
  };
  const shown = Object.entries(figures).flatMap(([name, usd]) => (rounded(usd) > 0 ? [[name, rounded(usd)]] : []));
  return shown.length === 0 ? {} : { planning: Object.fromEntries(shown) };
}

const listPriceOf = ({ usdPerHour, listUsdPerHour = usdPerHour }: PlannedClaim): number => listUsdPerHour;

const sumOf = (claims: readonly PlannedClaim[], priceOf: (claim: PlannedClaim) => number): number =>
  rounded(claims.reduce((sum, claim) => sum + priceOf(claim), 0));

const waitingIn = (waiting: readonly WaitingPod[]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    waiting.map((each) => [podKey(each.pod), waitingText(each)] as const).sort(([a], [b]) => compareText(a, b)),
  );

const roundDecision = ({ addedUsdPerHour, worthUsdPerHour, ...decision }: PreferenceDecision): PreferenceDecision => ({
  ...decision,
  ...(addedUsdPerHour !== undefined && { addedUsdPerHour: rounded(addedUsdPerHour) }),
  ...(worthUsdPerHour !== undefined && { worthUsdPerHour: rounded(worthUsdPerHour) }),
});

/** Converts a plan. `explain` adds the structured reason for each pod and NodePool. */
export function simulationOf(
  plan: Plan,
  options: {
    readonly explain: boolean;
    readonly unknown: readonly string[];
    readonly waiting: readonly WaitingPod[];
    readonly pools: readonly PoolInput[];
  },
): SimulationAnswer {
  const refused = [...plan.refusals].sort(([a], [b]) => compareText(a, b));
  const causes = refused.flatMap(([pod, refusal]) =>
    refusal.code === 'no-fit' && refusal.cause !== undefined ? [[pod, refusal.cause] as const] : [],
  );
  const zones = zonesText(plan.claims);
  const spot = poolSpots(options.pools);
  const { groups = [], omitted } = plan.preferences ?? {};
  const unknown = [...options.unknown, ...(omitted === undefined ? [] : [omitted])];
  return {
    nodeClaims: plan.claims.map(claimOf),
    existingNodes: plan.placements.map(({ node, pods }) => ({ name: node, pods: inOrder(pods) })),
    unschedulable: Object.fromEntries(refused.map(([pod, { text }]) => [pod, text])),
    ...(options.waiting.length === 0 ? {} : { waiting: waitingIn(options.waiting) }),
    ...(causes.length === 0 ? {} : { causes: Object.fromEntries(causes) }),
    ...(zones !== undefined && { zones }),
    ...(groups.length > 0 && { preferences: groups.map(roundDecision) }),
    ...(spot.length > 0 && { spot }),
    ...defined({ spotRules: plan.spot }),
    totalPrice: sumOf(plan.claims, listPriceOf),
    totalBilledPrice: sumOf(plan.claims, billedUsdPerHour),
    ...(options.explain ? { explanations: Object.fromEntries(refused) } : {}),
    ...(unknown.length === 0 ? {} : { unknown }),
  };
}

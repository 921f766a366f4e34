/** Efficiency of a cluster in a public format. */
import { CAPACITY_TYPE_LABEL, NODEPOOL_LABEL } from '#api/objects';
import {
  billedPriceOf,
  type EfficiencyDimension,
  type EfficiencyGroup,
  efficiencyGroups,
  HOURS_PER_MONTH,
  idleShare,
  rightRequests,
} from '#engine/costs';
import type { StateNode } from '#engine/model';
import type { ClusterTotals } from '#engine/what-if';
import { defined, own, timestamp } from '#lib';
import type { UseReport } from '#live/view';
import type { PricedNodes } from '../cost/now.ts';
import type { Manifest } from '../objects/read.ts';
import { type ManifestSolveOptions, solveManifests, totalsAfter } from '../solve-manifests.ts';
import { repackManifests } from './repack.ts';

/** Cluster that the planner would launch for the present pods. */
interface PlannedCluster {
  readonly nodes: number;
  readonly usdPerMonth: number;
  /** Pods without a place. */
  readonly unschedulable: number;
}

export interface Efficiency {
  /** RFC 3339. */
  readonly at: string;
  /** Source of the use, with its period. */
  readonly source: string;
  readonly by: EfficiencyDimension;
  readonly label?: string;
  /** CPU in thousandths of a CPU, memory in bytes. Highest idle cost first. */
  readonly groups: readonly EfficiencyGroup[];
  readonly now: {
    readonly nodes: number;
    readonly usdPerMonth: number;
    /** Part that no pod requests. */
    readonly unrequestedUsdPerMonth: number;
    /** Part that pods request and do not use. */
    readonly unusedUsdPerMonth: number;
    /** Part of the price of instances that commitments cover, which the cost does not contain. */
    readonly coveredUsdPerMonth: number;
    /** Part of the cost for spot nodes, from 0 to 1. */
    readonly spotShare: number;
    /** Nodes without NodePool. They are part of the cost. */
    readonly otherNodes: { readonly nodes: number; readonly usdPerMonth: number };
    /** Nodes with an unknown price, which do not contribute to the cost. */
    readonly unpriced: number;
  };
  /** Packed anew with the present requests. */
  readonly repacked: PlannedCluster;
  /** Packed anew with the requests that fit to the use. */
  readonly withRightRequests: PlannedCluster;
  readonly unknown?: readonly string[];
}

export interface EfficiencyInput {
  readonly manifests: readonly Manifest[];
  readonly priced: PricedNodes;
  readonly use: UseReport;
  readonly by: EfficiencyDimension;
  readonly label?: string | undefined;
  readonly options: ManifestSolveOptions & { readonly nowMs: number };
}

/** @throws InputError with the document and the field */
export async function efficiencyOf({
  manifests,
  priced,
  use,
  by,
  label,
  options,
}: EfficiencyInput): Promise<Efficiency> {
  const { nodes, prices, unknown } = priced;
  const right = rightRequests(
    nodes.flatMap(({ pods }) => pods),
    use.uses,
  );
  const groups = efficiencyGroups({ nodes, prices, uses: use.uses, right, by, label });
  const planned = async (requests?: typeof right): Promise<PlannedCluster> =>
    plannedCluster(totalsAfter(await solveManifests(repackManifests(manifests, requests), options)));
  return {
    at: timestamp(options.nowMs),
    source: use.source,
    by,
    ...defined({ label }),
    groups,
    now: { ...costNow(priced), unusedUsdPerMonth: cents(sum(groups.map(({ idleUsdPerMonth }) => idleUsdPerMonth))) },
    repacked: await planned(),
    withRightRequests: await planned(right),
    ...(unknown.length > 0 && { unknown }),
  };
}

const plannedCluster = ({ nodes, usdPerHour, unschedulable }: ClusterTotals): PlannedCluster => ({
  nodes,
  usdPerMonth: perMonth(usdPerHour),
  unschedulable,
});

const sum = (amounts: readonly number[]): number => amounts.reduce((total, each) => total + each, 0);
const cents = (usd: number): number => Number(usd.toFixed(2));
const perMonth = (usdPerHour: number): number => cents(usdPerHour * HOURS_PER_MONTH);

function costNow({ nodes, prices }: PricedNodes): Omit<Efficiency['now'], 'unusedUsdPerMonth'> {
  const usdOf = ({ providerId }: StateNode): number => {
    const price = prices.get(providerId);
    return price === undefined ? 0 : billedPriceOf(price);
  };
  const usdIn = (members: readonly StateNode[]): number => sum(members.map(usdOf));
  const others = nodes.filter(({ labels }) => own(labels, NODEPOOL_LABEL) === undefined);
  const spot = nodes.filter(({ labels }) => own(labels, CAPACITY_TYPE_LABEL) === 'spot');
  const all = usdIn(nodes);
  const covered = [...prices.values()].map(({ usdPerHour, coveredUsdPerHour = 0 }) =>
    Math.min(usdPerHour, coveredUsdPerHour),
  );
  return {
    nodes: nodes.length,
    usdPerMonth: perMonth(all),
    unrequestedUsdPerMonth: perMonth(sum(nodes.map((node) => usdOf(node) * idleShare(node)))),
    coveredUsdPerMonth: perMonth(sum(covered)),
    spotShare: all > 0 ? Number((usdIn(spot) / all).toFixed(3)) : 0,
    otherNodes: { nodes: others.length, usdPerMonth: perMonth(usdIn(others)) },
    unpriced: nodes.filter(({ providerId }) => !prices.has(providerId)).length,
  };
}

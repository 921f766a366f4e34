/** Computes current costs, grouped by one dimension. */

import {
  CostAccount,
  type CostDimension,
  type CostGroup,
  type CostReport,
  type CostSums,
  HOURS_PER_MONTH,
  type NodePrice,
  nodePrices,
} from '#engine/costs';
import type { StateNode } from '#engine/model';
import type { Manifest } from '../objects/read.ts';
import { worldOf } from '../objects/snapshot.ts';
import type { TypesFor } from '../scenario.ts';

/** Dimensions by the name that `--by` uses. */
export const DIMENSIONS = {
  nodepool: 'nodePool',
  zone: 'zone',
  'capacity-type': 'capacityType',
  'instance-type': 'instanceType',
  namespace: 'namespace',
  workload: 'workload',
} as const satisfies Readonly<Record<string, CostDimension>>;

export type By = keyof typeof DIMENSIONS;

/** Current costs in a public format. */
export interface CostNow extends Omit<CostReport, 'groups' | 'nodes' | 'total'> {
  readonly by: By;
  readonly total: CostSums & Monthly;
  /** Groups, highest cost first. */
  readonly groups: readonly (CostGroup & Monthly)[];
  /** Unknown facts that affect the amounts. Undefined if the list is empty. */
  readonly unknown?: readonly string[];
}

interface Monthly {
  /** Cost of 730 hours at the current rate. */
  readonly usdPerMonth: number;
}

/** Adds the monthly cost, rounded to cents because it is a forecast. */
const monthly = <T extends CostSums>(sums: T): T & Monthly => ({
  ...sums,
  usdPerMonth: Number((sums.usdPerHour * HOURS_PER_MONTH).toFixed(2)),
});

export const costNow = (
  { at, total, price, planning, groups, unpriced, otherNodes }: CostReport,
  by: By,
  unknown: readonly string[] = [],
): CostNow => ({
  at,
  by,
  total: monthly(total),
  groups: groups[DIMENSIONS[by]].map(monthly),
  price,
  planning,
  unpriced,
  otherNodes,
  ...(unknown.length === 0 ? {} : { unknown }),
});

/** Note about amounts that manifests do not contain but an operator would include. */
const NO_BOOK = "discounts and commitments in the operator's price book; --price-book includes them";

interface CountingOptions {
  readonly types: TypesFor;
  readonly nowMs: number;
  readonly nodeHourlyFee?: number | undefined;
  /** Price book file. */
  readonly priceBook?: string | undefined;
}

/** Nodes of manifests with their prices. */
export interface PricedNodes {
  readonly nodes: readonly StateNode[];
  /** By provider id. */
  readonly prices: ReadonlyMap<string, NodePrice>;
  readonly notes: readonly string[];
  readonly unknown: readonly string[];
}

/** @throws InputError with the document and the field */
export async function pricedNodes(
  manifests: readonly Manifest[],
  { types, nowMs, nodeHourlyFee, priceBook }: CountingOptions,
): Promise<PricedNodes> {
  const world = await worldOf(manifests, {
    instanceTypes: await types(manifests, nowMs),
    nowMs,
    priceBook,
    settings: { nodeHourlyFee },
  });
  const { nodes, notes } = world;
  return {
    nodes,
    prices: nodePrices(nodes, world.allPools, world.snapshot.commitments),
    notes,
    unknown: [...world.unknown, ...(priceBook === undefined ? [NO_BOOK] : [])],
  };
}

/** Returns the report on nodes of NodePools. */
export function costOfNodes({ nodes, prices }: Pick<PricedNodes, 'nodes' | 'prices'>, nowMs: number): CostReport {
  const account = new CostAccount();
  for (const node of nodes) account.add(node, prices.get(node.providerId));
  return account.report(nowMs);
}

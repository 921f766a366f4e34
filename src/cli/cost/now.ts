/** What is spent now, by one dimension. */
import { CostAccount } from '../../engine/cost/account.ts';
import { nodePrices } from '../../engine/cost/node-prices.ts';
import type { CostDimension, CostGroup, CostReport, CostSums } from '../../engine/cost/report.ts';
import type { Manifest } from '../objects/read.ts';
import { worldOf } from '../objects/snapshot.ts';
import { countedFee, type TypesFor } from '../scenario.ts';

/** Hours of a month, as AWS's calculator has them. */
const HOURS_PER_MONTH = 730;

/** As `--by` names them. */
export const DIMENSIONS = {
  nodepool: 'nodePool',
  zone: 'zone',
  'capacity-type': 'capacityType',
  'instance-type': 'instanceType',
  namespace: 'namespace',
  workload: 'workload',
} as const satisfies Readonly<Record<string, CostDimension>>;

export type By = keyof typeof DIMENSIONS;

/** Of public form. */
export interface CostNow extends Omit<CostReport, 'groups' | 'nodes' | 'total'> {
  readonly by: By;
  readonly total: CostSums & Monthly;
  /** Dearest first. */
  readonly groups: readonly (CostGroup & Monthly)[];
  /** What the amounts depend on and cannot be known here; absent when that is nothing. */
  readonly unknown?: readonly string[];
}

interface Monthly {
  /** At this rate, for 730 hours. */
  readonly usdPerMonth: number;
}

/** To the cent: what is more exact is no forecast. */
const monthly = <T extends CostSums>(sums: T): T & Monthly => ({
  ...sums,
  usdPerMonth: Number((sums.usdPerHour * HOURS_PER_MONTH).toFixed(2)),
});

export const costNow = (
  { at, total, price, groups, unpriced, otherNodes }: CostReport,
  by: By,
  unknown: readonly string[] = [],
): CostNow => ({
  at,
  by,
  total: monthly(total),
  groups: groups[DIMENSIONS[by]].map(monthly),
  price,
  unpriced,
  otherNodes,
  ...(unknown.length === 0 ? {} : { unknown }),
});

/** What manifests never say of what an operator would count. */
const NO_BOOK = "discounts and commitments of the operator's price book: they count nothing here without --price-book";

interface CountingOptions {
  readonly types: TypesFor;
  readonly nowMs: number;
  readonly nodeHourlyFee?: number | undefined;
  /** A file. */
  readonly priceBook?: string | undefined;
}

/** @throws InputError that names the document and the field */
export async function costOfManifests(
  manifests: readonly Manifest[],
  { types, nowMs, nodeHourlyFee, priceBook }: CountingOptions,
): Promise<{ readonly report: CostReport } & Readonly<Record<'notes' | 'unknown', readonly string[]>>> {
  const world = await worldOf(manifests, {
    instanceTypes: await types(manifests, nowMs),
    nowMs,
    priceBook,
    ...countedFee(undefined, nodeHourlyFee),
  });
  const account = new CostAccount();
  const { nodes } = world.snapshot;
  const prices = nodePrices(nodes, world.allPools, world.snapshot.commitments);
  for (const node of nodes) account.add(node, prices.get(node.providerId));
  return {
    report: account.report(nowMs),
    notes: world.notes,
    unknown: [...world.unknown, ...(priceBook === undefined ? [NO_BOOK] : [])],
  };
}

/** Renders the cost of nodes in columns of the FinOps Open Cost and Usage Specification (FOCUS 1.0), as CSV. */
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, NODEPOOL_LABEL, ZONE_LABEL } from '#api/objects';
import type { NodePrice } from '#engine/costs';
import type { StateNode } from '#engine/model';
import { own, timeOf, timestamp } from '#lib';
import { hoursIn } from '#observe/history';
import type { HistoryView } from '#process/server';

const REGION_LABEL = 'topology.kubernetes.io/region';
const HOUR_MS = 3_600_000;
const EC2 = 'Amazon Elastic Compute Cloud';

/** Columns in the order of the specification. Empty cells are null values. */
export const FOCUS_COLUMNS = [
  'AvailabilityZone',
  'BilledCost',
  'BillingAccountId',
  'BillingAccountName',
  'BillingCurrency',
  'BillingPeriodEnd',
  'BillingPeriodStart',
  'ChargeCategory',
  'ChargeClass',
  'ChargeDescription',
  'ChargeFrequency',
  'ChargePeriodEnd',
  'ChargePeriodStart',
  'CommitmentDiscountCategory',
  'CommitmentDiscountId',
  'CommitmentDiscountName',
  'CommitmentDiscountStatus',
  'CommitmentDiscountType',
  'ConsumedQuantity',
  'ConsumedUnit',
  'ContractedCost',
  'ContractedUnitPrice',
  'EffectiveCost',
  'InvoiceIssuerName',
  'ListCost',
  'ListUnitPrice',
  'PricingCategory',
  'PricingQuantity',
  'PricingUnit',
  'ProviderName',
  'PublisherName',
  'RegionId',
  'RegionName',
  'ResourceId',
  'ResourceName',
  'ResourceType',
  'ServiceCategory',
  'ServiceName',
  'SkuId',
  'SkuPriceId',
  'SubAccountId',
  'SubAccountName',
  'Tags',
] as const;

type FocusRow = Readonly<Partial<Record<(typeof FOCUS_COLUMNS)[number], string | number>>>;

interface Charge {
  readonly what: string;
  readonly service: string;
  readonly serviceCategory: string;
  readonly billed: number;
  readonly list: number;
  readonly category: 'Standard' | 'Dynamic' | 'Committed';
}

/** Returns rows for one hour from the start of the present hour, at the present prices. */
export function focusRows(
  nodes: readonly StateNode[],
  prices: ReadonlyMap<string, NodePrice>,
  nowMs: number,
): readonly FocusRow[] {
  const periods = periodsAt(nowMs);
  return nodes.flatMap((node) => {
    const price = prices.get(node.providerId);
    if (price === undefined) return [];
    return chargesOf(node, price).map((charge) => ({ ...periods, ...columnsOf(node, charge) }));
  });
}

/** Returns a row for each NodePool and hour of a history. Time without samples does not contribute. */
export function focusHistoryRows({ hours }: Pick<HistoryView, 'hours'>): readonly FocusRow[] {
  return hours.flatMap(({ at, samples, nodePools }) => {
    const observed = hoursIn(samples);
    return Object.entries(nodePools).map(([nodePool, { effective, list }]) => ({
      ...periodsAt(timeOf(at)),
      ...billedColumns(effective * observed, list * observed),
      ChargeDescription: `nodes of NodePool ${nodePool}: observed for ${money(observed)} hours`,
      ResourceName: nodePool,
      ResourceType: 'NodePool',
      ServiceCategory: 'Compute',
      ServiceName: EC2,
      Tags: JSON.stringify({ [NODEPOOL_LABEL]: nodePool }),
    }));
  });
}

/** Columns of a charge that AWS bills by use. */
const billedColumns = (billed: number, list: number): FocusRow => ({
  BilledCost: money(billed),
  BillingCurrency: 'USD',
  ChargeCategory: 'Usage',
  ChargeFrequency: 'Usage-Based',
  ContractedCost: money(billed),
  EffectiveCost: money(billed),
  InvoiceIssuerName: 'Amazon Web Services',
  ListCost: money(list),
  ProviderName: 'AWS',
  PublisherName: 'Amazon Web Services',
});

function periodsAt(nowMs: number): FocusRow {
  const startMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS;
  const start = new Date(startMs);
  const [year, month] = [start.getUTCFullYear(), start.getUTCMonth()];
  return {
    ChargePeriodStart: timestamp(startMs),
    ChargePeriodEnd: timestamp(startMs + HOUR_MS),
    BillingPeriodStart: timestamp(Date.UTC(year, month, 1)),
    BillingPeriodEnd: timestamp(Date.UTC(year, month + 1, 1)),
  };
}

function chargesOf(node: StateNode, price: NodePrice): readonly Charge[] {
  const { usdPerHour, listUsdPerHour = usdPerHour, coveredUsdPerHour = 0, extras } = price;
  const covered = Math.min(usdPerHour, coveredUsdPerHour);
  const part = usdPerHour > 0 ? covered / usdPerHour : 0;
  const instance = { what: 'instance', service: EC2, serviceCategory: 'Compute' };
  const isSpot = own(node.labels, CAPACITY_TYPE_LABEL) === 'spot';
  const charge = (what: string, service: string, serviceCategory: string, usd = 0): Charge => ({
    what,
    service,
    serviceCategory,
    billed: usd,
    list: usd,
    category: 'Standard',
  });
  return [
    {
      ...instance,
      billed: usdPerHour - covered,
      list: listUsdPerHour * (1 - part),
      category: isSpot ? ('Dynamic' as const) : ('Standard' as const),
    },
    { ...instance, billed: 0, list: listUsdPerHour * part, category: 'Committed' as const },
    charge('volumes', 'Amazon Elastic Block Store', 'Storage', extras?.volumesUsdPerHour),
    charge('public IPv4 address', 'Amazon Virtual Private Cloud', 'Networking', extras?.publicIpv4UsdPerHour),
  ].filter(({ billed, list }) => billed > 0 || list > 0);
}

function columnsOf(node: StateNode, { what, service, serviceCategory, billed, list, category }: Charge): FocusRow {
  const label = (key: string): string => own(node.labels, key) ?? '';
  const zone = label(ZONE_LABEL);
  const region = label(REGION_LABEL) || /^(.+\d)[a-z]$/.exec(zone)?.[1] || '';
  const type = label(INSTANCE_TYPE_LABEL);
  const isCommitted = category === 'Committed';
  return {
    AvailabilityZone: zone,
    ...billedColumns(billed, list),
    ChargeDescription: `${type} ${label(CAPACITY_TYPE_LABEL)}, ${what}: one hour at the present price`,
    ...(isCommitted && { CommitmentDiscountCategory: 'Spend', CommitmentDiscountStatus: 'Used' }),
    ConsumedQuantity: 1,
    ConsumedUnit: 'Hours',
    ContractedUnitPrice: money(billed),
    ListUnitPrice: money(list),
    PricingCategory: category,
    PricingQuantity: 1,
    PricingUnit: 'Hours',
    RegionId: region,
    RegionName: region,
    ResourceId: node.providerId.slice(node.providerId.lastIndexOf('/') + 1),
    ResourceName: node.name,
    ResourceType: 'Instance',
    ServiceCategory: serviceCategory,
    ServiceName: service,
    SkuId: type,
    Tags: JSON.stringify(tagsOf(label)),
  };
}

const tagsOf = (label: (key: string) => string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [NODEPOOL_LABEL, CAPACITY_TYPE_LABEL].flatMap((key) => (label(key) === '' ? [] : [[key, label(key)]])),
  );

const money = (usd: number): string => String(Number(usd.toFixed(9)));

/** Renders rows as CSV. A text that a spreadsheet could read as a formula begins with a quote. */
export function focusCsv(rows: readonly FocusRow[]): string {
  const cell = (value: string | number = ''): string => {
    const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = rows.map((row) => FOCUS_COLUMNS.map((name) => cell(row[name])).join(','));
  return `${[FOCUS_COLUMNS.join(','), ...lines].join('\n')}\n`;
}

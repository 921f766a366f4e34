/** Renders costs as text. */
import { IDLE } from '#engine/costs';
import { type CostHistory, STEPS_MS } from '../cost/history.ts';
import type { By, CostNow } from '../cost/now.ts';
import { counted, planningText, table, tableOfEssentials, unknownText, usdPerHour } from './table.ts';
import { indented, terminalWidth } from './wrap.ts';

/** Formats a sum with cents: `$12.34`. */
export const usd = (amount: number): string => `${amount < 0 ? '-' : ''}$${Math.abs(amount).toFixed(2)}`;
/** Returns the planning figure of surplus CPU credits as an item of a list, or an empty text if it is 0. */
export const surplusPart = (amount: number, text: (amount: number) => string): string =>
  amount > 0 ? `; planning, not included: ${text(amount)} of surplus CPU credits` : '';
/** Formats a price with four decimals, which prices of small instances need. */
export const rate = (amount: number): string => `$${amount.toFixed(4)}`;

const HEADINGS: Readonly<Record<By, string>> = {
  nodepool: 'NODEPOOL',
  zone: 'ZONE',
  'capacity-type': 'CAPACITY TYPE',
  'instance-type': 'INSTANCE TYPE',
  namespace: 'NAMESPACE',
  workload: 'WORKLOAD',
};

const BY_PODS: ReadonlySet<By> = new Set(['namespace', 'workload']);

type Row = CostNow['groups'][number];

interface Columns {
  readonly by: By;
  readonly hasSurplus: boolean;
}

const cells = (
  { nodes, pods, ...row }: Omit<Row, 'name'>,
  name: string,
  { by, hasSurplus }: Columns,
): readonly string[] => [
  name,
  ...(BY_PODS.has(by) ? [] : [String(nodes)]),
  name === IDLE ? '' : String(pods),
  rate(row.usdPerHour),
  usd(row.usdPerMonth),
  rate(row.workloadsUsdPerHour),
  rate(row.daemonSetsUsdPerHour),
  rate(row.idleUsdPerHour),
  ...(hasSurplus ? [rate(row.surplusCreditsUsdPerHour)] : []),
  rate(row.listUsdPerHour),
];

export function costText(cost: CostNow): string {
  const { by, groups, total, at } = cost;
  const columns = { by, hasSurplus: total.surplusCreditsUsdPerHour > 0 };
  const headings = [HEADINGS[by], ...(BY_PODS.has(by) ? [] : ['NODES']), 'PODS'];
  const rows = [...groups.map((group) => cells(group, group.name, columns)), cells(total, 'total', columns)];
  const found =
    groups.length === 0
      ? 'no nodes of NodePools with a known price'
      : tableOfEssentials([...headings, ...AMOUNTS, ...(columns.hasSurplus ? [CREDITS] : []), 'LIST'], rows, {
          optional: [...(isListed(cost) ? [CREDITS, 'LIST'] : ['LIST', CREDITS]), 'DAEMONSETS', 'WORKLOADS'],
        });
  const lines = [priceText(cost), ...planningLine(cost), ...notCounted(cost)].map((line) =>
    indented(line, '  ', terminalWidth()),
  );
  const parts = [`At ${at}, per hour; a month has 730 hours`, found, lines.join('\n'), unknownText(cost.unknown)];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

/** Heading of the planning figure of surplus CPU credits. */
const CREDITS = 'PLANNING CREDITS';

/** Returns true if list prices differ from the billed prices. */
const isListed = ({ total }: CostNow): boolean => total.listUsdPerHour !== total.usdPerHour;

const AMOUNTS = ['PER HOUR', 'PER MONTH', 'WORKLOADS', 'DAEMONSETS', 'IDLE'];

/** Lists the parts of the total price. Omits parts that are zero. */
function priceText({ price, total }: CostNow): string {
  const parts = [
    ['instances', price.instancesUsdPerHour],
    ['volumes', price.volumesUsdPerHour],
    ['public addresses', price.publicIpv4UsdPerHour],
  ] as const;
  const added = parts.filter(([name, amount]) => name === 'instances' || amount > 0);
  const covered = price.coveredUsdPerHour > 0 ? ` - ${rate(price.coveredUsdPerHour)} covered by commitments` : '';
  return `${usdPerHour(total.usdPerHour)} = ${added.map(([name, amount]) => `${rate(amount)} ${name}`).join(' + ')}${covered}`;
}

/** Returns a line with the planning figures, which the total excludes. Returns no line if all are 0. */
function planningLine({ planning }: CostNow): readonly string[] {
  const text = planningText([
    ['fees', planning.feesUsdPerHour],
    ['expected surplus CPU credits', planning.surplusCreditsUsdPerHour],
  ]);
  return text === '' ? [] : [`planning, not included: ${text}`];
}

function notCounted({ unpriced, otherNodes }: CostNow): readonly string[] {
  const names = unpriced.names.slice(0, 3).join(', ');
  const more = unpriced.nodes > 3 ? ` and ${unpriced.nodes - 3} more` : '';
  return [
    ...(unpriced.nodes === 0
      ? []
      : [`not counted, because the price is unknown: ${counted(unpriced.nodes, 'node')}, ${names}${more}`]),
    ...(otherNodes === 0
      ? []
      : [`not counted, because they do not belong to a NodePool: ${counted(otherNodes, 'node')}`]),
  ];
}

const BARS = '▁▂▃▄▅▆▇█';

/** Draws a character for each value from 0 to `most`, and a blank for unknown values. */
export function sparkline(
  values: readonly (number | undefined)[],
  most = Math.max(0, ...values.map((value) => value ?? 0)),
): string {
  return values
    .map((value) => {
      if (value === undefined) return ' ';
      const level = most > 0 ? Math.round((value / most) * (BARS.length - 1)) : 0;
      return BARS[Math.min(BARS.length - 1, Math.max(0, level))];
    })
    .join('');
}

export function historyText(history: CostHistory): string {
  const { per, points, total, nodePools, since, until } = history;
  if (points.length === 0) return `no data for the time from ${since} to ${until}\n`;
  const missing = missingHours(history);
  const rows = points.map(({ at, hours, ...point }) => [
    per === 'day' ? at.slice(0, 10) : at.slice(0, 16).replace('T', ' '),
    ...(per === 'day' ? [String(hours)] : []),
    ...[point.usd, point.idleUsd, point.daemonSetsUsd, point.listUsd].map(usd),
  ]);
  const spent = `${usd(total.usd)} in ${total.hours} hours from ${since} to ${until}: ${usd(total.idleUsd)} idle, ${usd(total.daemonSetsUsd)} for DaemonSets; ${usd(total.listUsd)} at list prices${surplusPart(total.surplusCreditsUsd, usd)}`;
  const parts = [
    sparkline(fillGaps(history)),
    table([per === 'day' ? 'DAY' : 'HOUR', ...(per === 'day' ? ['HOURS'] : []), ...SPENT], rows),
    table(
      ['NODEPOOL', ...SPENT],
      nodePools.map((pool) => [pool.nodePool, ...[pool.usd, pool.idleUsd, pool.daemonSetsUsd, pool.listUsd].map(usd)]),
    ),
    indented(spent, '  ', terminalWidth()),
    missing === 0
      ? ''
      : `${counted(missing, 'hour')} in this period ${missing === 1 ? 'is' : 'are'} missing, because no operator was running`,
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

const SPENT = ['SPENT', 'IDLE', 'DAEMONSETS', 'LIST'];

/** Returns one value for each step between the first and the last point. */
function fillGaps({ per, points }: CostHistory): readonly (number | undefined)[] {
  const known = new Map(
    points.map(({ at, usd: amount, hours }) => [Date.parse(at), hours > 0 ? amount / hours : amount]),
  );
  const times = [...known.keys()];
  const [firstMs = 0, lastMs = 0] = [times[0], times.at(-1)];
  const steps = Math.round((lastMs - firstMs) / STEPS_MS[per]) + 1;
  return Array.from({ length: steps }, (_, step) => known.get(firstMs + step * STEPS_MS[per]));
}

/** Counts hours without data between the first and the last known hour. */
const missingHours = ({ per, points }: CostHistory): number =>
  per === 'hour'
    ? fillGaps({ per, points } as CostHistory).filter((value) => value === undefined).length
    : points.slice(1, -1).reduce((sum, { hours }) => sum + Math.max(0, 24 - Math.round(hours)), 0);

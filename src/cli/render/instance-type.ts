/** Renders the explanation of an instance type as text. */
import { parseQuantity } from '#api/values';
import type { ExplainedResource, ExplainedStep, InstanceTypeExplanation } from '#engine/explanations';
import { isBytes } from '#engine/model';
import { pluralOf, table } from './table.ts';
import { indented, terminalWidth } from './wrap.ts';

const MIB = 2 ** 20;
const HEADINGS = ['RESOURCE', 'AMOUNT', 'SOURCE'];

/** Results after each step, with their names. */
const STEPS: readonly (readonly [ExplainedStep, 'capacity' | 'allocatable' | 'forPods', string])[] = [
  ['capacity', 'capacity', 'capacity'],
  ['reserved', 'allocatable', 'allocatable'],
  ['daemonsets', 'forPods', 'for pods'],
];

/** Bytes have one unit, so that the lines of a computation can be compared. */
const amountText = (resource: string, amount: string): string =>
  isBytes(resource) ? `${Number((parseQuantity(amount) / MIB).toFixed(1))}Mi` : amount;

function rowsOf({ resource, lines, ...results }: ExplainedResource): readonly (readonly string[])[] {
  return STEPS.flatMap(([step, result, name], at) => {
    const own = lines.filter((line) => line.step === step);
    if (at > 0 && own.length === 0) return [];
    const rows = own.map(({ text, amount }) => ['', amountText(resource, amount), text]);
    return [...rows, ['', `= ${amountText(resource, results[result])}`, name]];
  }).map((row, at) => (at === 0 ? [resource, ...row.slice(1)] : row));
}

function resourceTable(resources: readonly ExplainedResource[]): string {
  const rows = resources.flatMap(rowsOf);
  const width = Math.max(...rows.map(([, amount = '']) => amount.length));
  return table(
    HEADINGS,
    rows.map(([resource = '', amount = '', text = '']) => [resource, amount.padStart(width), text]),
  );
}

function groupText(group: readonly InstanceTypeExplanation[]): string {
  const [{ instanceType = '', nodeClass = '', excluded, resources = [] } = {}] = group;
  const names = group.map(({ nodePool }) => nodePool).join(', ');
  const title = `${instanceType} in ${group.length === 1 ? 'NodePool' : pluralOf('NodePool')} ${names} (EC2NodeClass ${nodeClass})`;
  const note = excluded === undefined ? [] : [`not launched: ${excluded}`];
  return [...[title, ...note].map((text) => indented(text, '  ', terminalWidth())), resourceTable(resources)].join(
    '\n',
  );
}

/** Shows NodePools with the same amounts together. NodePools that do not launch the type are last. */
export function instanceTypeText(found: readonly InstanceTypeExplanation[]): string {
  if (found.length === 0) return 'there is no NodePool\n';
  const sorted = found.toSorted((a, b) => Number(a.excluded !== undefined) - Number(b.excluded !== undefined));
  const groups = Map.groupBy(sorted, ({ nodePool: _, ...rest }) => JSON.stringify(rest));
  return `${[...groups.values()].map(groupText).join('\n\n')}\n`;
}

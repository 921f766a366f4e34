/** Renders verdicts on nodes as text. */
import type { ObjectName } from '../../engine/disruption/reasons.ts';
import type { Verdict } from '../../engine/disruption/verdicts.ts';
import { inShort, savingsText, table } from './table.ts';
import { indented, terminalWidth } from './wrap.ts';

const objectText = (object: ObjectName | undefined): string =>
  object === undefined
    ? ''
    : `${object.kind} ${object.namespace === undefined ? '' : `${object.namespace}/`}${object.name}`;

const HEADINGS = ['NODE', 'NODEPOOL', 'VERDICT', 'IN THE WAY', 'NEAREST MISS'];

/** Renders one line per node. */
export function verdictsText(verdicts: readonly Verdict[]): string {
  if (verdicts.length === 0) return 'no nodes found\n';
  const rows = verdicts.map(({ node, nodePool = '', code, object, nearestMiss = '' }) => [
    node,
    nodePool,
    code,
    objectText(object),
    nearestMiss,
  ]);
  return `${table(HEADINGS, rows)}\n`;
}

const commandText = ({ method, decision, nodes, ...usd }: NonNullable<Verdict['command']>): string =>
  `${method}: ${decision} ${inShort(nodes)}, which saves ${savingsText(usd)}`;

/** Renders all details of one node. */
export function verdictText({ node, nodePool, code, text, object, nearestMiss, command, methods }: Verdict): string {
  const facts = [
    ['NodePool', nodePool ?? ''],
    ['verdict', code],
    ['because', text],
    ['blocked by', objectText(object)],
    ['nearest miss', nearestMiss ?? ''],
    ['command', command === undefined ? '' : commandText(command)],
  ]
    .filter(([, value]) => value !== '')
    .map(([name = '', value = '']) => `  ${name.padEnd(12)}  ${indented(value, ' '.repeat(16), terminalWidth())}`);
  const rows = methods.map((opinion) => [opinion.method, opinion.code, opinion.text]);
  return `${[`Node ${node}`, ...facts].join('\n')}\n\n${table(['METHOD', 'CODE', 'BECAUSE'], rows)}\n`;
}

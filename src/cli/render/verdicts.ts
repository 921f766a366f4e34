/** Renders verdicts on nodes as text. */
import { calculationOf, type ObjectName, repairText, type Verdict } from '#engine/disruption';
import { humanDuration, timeOf } from '#lib';
import { hourlySavings, inShort, table } from './table.ts';
import { indented, terminalWidth } from './wrap.ts';

const objectText = (object: ObjectName | undefined): string =>
  object === undefined
    ? ''
    : `${object.kind} ${object.namespace === undefined ? '' : `${object.namespace}/`}${object.name}`;

/** Renders one line per node. @param nowMs milliseconds since the epoch */
export function verdictsText(verdicts: readonly Verdict[], nowMs: number): string {
  if (verdicts.length === 0) return 'no nodes found\n';
  const isDated = verdicts.some(({ decided }) => decided !== undefined);
  const rows = verdicts.map(({ node, nodePool = '', code, object, nearestMiss = '', decided }) => [
    node,
    nodePool,
    code,
    ...(isDated ? [decided === undefined ? '' : ageOf(decided, nowMs)] : []),
    objectText(object),
    nearestMiss,
  ]);
  const headings = ['NODE', 'NODEPOOL', 'VERDICT', ...(isDated ? ['AGE'] : []), 'IN THE WAY', 'NEAREST MISS'];
  return `${table(headings, rows)}\n`;
}

const commandText = ({ method, decision, nodes, ...usd }: NonNullable<Verdict['command']>): string =>
  `${method}: ${decision} ${inShort(nodes)}, which saves ${hourlySavings(usd)}`;

/** Returns the age of a decision. Clocks of operator and command line may differ, so an age is at least 0. */
const ageOf = (decided: string, nowMs: number): string => humanDuration(Math.max(0, nowMs - timeOf(decided)));

/** Renders all details of one node. The first line is its name. @param nowMs milliseconds since the epoch */
export function verdictText(verdict: Verdict, nowMs: number, width = terminalWidth()): string {
  const { node, nodePool, code, text, object, nearestMiss, command, methods, decided, repair } = verdict;
  const facts = [
    ['NodePool', nodePool ?? ''],
    ['verdict', code],
    ['because', text],
    ['blocked by', objectText(object)],
    ['nearest miss', nearestMiss ?? ''],
    ['command', command === undefined ? '' : commandText(command)],
    ['worth', command?.worth === undefined ? '' : calculationOf(command.worth)],
    ['repair', repair === undefined ? '' : repairText(repair)],
    ['decided', decided === undefined ? '' : `${ageOf(decided, nowMs)} ago, at ${decided}`],
  ]
    .filter(([, value]) => value !== '')
    .map(([name = '', value = '']) => `  ${name.padEnd(12)}  ${indented(value, ' '.repeat(16), width)}`);
  const age = (at: string | undefined): readonly string[] =>
    decided === undefined ? [] : [at === undefined ? '' : ageOf(at, nowMs)];
  const rows = methods.map((opinion) => [opinion.method, opinion.code, ...age(opinion.decided), opinion.text]);
  const headings = ['METHOD', 'CODE', ...(decided === undefined ? [] : ['AGE']), 'BECAUSE'];
  return `${[`Node ${node}`, ...facts].join('\n')}\n\n${table(headings, rows, width)}\n`;
}

/** `matches` of the CEL library runs on JavaScript's regular expressions; this has it run on those of linear time. */
import type { ASTNode, Environment } from '@marcbachmann/cel-js';
import { charge, chargeText } from './cel-cost.ts';
import { isNode } from './cel-nodes.ts';
import { type Pattern, patternWeight, regularExpression } from './regexp.ts';

const OURS = 're2_';

/** Text that goes into an expression, and where. */
export type Insert = readonly [at: number, text: string];

export const registerMatches = (environment: Environment): Environment =>
  environment.registerFunction(`string.${OURS}matches(string): bool`, (text: string, pattern: string) =>
    costing(text, pattern).test(text),
  );

/** Returns the pattern after charging for its compilation and for a run over the text. @throws CostError */
function costing(text: string, pattern: string): Pattern {
  const units = Math.ceil(patternWeight(pattern) / 4);
  charge(units);
  chargeText(text, units);
  return regularExpression(pattern);
}

/** What may stand between the end of what a method is called on and the method's name. */
const BETWEEN = /(?:[\s).]|\/\/[^\n]*\n)*/y;

/** What has to go in before a call so that it is one of ours. */
export function matchesInserts(expression: string, { op, args }: ASTNode): readonly Insert[] {
  if (op !== 'rcall' || args[0] !== 'matches' || !isNode(args[1])) return [];
  BETWEEN.lastIndex = args[1].range.end;
  BETWEEN.test(expression);
  return [[BETWEEN.lastIndex, OURS]];
}

export const withInserts = (expression: string, inserts: readonly Insert[]): string =>
  inserts
    .toSorted(([left], [right]) => right - left)
    .reduce((text, [at, insert]) => text.slice(0, at) + insert + text.slice(at), expression);

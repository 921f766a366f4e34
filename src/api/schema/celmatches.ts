/** Replaces `matches` of the CEL library, which uses JavaScript's regular expressions, by a version with linear time. */
import type { ASTNode, Environment } from '@marcbachmann/cel-js';
import { charge, chargeText } from './cel-cost.ts';
import { isNode } from './cel-nodes.ts';
import { type Pattern, patternWeight, regularExpression } from './regexp.ts';

const OURS = 're2_';

/** Text to insert into an expression, and its position. */
export type Insert = readonly [at: number, text: string];

export const registerMatches = (environment: Environment): Environment =>
  environment.registerFunction(`string.${OURS}matches(string): bool`, (text: string, pattern: string) =>
    costing(text, pattern).test(text),
  );

/** Subtracts the cost of a match and returns the pattern. @throws CostError if the limit is exceeded */
function costing(text: string, pattern: string): Pattern {
  const units = Math.ceil(patternWeight(pattern) / 4);
  charge(units);
  chargeText(text, units);
  return regularExpression(pattern);
}

/** Text that may be between the receiver and the name of a method. */
const BETWEEN = /(?:[\s).]|\/\/[^\n]*\n)*/y;

/** Returns the inserts that replace a call of `matches`. */
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

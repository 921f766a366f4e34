/** Kubernetes' CEL functions that rules of this project's kinds call. */
import type { ASTNode, Environment } from '@marcbachmann/cel-js';
import { charge, chargeText } from './cel-cost.ts';
import { isNode } from './cel-nodes.ts';
import { type Pattern, patternWeight, regularExpression } from './regexp.ts';

const MAX_INT = 2n ** 63n - 1n;

function strictInt(value: string): bigint {
  if (/^[+-]?\d+$/.test(value)) {
    const number = BigInt(value.replace(/^\+/, ''));
    if (number <= MAX_INT && number >= -MAX_INT - 1n) return number;
  }
  throw new RangeError("type conversion error from 'string' to 'int'");
}

function truncate(value: number): bigint {
  if (!Number.isFinite(value) || Math.abs(value) > Number(MAX_INT)) throw new RangeError('integer overflow');
  return BigInt(Math.trunc(value));
}

const findAll = (text: string, pattern: string, limit: bigint): string[] =>
  regularExpression(pattern).matches(text, limit < 0n ? Number.POSITIVE_INFINITY : Number(limit));

export const registerKubernetesFunctions = (environment: Environment): Environment =>
  registerMatches(environment)
    .registerFunction(
      'string.find(string): string',
      (text: string, pattern: string) => findAll(text, pattern, 1n)[0] ?? '',
    )
    .registerFunction('string.findAll(string): list<string>', (text: string, pattern: string) =>
      findAll(text, pattern, -1n),
    )
    .registerFunction('string.findAll(string, int): list<string>', findAll)
    .registerFunction('strict_int(string): int', strictInt)
    .registerFunction('strict_int(int): int', (value: bigint) => value)
    .registerFunction('strict_int(double): int', truncate)
    .registerFunction('strict_int(google.protobuf.Timestamp): int', (value: Date) =>
      BigInt(Math.floor(value.getTime() / 1000)),
    );

/** Replaces `matches` of the CEL library, which uses JavaScript's regular expressions, by a version with linear time. */
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

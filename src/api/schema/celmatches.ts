/** `matches` of the CEL library runs on JavaScript's regular expressions; this has it run on those of linear time. */
import type { ASTNode, Environment } from '@marcbachmann/cel-js';
import { regularExpression } from './regexp.ts';

const OURS = 're2_';

/** Text that goes into an expression, and where. */
export type Insert = readonly [at: number, text: string];

export const registerMatches = (environment: Environment): Environment =>
  environment.registerFunction(`string.${OURS}matches(string): bool`, (text: string, pattern: string) =>
    regularExpression(pattern).test(text),
  );

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

/** A node and all within it. */
export const nodesOf = (node: ASTNode): ASTNode[] => [node, ...innerNodes(node).flatMap(nodesOf)];

/** The nodes directly within one. */
export const innerNodes = ({ args }: ASTNode): ASTNode[] => nodesAmong(args);

function nodesAmong(args: unknown): ASTNode[] {
  if (Array.isArray(args)) return args.flatMap(nodesAmong);
  return isNode(args) ? [args] : [];
}

const isNode = (value: unknown): value is ASTNode =>
  typeof value === 'object' && value !== null && 'op' in value && 'args' in value;

/** Nodes of a parsed expression. */
import type { ASTNode } from '@marcbachmann/cel-js';

/** Returns a node and all nodes within it. */
export const nodesOf = (node: ASTNode): ASTNode[] => [node, ...innerNodes(node).flatMap(nodesOf)];

/** Returns the direct children of a node. */
export const innerNodes = ({ args }: ASTNode): ASTNode[] => nodesAmong(args);

function nodesAmong(args: unknown): ASTNode[] {
  if (Array.isArray(args)) return args.flatMap(nodesAmong);
  return isNode(args) ? [args] : [];
}

export const isNode = (value: unknown): value is ASTNode =>
  typeof value === 'object' && value !== null && 'op' in value && 'args' in value;

/**
 * Programs of kubelet expressions. They run on the main thread, once for every instance type, so that what one may take
 * is bounded by its form: it is short, and its lists are not gone through within each other.
 */
import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import { LRUCache } from 'lru-cache';
import { innerNodes, nodesOf } from '../../api/schema/cel-nodes.ts';
import { matchesInserts, registerMatches, withInserts } from '../../api/schema/celmatches.ts';

/** An expression that cannot be compiled, or that has no usable value for some instance type. */
export class ExpressionError extends Error {}

type Value = bigint | number;
const larger = (a: Value, b: Value): Value => (a > b ? a : b);
const smaller = (a: Value, b: Value): Value => (a < b ? a : b);

/** Characters of an expression. */
const LONGEST = 1_000;
const LIMITS = { maxAstNodes: 250, maxDepth: 50, maxListElements: 100 };
const GOING_THROUGH: ReadonlySet<unknown> = new Set(['all', 'exists', 'exists_one', 'filter', 'map']);

function environment(): Environment {
  const created = registerMatches(new Environment({ limits: LIMITS }));
  for (const name of ['vcpus', 'memory_mib', 'default_enis', 'ips_per_eni', 'max_pods'])
    created.registerVariable(name, 'int');
  created.registerVariable('instance_type', 'string');
  for (const [name, pick] of [
    ['max', larger],
    ['min', smaller],
  ] as const)
    for (const [a, b] of [
      ['int', 'int'],
      ['double', 'double'],
      ['int', 'double'],
      ['double', 'int'],
    ] as const) {
      const result = a === 'int' && b === 'int' ? 'int' : 'double';
      created.registerFunction(`${name}(${a}, ${b}): ${result}`, (left: Value, right: Value) =>
        result === 'int' ? pick(left, right) : Number(pick(left, right)),
      );
    }
  return created;
}

const cel = environment();

export type Program = (values: Readonly<Record<string, bigint | string>>) => unknown;
/** Programs are small; the bound is for users who try many. */
const programs = new LRUCache<string, Program>({ max: 1_000 });

export const firstLine = (error: unknown): string => (error as Error).message.split('\n')[0] ?? '';

/** How many lists are gone through within each other. */
function nesting(node: ASTNode): number {
  const isOne = node.op === 'rcall' && GOING_THROUGH.has(node.args[0]);
  return Math.max(0, ...innerNodes(node).map(nesting)) + (isOne ? 1 : 0);
}

const binds = ({ op, args }: ASTNode): boolean => op === 'rcall' && args[0] === 'bind';

/** @throws ExpressionError when the expression could take too long */
function bounded(ast: ASTNode): readonly ASTNode[] {
  if (nesting(ast) > 1)
    throw new ExpressionError('compiling expression, it goes through a list within another, write it without');
  const nodes = nodesOf(ast);
  if (nodes.some(binds)) throw new ExpressionError('compiling expression, cel.bind is not supported, write it without');
  return nodes;
}

/** @throws ExpressionError when it is no expression, its value is no number, or it could take too long */
export function compiled(text: string): Program {
  const known = programs.get(text);
  if (known !== undefined) return known;
  if (text.length > LONGEST)
    throw new ExpressionError(`compiling expression, it has ${text.length} characters, and may have ${LONGEST}`);
  const { valid, type, error } = cel.check(text);
  if (!valid) throw new ExpressionError(`compiling expression, ${firstLine(error)}`);
  if (type !== 'int' && type !== 'double')
    throw new ExpressionError(`compiling expression, its value must be int or double, not ${type}`);
  const nodes = bounded(cel.parse(text).ast);
  const program: Program = cel.parse(
    withInserts(
      text,
      nodes.flatMap((node) => matchesInserts(text, node)),
    ),
  );
  programs.set(text, program);
  return program;
}

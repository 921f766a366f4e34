/**
 * Compiled kubelet expressions. They run on the main thread, once per instance type. Limits of the length and the
 * number of nodes bound the compilation. A cost limit bounds each evaluation, including the size of every value.
 */
import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import { LRUCache } from 'lru-cache';
import { CostError, countingCompiler, withinCost } from '../../api/schema/cel-cost.ts';
import { nodesOf } from '../../api/schema/cel-nodes.ts';
import { matchesInserts, registerMatches, withInserts } from '../../api/schema/celfunctions.ts';

/** An expression that cannot be compiled, or that has no usable value for an instance type. */
export class ExpressionError extends Error {}

type Value = bigint | number;
const larger = (a: Value, b: Value): Value => (a > b ? a : b);
const smaller = (a: Value, b: Value): Value => (a < b ? a : b);

/** Maximum number of characters of an expression. */
const LONGEST = 1_000;
const LIMITS = { maxAstNodes: 250, maxDepth: 50, maxListElements: 100 };
/** Maximum cost units of one evaluation. Common expressions cost between 5 and 100. */
export const MOST_UNITS = 1_000;
/** Maximum length of a message of the library, which may contain a value of the expression. */
const LONGEST_MESSAGE = 300;

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
const compileCounted = countingCompiler(cel);

export type Program = (values: Readonly<Record<string, bigint | string>>) => unknown;
/** The limit applies only if users try many expressions, because programs are small. */
const programs = new LRUCache<string, Program>({ max: 1_000 });

function summaryOf(error: unknown): string {
  const [line = ''] = (error as Error).message.split('\n');
  return line.length > LONGEST_MESSAGE ? `${line.slice(0, LONGEST_MESSAGE)}…` : line;
}

/** Rejects maps as keys of maps, because the type checker's name of their type doubles with each level. */
const hasComputedKey = ({ op, args }: ASTNode): boolean =>
  op === 'map' && (args as readonly (readonly [ASTNode, ASTNode])[]).some(([key]) => key.op !== 'value');

/**
 * Replaces `matches` with the method that runs in linear time.
 * @throws Error if the text is not an expression
 */
function linearText(text: string): string {
  const nodes = nodesOf(cel.parse(text).ast);
  if (nodes.some(hasComputedKey)) throw new Error('a key of a map is not a literal, for example a string or a number');
  return withInserts(
    text,
    nodes.flatMap((node) => matchesInserts(text, node)),
  );
}

function counted(text: string): Program {
  const { valid, type, error } = cel.check(text);
  if (!valid) throw error;
  if (type !== 'int' && type !== 'double') throw new Error(`the result must be int or double, not ${type}`);
  const evaluate: Program = compileCounted(cel.parse(text).ast);
  return (values) => {
    try {
      return withinCost(MOST_UNITS, () => evaluate(values));
    } catch (error) {
      throw new ExpressionError(`evaluating expression, ${evaluationProblem(error)}`, { cause: error });
    }
  };
}

const evaluationProblem = (error: unknown): string =>
  error instanceof CostError
    ? `it costs more than ${MOST_UNITS} units (steps, list items or ten characters each); use smaller lists and strings`
    : summaryOf(error);

/**
 * Compiles an expression. Its program throws an ExpressionError if an evaluation fails or costs too much.
 * @throws ExpressionError if the text is not an expression, its value is not a number, or it is too large to compile
 */
export function compile(text: string): Program {
  const known = programs.get(text);
  if (known !== undefined) return known;
  if (text.length > LONGEST)
    throw new ExpressionError(
      `compiling expression, it has ${text.length} characters, but at most ${LONGEST} are allowed`,
    );
  try {
    const program = counted(linearText(text));
    programs.set(text, program);
    return program;
  } catch (error) {
    throw new ExpressionError(`compiling expression, ${summaryOf(error)}`, { cause: error });
  }
}

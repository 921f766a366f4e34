/** Common Expression Language with the functions of Kubernetes, for values typed by their schema. */
import { type ASTNode, Environment, EvaluationError, Optional } from '@marcbachmann/cel-js';
import { isObject } from '#lib';
import { nodesOf } from './cel-nodes.ts';
import { type Insert, matchesInserts, registerKubernetesFunctions, withInserts } from './celfunctions.ts';
import { type OpenApiSchema, valuesOf } from './openapi.ts';

/** Compiled rule with the variables `self` and `oldSelf`. */
export interface Program {
  readonly usesOldSelf: boolean;
  /** False if the expression uses a function or variable that is not supported. */
  readonly isKnown: boolean;
  /** @throws {CelError} if the evaluation fails. */
  run(self: unknown, oldSelf?: unknown): unknown;
}

/** The evaluation of an expression failed. The message has the API server's text. */
export class CelError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CelError';
  }
}

/** Compiled expression. */
export interface Expression {
  /** False if the expression uses a function or variable that is not supported. */
  readonly isKnown: boolean;
  /** Reports whether the expression reads a variable. */
  reads(variable: string): boolean;
  /** @throws {CelError} if the evaluation fails. */
  run(values: Readonly<Record<string, unknown>>): unknown;
}

/**
 * Returns a compiler of expressions with these variables.
 *
 * The compiler throws {CelError} if the text is not an expression.
 */
export function expressionCompiler(variables: readonly string[]): (expression: string) => Expression {
  const environment = registerKubernetesFunctions(
    new Environment({ enableOptionalTypes: true, homogeneousAggregateLiterals: false }),
  );
  for (const name of variables) environment.registerVariable(name, 'dyn');
  return (expression) => {
    try {
      const nodes = nodesOf(environment.parse(expression).ast);
      const evaluate = environment.parse(correctExpression(expression, nodes));
      return {
        isKnown: evaluate.check().valid,
        reads: (variable) => nodes.some(({ op, args }) => op === 'id' && args === variable),
        run: (values) => inWords(() => evaluate({ ...values })),
      };
    } catch (error) {
      throw new CelError(`Cannot compile rule ${JSON.stringify(expression)}: ${wording(error)}`, { cause: error });
    }
  };
}

const compileRule = expressionCompiler(['self', 'oldSelf']);

/**
 * Compiles a rule of a schema.
 *
 * @throws {CelError} if the text is not an expression.
 */
export function compile(rule: string): Program {
  const { isKnown, reads, run } = compileRule(rule);
  return { isKnown, usesOldSelf: reads('oldSelf'), run: (self, oldSelf) => run({ self, oldSelf }) };
}

/** Corrects three differences between the library and Kubernetes. */
function correctExpression(expression: string, nodes: readonly ASTNode[]): string {
  const inserts = nodes.flatMap((node): readonly Insert[] => {
    const { op, args, range } = node;
    // int() of the library accepts '' and other bases
    if (op === 'call' && args[0] === 'int') return [[range.start, 'strict_']];
    // the library cannot compare values of optionals of unknown type
    if (op === 'rcall' && args[0] === 'value')
      return [
        [range.start, 'dyn('],
        [range.end, ')'],
      ];
    return matchesInserts(expression, node);
  });
  return withInserts(expression, inserts);
}

function inWords<T>(evaluate: () => T): T {
  try {
    return evaluate();
  } catch (error) {
    throw new CelError(wording(error), { cause: error });
  }
}

const wording = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const summary =
    error instanceof EvaluationError && error.summary ? error.summary : (error.message.split('\n')[0] ?? '');
  return summary
    .replace(/^No such key: index out of bounds, index (\S+) .*$/, 'index out of bounds: $1')
    .replace(/^No such key/, 'no such key');
};

export const present = (value: unknown): unknown => Optional.of(value);
export const absent = (): unknown => Optional.none();

/** Converts a JSON value to the value for rules: integers, times and field names as in the schema. */
export function celValue(schema: OpenApiSchema | undefined, value: unknown): unknown {
  if (typeof value === 'number') return schema?.type !== 'number' && Number.isInteger(value) ? BigInt(value) : value;
  if (typeof value === 'string') return schema?.format?.startsWith('date') ? new Date(value) : value;
  if (Array.isArray(value)) return Array.from(value, (item) => celValue(schema?.items, item));
  if (!isObject(value)) return value;
  const { properties } = schema ?? {};
  const values = schema && valuesOf(schema);
  const entries = Object.entries(value).map(([key, field]): [string, unknown] =>
    properties && Object.hasOwn(properties, key)
      ? [escapeName(key), celValue(properties[key], field)]
      : [key, celValue(values, field)],
  );
  // the library determines the type of an object by its constructor
  return Object.hasOwn(value, 'constructor') ? new Map(entries) : Object.fromEntries(entries);
}

const RESERVED = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return'.split(' '),
);

/** Returns the name of a field in rules, escaped if the field is not an identifier. */
function escapeName(key: string): string {
  if (RESERVED.has(key)) return `__${key}__`;
  return key
    .replaceAll('__', '__underscores__')
    .replaceAll('.', '__dot__')
    .replaceAll('-', '__dash__')
    .replaceAll('/', '__slash__');
}

/**
 * Cost of evaluations of the Common Expression Language. The library has no counters, so the compiler writes calls of
 * counting functions into each expression. A unit is about one step or ten characters, as on the API server.
 */
import { type ASTNode, type Environment, type ParseResult, serialize } from '@marcbachmann/cel-js';
import { innerNodes, isNode } from './cel-nodes.ts';

const CHARACTERS = 10;

/** An evaluation exceeded its cost limit. */
export class CostError extends Error {}

/** Remaining units of the current evaluation. Evaluations are synchronous and not nested. */
let left = Number.POSITIVE_INFINITY;

/** Subtracts units. @throws CostError if the limit is exceeded */
export function charge(units: number): void {
  left -= units;
  if (left < 0) throw new CostError();
}

const tenths = ({ length }: string | Uint8Array): number => Math.ceil(length / CHARACTERS);

/** Subtracts the cost of reading a text. @throws CostError if the limit is exceeded */
export const chargeText = (text: string, times = 1): void => charge(tenths(text) * times);

/**
 * Runs an evaluation with a cost limit.
 * @param onCost receives the units of the evaluation, also if it fails
 * @throws CostError if the limit is exceeded
 */
export function withinCost<T>(limit: number, run: () => T, onCost?: (units: number) => void): T {
  left = limit;
  try {
    const value = run();
    // `exists` and `||` continue after an error of one operand
    if (left < 0) throw new CostError();
    return value;
  } catch (error) {
    throw left < 0 ? new CostError() : error;
  } finally {
    onCost?.(limit - Math.max(left, 0));
    left = Number.POSITIVE_INFINITY;
  }
}

/** Returns the units of a value with its parts. Stops when the remaining units are exceeded. */
export function sizeOf(value: unknown): number {
  let units = 0;
  const rest: unknown[] = [value];
  while (rest.length > 0 && units <= left) {
    const next = rest.pop();
    units += isText(next) ? 1 + Math.floor(next.length / CHARACTERS) : 1;
    // the remaining parts cost at least one unit each
    if (units + partsOf(next).size > left) return units + partsOf(next).size;
    for (const part of partsOf(next).parts()) rest.push(part);
  }
  return units;
}

const isText = (value: unknown): value is string | Uint8Array =>
  typeof value === 'string' || value instanceof Uint8Array;

function partsOf(value: unknown): { readonly size: number; readonly parts: () => Iterable<unknown> } {
  if (Array.isArray(value)) return { size: value.length, parts: () => value };
  const entries = value instanceof Map ? [...value] : isPlain(value) ? Object.entries(value) : [];
  return { size: 2 * entries.length, parts: () => entries.flat() };
}

export const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** Names that users' expressions must not contain. */
const COUNTED = 'cost_of_value_';
const LOOPED = 'cost_of_loop_';
/** Replaces `join`, because the cost of a separator depends on the length of the list. */
const JOIN = 'counted_join';
const ZONED = 'cost_of_zone_';
const POWERED = 'cost_of_power_';
const LOOPS = new Set(['all', 'exists', 'exists_one', 'existsOne', 'map', 'filter']);
/** Functions with superlinear time: parsing of durations backtracks twice, and types of nested values have long names. */
const POWERS: ReadonlyMap<string, bigint> = new Map([
  ['duration', 3n],
  ['json', 2n],
]);
/** Methods of timestamps. With a time zone, each formats and parses the time. */
const TIME_PARTS = /^get[A-Z]/;
const ZONE_UNITS = 100;
/** Namespaces of functions. */
const LIBRARIES = new Set(['cel', 'optional']);
const UNCOUNTED = new Set(['has', 'dyn', 'type', 'bind', 'of', 'none', 'or', 'orValue', 'optMap', 'hasValue', 'value']);

const registerCost = (environment: Environment): Environment =>
  environment
    .registerFunction(`${ZONED}(dyn): dyn`, (zone: unknown) => {
      charge(ZONE_UNITS);
      return zone;
    })
    .registerFunction(`${POWERED}(dyn, int): dyn`, (value: unknown, power: bigint) => {
      if (isText(value)) charge(tenths(value) ** Number(power));
      return value;
    })
    .registerFunction(`${COUNTED}(dyn): dyn`, (value: unknown) => {
      charge(sizeOf(value));
      return value;
    })
    .registerFunction(`${LOOPED}(dyn, int): dyn`, (value: unknown, perItem: bigint) => {
      charge(Number(perItem) * itemsOf(value));
      return value;
    })
    .registerFunction(`list<string>.${JOIN}(): string`, (items: readonly unknown[]) => join(items, ''))
    .registerFunction(`list<string>.${JOIN}(string): string`, join);

function join(items: readonly unknown[], separator: string): string {
  charge(sizeOf(items));
  chargeText(separator, items.length);
  if (items.every((item) => typeof item === 'string')) return items.join(separator);
  throw new TypeError('string.join(separator): list must contain only strings');
}

function itemsOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  if (value instanceof Map) return value.size;
  return isPlain(value) ? Object.keys(value).length : 1;
}

/** Limits of expressions with counting calls: `counting` adds about two nodes and two levels to each node. */
const COUNTED_LIMITS = { maxAstNodes: 300_000, maxDepth: 1_000, maxCallArguments: 64 };

/**
 * Returns a function that compiles parsed expressions of `environment` so that `withinCost` bounds their evaluation.
 * Users' expressions cannot call the counting functions, because a negative cost would lift the limit.
 */
export function countingCompiler(environment: Environment): (ast: ASTNode) => ParseResult {
  const counted = registerCost(environment.clone({ limits: COUNTED_LIMITS }));
  return (ast) => counted.parse(serialize(counting(ast)));
}

/** Adds counting calls to an expression. Does not modify the original. */
function counting(node: ASTNode): ASTNode {
  const { op, args } = node;
  if (op === 'rcall') return countingMethod(node as ASTNode & { readonly op: 'rcall' });
  if (op === 'call') {
    const [name, given] = args as [string, ASTNode[]];
    const inner = given.map(counting);
    if (POWERS.has(name)) return createNode(node, 'call', [name, inner.map((one) => exponentiate(one, name))]);
    return createNode(node, 'call', [name, UNCOUNTED.has(name) ? inner : inner.map(countNode)]);
  }
  const parts = mapNodes(args);
  if (['==', '!=', 'in'].includes(op)) return createNode(node, op, (parts as ASTNode[]).map(countNode));
  const whole = createNode(node, op, parts);
  return op === '+' || op === 'list' || op === 'map' ? countNode(whole) : whole;
}

function countingMethod(node: ASTNode & { readonly op: 'rcall' }): ASTNode {
  const [name, receiver, given] = node.args as [string, ASTNode, ASTNode[]];
  if (LOOPS.has(name)) {
    const [variable, ...bodies] = given;
    const perItem = bodies.reduce((sum, body) => sum + stepsOf(body), 1);
    const looped = callNode(LOOPED, counting(receiver), createNode(node, 'value', BigInt(perItem)));
    return createNode(node, 'rcall', [name, looped, [...(variable ? [variable] : []), ...bodies.map(counting)]]);
  }
  const inner = given.map(counting);
  const isLibrary = receiver.op === 'id' && LIBRARIES.has(receiver.args);
  const on = counting(receiver);
  if (UNCOUNTED.has(name)) return createNode(node, 'rcall', [name, on, inner]);
  if (name === 'join') return createNode(node, 'rcall', [JOIN, on, inner]);
  const [argument] = inner;
  if (argument && TIME_PARTS.test(name))
    return createNode(node, 'rcall', [name, countNode(on), [callNode(ZONED, argument)]]);
  if (POWERS.has(name)) return createNode(node, 'rcall', [name, exponentiate(on, name), inner]);
  return createNode(node, 'rcall', [name, isLibrary ? on : countNode(on), inner.map(countNode)]);
}

const stepsOf = (node: ASTNode): number => innerNodes(node).reduce((sum, inner) => sum + stepsOf(inner), 1);

const callNode = (name: string, node: ASTNode, ...others: readonly ASTNode[]): ASTNode =>
  createNode(node, 'call', [name, [node, ...others]]);

const exponentiate = (node: ASTNode, name: string): ASTNode =>
  callNode(POWERED, node, createNode(node, 'value', POWERS.get(name) ?? 1n));

const countNode = (node: ASTNode): ASTNode => callNode(COUNTED, node);

const mapNodes = (args: unknown): unknown => {
  if (Array.isArray(args)) return args.map(mapNodes);
  return isNode(args) ? counting(args) : args;
};

const createNode = ({ input, range }: ASTNode, op: string, args: unknown): ASTNode =>
  ({ input, range, op, args }) as unknown as ASTNode;

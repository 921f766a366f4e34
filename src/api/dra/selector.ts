/**
 * Device selectors: CEL expressions with the variable `device`. Users write the expressions and drivers write the values, so
 * length, size and cost are limited as in the API server.
 */
import { type ASTNode, Environment, EvaluationError, type ParseResult, serialize } from '@marcbachmann/cel-js';
import { LRUCache } from 'lru-cache';
import { messageOf } from '#lib';
import { CostError, countingCompiler, withinCost } from '../schema/cel-cost.ts';
import { isNode, nodesOf } from '../schema/cel-nodes.ts';
import { matchesInserts, withInserts } from '../schema/celfunctions.ts';
import { FORMAT_NAMES } from './selector-formats.ts';
import { mapOfDomains, registerSelectorFunctions, type SelectorQuantity } from './selector-functions.ts';
import type { Semver } from './semver.ts';

/** Maximum number of bytes of an expression, and cost of one evaluation, as in the API. */
export const LONGEST_SELECTOR = 10 * 1024;
export const MOST_SELECTOR_COST = 1_000_000;

export type SelectorScalar = bigint | boolean | string | Semver;
export type SelectorValue = SelectorScalar | readonly SelectorScalar[];

/** Values by name, by domain. */
export type ByDomain<T> = ReadonlyMap<string, ReadonlyMap<string, T>>;

/** Device as expressions read it. */
export class SelectorDevice {
  readonly driver: string;
  readonly attributes: Map<string, unknown>;
  readonly capacity: Map<string, unknown>;
  readonly allowMultipleAllocations: boolean;

  constructor(
    driver: string,
    attributes: ByDomain<SelectorValue>,
    capacity: ByDomain<SelectorQuantity>,
    allowMultipleAllocations: boolean,
  ) {
    this.driver = driver;
    this.attributes = mapOfDomains(attributes);
    this.capacity = mapOfDomains(capacity);
    this.allowMultipleAllocations = allowMultipleAllocations;
  }
}

/** The compilation or evaluation of a selector failed. */
export class SelectorError extends Error {
  /** Name of the attribute or capacity that the device does not have, if this is the cause. */
  readonly missingKey: string | undefined;

  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.name = 'SelectorError';
    this.missingKey = /^no such key: (\S+)/.exec(message)?.[1];
  }
}

export interface Selector {
  /** Drivers that the expression compares with the driver of the device. */
  readonly drivers: readonly string[];
  /**
   * @param onCost receives the units of the evaluation, also if it fails
   * @throws {SelectorError} if the evaluation fails or costs too much
   */
  matches(device: SelectorDevice, onCost?: (units: number) => void): boolean;
}

const LIMITS = { maxAstNodes: 20_000, maxDepth: 100 };

const users = registerSelectorFunctions(
  new Environment({ enableOptionalTypes: true, homogeneousAggregateLiterals: false, limits: LIMITS }),
)
  .registerType('Device', {
    ctor: SelectorDevice,
    fields: {
      driver: 'string',
      attributes: 'map<string, map<string, dyn>>',
      capacity: 'map<string, map<string, Quantity>>',
      allowMultipleAllocations: 'bool',
    },
  })
  .registerVariable('device', 'Device');

/** Environment of rewritten expressions. */
const internal = users
  .clone()
  .registerFunction('member_of(dyn, dyn): bool', isMember)
  .registerFunction('has_field(dyn, string): bool', hasField);
const compileCounted = countingCompiler(internal);

function isMember(item: unknown, collection: unknown): boolean {
  if (collection instanceof Map) return collection.has(item);
  if (!Array.isArray(collection)) throw new TypeError('no such overload');
  return internalEquals({ item, collection }) as boolean;
}

const internalEquals: ParseResult = users
  .clone()
  .registerVariable('item', 'dyn')
  .registerVariable('collection', 'list<dyn>')
  .parse('collection.exists(each, each == item)');

function hasField(holder: unknown, field: string): boolean {
  if (holder instanceof Map) return holder.has(field);
  if (holder instanceof SelectorDevice) return Object.hasOwn(holder, field);
  throw new TypeError('no such overload');
}

/** Names of functions that only rewritten expressions call. */
const INTERNAL = /^(?:member_of|has_field|(?:sets|format|ip)_.*)$/;
/** Functions in namespaces, which the library does not have. */
const NAMESPACES: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['sets', new Set(['contains', 'equivalent', 'intersects'])],
  ['format', FORMAT_NAMES],
  ['ip', new Set(['isCanonical'])],
]);

/**
 * Replaces operators of the library that differ from Kubernetes: `in` and `has` for domains that do not exist, `has` after an
 * index, and functions in namespaces.
 */
function rewritten(node: ASTNode): ASTNode {
  const args = partsOf(node.args);
  if (node.op === 'in') return made(node, 'call', ['member_of', args]);
  if (node.op === 'call' && node.args[0] === 'has' && isField(node.args[1][0])) {
    const [holder, field] = node.args[1][0].args;
    return made(node, 'call', ['has_field', [rewritten(holder), made(node, 'value', field)]]);
  }
  if (node.op === 'rcall' && node.args[1].op === 'id') {
    const [name, { args: namespace }] = node.args;
    if (NAMESPACES.get(namespace)?.has(name))
      return made(node, 'call', [`${namespace}_${name}`, (args as unknown[])[2]]);
  }
  return made(node, node.op, args);
}

const isField = (node: ASTNode | undefined): node is ASTNode & { readonly op: '.' } => node?.op === '.';

const partsOf = (args: unknown): unknown => {
  if (Array.isArray(args)) return args.map(partsOf);
  return isNode(args) ? rewritten(args) : args;
};

const made = ({ input, range }: ASTNode, op: string, args: unknown): ASTNode =>
  ({ input, range, op, args }) as unknown as ASTNode;

const wording = (error: unknown): string => {
  const summary = error instanceof EvaluationError && error.summary ? error.summary : messageOf(error);
  const [line = ''] = summary.split('\n');
  return line.replace(/^No such key/, 'no such key').slice(0, 300);
};

const selectors = new LRUCache<string, Selector | SelectorError>({ max: 2_000 });

/**
 * Compiles an expression. Keeps results, including failures.
 *
 * @throws {SelectorError} if the text is not an expression with a bool as its result, or is too long
 */
export function compileSelector(expression: string): Selector {
  let known = selectors.get(expression);
  if (known === undefined) {
    known = compiledOrError(expression);
    // long texts would otherwise stay in memory
    if (expression.length <= LONGEST_SELECTOR) selectors.set(expression, known);
  }
  if (known instanceof SelectorError) throw known;
  return known;
}

function compiledOrError(expression: string): Selector | SelectorError {
  if (Buffer.byteLength(expression) > LONGEST_SELECTOR)
    return new SelectorError(`the expression is longer than ${LONGEST_SELECTOR} bytes`, undefined);
  try {
    return compiled(expression);
  } catch (error) {
    return new SelectorError(wording(error), error);
  }
}

function compiled(expression: string): Selector {
  const nodes = nodesOf(users.parse(expression).ast);
  const reserved = nodes
    .flatMap(({ op, args }) => (op === 'call' ? [args[0]] : []))
    .find((name) => INTERNAL.test(name));
  if (reserved !== undefined) throw new TypeError(`undeclared reference to '${reserved}'`);
  const inserts = nodes.flatMap((node) => [...strictInserts(node), ...matchesInserts(expression, node)]);
  const ast = rewritten(users.parse(withInserts(expression, inserts)).ast);
  const { valid, type, error } = internal.parse(serialize(ast)).check();
  if (!valid) throw error;
  if (type !== 'bool' && type !== 'dyn') throw new TypeError(`must evaluate to bool, not ${type}`);
  const evaluate = compileCounted(ast);
  return { drivers: driversOf(nodes), matches: (device, onCost) => evaluated(evaluate, device, onCost) };
}

/** Replaces `int()`, because that of the library accepts an empty text and other bases. */
const strictInserts = ({ op, args, range }: ASTNode): readonly (readonly [number, string])[] =>
  op === 'call' && args[0] === 'int' ? [[range.start, 'strict_']] : [];

function evaluated(evaluate: ParseResult, device: SelectorDevice, onCost?: (units: number) => void): boolean {
  let value: unknown;
  try {
    value = withinCost(MOST_SELECTOR_COST, () => evaluate({ device }) as unknown, onCost);
  } catch (error) {
    const text = error instanceof CostError ? 'too complex, exceeds cost limit' : wording(error);
    throw new SelectorError(text, error);
  }
  if (typeof value !== 'boolean') throw new SelectorError('the result is not a bool', undefined);
  return value;
}

/** Returns the texts that are compared with `device.driver`. */
function driversOf(nodes: readonly ASTNode[]): readonly string[] {
  const drivers = nodes.flatMap(({ op, args }) => {
    if (op !== '==') return [];
    const sides = args as readonly [ASTNode, ASTNode];
    const isCompared = sides.some(
      (side) =>
        isField(side) && side.args[1] === 'driver' && side.args[0].op === 'id' && side.args[0].args === 'device',
    );
    return isCompared
      ? sides.flatMap(({ op: kind, args: value }) => (kind === 'value' && typeof value === 'string' ? [value] : []))
      : [];
  });
  return [...new Set(drivers)];
}

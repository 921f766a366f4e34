/**
 * What evaluations of the Common Expression Language may cost. The library counts nothing: a compiler that is asked to
 * writes into each expression what counts, in units of about one step, or ten characters, as the API server's are.
 */
import type { ASTNode, Environment } from '@marcbachmann/cel-js';
import { innerNodes, isNode } from './cel-nodes.ts';

/** Of one evaluation, as in Kubernetes. */
export const MOST_PER_CALL = 1_000_000;
const CHARACTERS = 10;

/** An evaluation was ended, because it cost more than it may. */
export class CostError extends Error {}

/** What several evaluations may cost together is spent. */
export class BudgetError extends CostError {
  constructor() {
    super('validation failed due to running out of cost budget, no further validation rules will be run');
  }
}

/** Of the evaluation that is going on: evaluations are synchronous, and lazy variables nest them. */
let left = Number.POSITIVE_INFINITY;

/** Counts. @throws CostError when more is spent than there was */
export function charge(units: number): void {
  left -= units;
  if (left < 0) throw new CostError('operation cancelled: actual cost limit exceeded');
}

/** Counts what a text costs to be read so many times. @throws CostError */
export const chargeText = (text: string, times = 1): void => charge(Math.ceil(text.length / CHARACTERS) * times);

/**
 * Runs with a limit of its own, or with what is left of the one around it.
 *
 * @throws CostError when that is not enough, BudgetError when it is the one around it that is spent
 */
export function withinCost<T>(limit: number, run: () => T): T {
  const before = left;
  const own = Math.min(limit, before);
  left = own;
  try {
    const value = run();
    // `exists` and `||` go on after an error of one operand
    if (left >= 0) return value;
    throw new CostError('operation cancelled: actual cost limit exceeded');
  } catch (error) {
    if (left >= 0) throw error;
    throw own < limit ? new BudgetError() : new CostError('operation cancelled: actual cost limit exceeded');
  } finally {
    left = before - (own - Math.max(0, left));
  }
}

/** Units of a value with all that is in it; no more is looked at than may still be spent. */
export function sizeOf(value: unknown): number {
  let units = 0;
  const rest: unknown[] = [value];
  while (rest.length > 0 && units <= left) {
    const next = rest.pop();
    units += typeof next === 'string' ? 1 + Math.floor(next.length / CHARACTERS) : 1;
    // what is not looked at costs as much at least
    if (units + partsOf(next).size > left) return units + partsOf(next).size;
    for (const part of partsOf(next).parts()) rest.push(part);
  }
  return units;
}

function partsOf(value: unknown): { readonly size: number; readonly parts: () => Iterable<unknown> } {
  if (Array.isArray(value)) return { size: value.length, parts: () => value };
  const entries = value instanceof Map ? [...value] : isPlain(value) ? Object.entries(value) : [];
  return { size: 2 * entries.length, parts: () => entries.flat() };
}

const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** Names that expressions of users cannot have: they begin with what no name of theirs may. */
const COUNTED = 'cost_of_value_';
const LOOPED = 'cost_of_loop_';
const JOINED = 'cost_of_join_';
const LOOPS = new Set(['all', 'exists', 'exists_one', 'existsOne', 'map', 'filter']);
/** What functions are called on that is no value. */
const LIBRARIES = new Set(['cel', 'optional', 'sets', 'ip', 'format']);
const UNCOUNTED = new Set(['has', 'dyn', 'type', 'bind', 'of', 'none', 'or', 'orValue', 'optMap', 'hasValue', 'value']);

export const registerCost = (environment: Environment): Environment =>
  environment
    .registerFunction(`${COUNTED}(dyn): dyn`, (value: unknown) => {
      charge(sizeOf(value));
      return value;
    })
    .registerFunction(`${LOOPED}(dyn, int): dyn`, (value: unknown, perItem: bigint) => {
      charge(Number(perItem) * itemsOf(value));
      return value;
    })
    .registerFunction(`${JOINED}(dyn): dyn`, joined)
    .registerFunction(`${JOINED}(dyn, dyn): dyn`, joined);

function joined(value: unknown, separator: unknown = ''): unknown {
  charge(sizeOf(value));
  chargeText(String(separator), itemsOf(value));
  return value;
}

function itemsOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  if (value instanceof Map) return value.size;
  return isPlain(value) ? Object.keys(value).length : 1;
}

/** What an expression has to be, for its cost to be counted. Shares nothing that is changed with the original. */
export function counting(node: ASTNode): ASTNode {
  const { op, args } = node;
  if (op === 'rcall') return countingMethod(node as ASTNode & { readonly op: 'rcall' });
  if (op === 'call') {
    const [name, given] = args as [string, ASTNode[]];
    const inner = given.map(counting);
    return made(node, 'call', [name, UNCOUNTED.has(name) ? inner : inner.map(counted)]);
  }
  const parts = mapped(args);
  if (['==', '!=', 'in'].includes(op)) return made(node, op, (parts as ASTNode[]).map(counted));
  const whole = made(node, op, parts);
  return op === '+' || op === 'list' || op === 'map' ? counted(whole) : whole;
}

function countingMethod(node: ASTNode & { readonly op: 'rcall' }): ASTNode {
  const [name, receiver, given] = node.args as [string, ASTNode, ASTNode[]];
  if (LOOPS.has(name)) {
    const [variable, ...bodies] = given;
    const perItem = bodies.reduce((sum, body) => sum + stepsOf(body), 1);
    const looped = made(node, 'call', [LOOPED, [counting(receiver), made(node, 'value', BigInt(perItem))]]);
    return made(node, 'rcall', [name, looped, [...(variable ? [variable] : []), ...bodies.map(counting)]]);
  }
  const inner = given.map(counting);
  const isLibrary = receiver.op === 'id' && LIBRARIES.has(receiver.args);
  const on = counting(receiver);
  if (UNCOUNTED.has(name)) return made(node, 'rcall', [name, on, inner]);
  if (name === 'join') return made(node, 'rcall', [name, made(node, 'call', [JOINED, [on, ...inner]]), inner]);
  return made(node, 'rcall', [name, isLibrary ? on : counted(on), inner.map(counted)]);
}

const stepsOf = (node: ASTNode): number => innerNodes(node).reduce((sum, inner) => sum + stepsOf(inner), 1);

const counted = (node: ASTNode): ASTNode => made(node, 'call', [COUNTED, [node]]);

const mapped = (args: unknown): unknown => {
  if (Array.isArray(args)) return args.map(mapped);
  return isNode(args) ? counting(args) : args;
};

const made = ({ input, range }: ASTNode, op: string, args: unknown): ASTNode =>
  ({ input, range, op, args }) as unknown as ASTNode;

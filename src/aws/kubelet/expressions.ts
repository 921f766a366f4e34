/**
 * Kubelet settings as expressions over an instance type, in the Common Expression Language (feature gate
 * NodeClassCEL): `maxPods: "min(max_pods, 110)"`, `kubeReserved: {memory: "11 * max_pods + 255"}`.
 */
import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import { LRUCache } from 'lru-cache';
import type { StringMap } from '#api/objects';
import {
  CostError,
  countingCompiler,
  matchesInserts,
  nodesOf,
  registerMatches,
  withInserts,
  withinCost,
} from '#api/schema';
import { isQuantity } from '#api/values';
import { messageOf, put } from '#lib';
import type { Kubelet } from './block.ts';
import { defaultCardInterfaces } from './pod-limit.ts';

/** Properties of an instance type that expressions can use. */
export interface InstanceTypeFacts {
  readonly vcpus: number;
  readonly memoryMib: number;
  /** Number of interfaces of the default network card. */
  readonly defaultEnis: number;
  readonly ipsPerEni: number;
  readonly instanceType: string;
  /** In `maxPods`, the limit of the AMI family. In other fields, the value of `maxPods`. */
  readonly maxPods: number;
}

const RESERVED_FIELDS = ['kubeReserved', 'systemReserved'] as const;
const MAX_INT32 = 2 ** 31 - 1;

const variables = (facts: InstanceTypeFacts): Readonly<Record<string, bigint | string>> => ({
  vcpus: BigInt(facts.vcpus),
  memory_mib: BigInt(facts.memoryMib),
  default_enis: BigInt(facts.defaultEnis),
  ips_per_eni: BigInt(facts.ipsPerEni),
  max_pods: BigInt(facts.maxPods),
  instance_type: facts.instanceType,
});

/**
 * Evaluates an expression and truncates its value to an integer.
 * @throws ExpressionError
 */
function evaluate(text: string, facts: InstanceTypeFacts): number {
  const value = compile(text)(variables(facts));
  // converts negative zero to zero, because it would be printed as -0
  const number = Math.trunc(Number(value)) + 0;
  if (!Number.isFinite(number)) throw new ExpressionError(`evaluating expression, the result is ${String(value)}`);
  return number;
}

/**
 * Returns the properties of a type.
 * @param maxPods depends on the field that is evaluated
 */
export const factsOf = (info: InstanceTypeInfo, maxPods: number): InstanceTypeFacts => ({
  vcpus: info.VCpuInfo?.DefaultVCpus ?? 0,
  memoryMib: info.MemoryInfo?.SizeInMiB ?? 0,
  defaultEnis: defaultCardInterfaces(info),
  ipsPerEni: info.NetworkInfo?.Ipv4AddressesPerInterface ?? 0,
  instanceType: info.InstanceType ?? '',
  maxPods,
});

const upTo = (value: number, multiple: number): number => Math.ceil(value / multiple) * multiple;

/**
 * Evaluates an expression and formats its value as a quantity.
 * @throws ExpressionError if the value is negative
 */
function reservedQuantity(resource: string, text: string, facts: InstanceTypeFacts): string {
  const value = evaluate(text, facts);
  if (value < 0) throw new ExpressionError(`evaluating expression, ${value} is negative`);
  switch (resource) {
    case 'cpu':
      return `${upTo(value, 10)}m`;
    case 'memory':
      return `${upTo(value, 16)}Mi`;
    case 'ephemeral-storage':
      return `${value}Gi`;
    default:
      return String(value);
  }
}

/** Reserved resources of a kubelet block for one instance type, as quantities. */
export interface Reserved {
  readonly kubeReserved: StringMap;
  readonly systemReserved: StringMap;
}

function resolveList(field: string, list: StringMap | undefined, facts: InstanceTypeFacts | undefined): StringMap {
  const amounts: Record<string, string> = {};
  for (const [resource, text] of Object.entries(list ?? {}))
    if (isQuantity(text)) put(amounts, resource, text);
    else if (facts !== undefined)
      amounts[resource] = withField(`spec.kubelet.${field}[${resource}]`, () =>
        reservedQuantity(resource, text, facts),
      );
  return amounts;
}

/** Runs a function and adds the name of the field to its error. */
function withField<T>(field: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw new ExpressionError(`${messageOf(error)} (field=${field})`, { cause: error });
  }
}

/**
 * Evaluates the reserved resources. Expressions are left out if there are no facts, because the feature gate is off.
 * @throws ExpressionError
 */
export const resolveReserved = (kubelet: Kubelet, facts?: InstanceTypeFacts): Reserved => ({
  kubeReserved: resolveList('kubeReserved', kubelet.kubeReserved, facts),
  systemReserved: resolveList('systemReserved', kubelet.systemReserved, facts),
});

function podsFrom(text: string, facts: InstanceTypeFacts): number {
  const pods = evaluate(text, facts);
  if (pods < 0 || pods > MAX_INT32)
    throw new ExpressionError(`evaluating expression, ${pods} is not between 0 and ${MAX_INT32}`);
  return pods;
}

/**
 * Returns the block with `maxPods` evaluated, if it is an expression.
 * @throws ExpressionError
 */
export function withMaxPods(kubelet: Kubelet, facts: InstanceTypeFacts): Kubelet {
  const { maxPods } = kubelet;
  if (typeof maxPods !== 'string') return kubelet;
  return { ...kubelet, maxPods: withField('spec.kubelet.maxPods', () => podsFrom(maxPods, facts)) };
}

/** Lists each expression of a kubelet block with the path of its field. */
function* expressionsIn(kubelet: Kubelet): Generator<readonly [field: string, text: string]> {
  if (typeof kubelet.maxPods === 'string') yield ['spec.kubelet.maxPods', kubelet.maxPods];
  for (const field of RESERVED_FIELDS)
    for (const [resource, text] of Object.entries(kubelet[field] ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)))
      if (!isQuantity(text)) yield [`spec.kubelet.${field}[${resource}]`, text];
}

/** Returns true if a field contains an expression. */
export const hasExpressions = (kubelet: Kubelet): boolean => expressionsIn(kubelet).next().done !== true;

/** Returns the error of the first expression that does not compile, or undefined if all expressions compile. */
export function compileFailure(kubelet: Kubelet): string | undefined {
  try {
    for (const [field, text] of expressionsIn(kubelet)) withField(field, () => compile(text));
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** An expression that cannot be compiled, or that has no usable value for an instance type. */
class ExpressionError extends Error {}

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

type Program = (values: Readonly<Record<string, bigint | string>>) => unknown;
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
function compile(text: string): Program {
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

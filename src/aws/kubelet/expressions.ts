/**
 * Kubelet settings that are expressions over an instance type, in the Common Expression Language (gate NodeClassCEL):
 * `maxPods: "min(max_pods, 110)"`, `kubeReserved: {memory: "11 * max_pods + 255"}`.
 */

import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import type { StringMap } from '../../api/kubernetes.ts';
import { messageOf } from '../../lib/error-message.ts';
import { put } from '../../lib/own.ts';
import { isQuantity, type Kubelet } from './block.ts';
import { compiled, ExpressionError } from './expression-programs.ts';
import { defaultCardInterfaces } from './pod-limit.ts';

/** What an expression may ask of an instance type. */
export interface InstanceTypeFacts {
  readonly vcpus: number;
  readonly memoryMib: number;
  /** Interfaces of the default network card. */
  readonly defaultEnis: number;
  readonly ipsPerEni: number;
  readonly instanceType: string;
  /** Within `maxPods` the family's own limit, elsewhere the value of `maxPods`. */
  readonly maxPods: number;
}

const RESERVED_FIELDS = ['kubeReserved', 'systemReserved'] as const;
const MAX_INT32 = 2 ** 31 - 1;

/** The variables of an expression. */
const variables = (facts: InstanceTypeFacts): Readonly<Record<string, bigint | string>> => ({
  vcpus: BigInt(facts.vcpus),
  memory_mib: BigInt(facts.memoryMib),
  default_enis: BigInt(facts.defaultEnis),
  ips_per_eni: BigInt(facts.ipsPerEni),
  max_pods: BigInt(facts.maxPods),
  instance_type: facts.instanceType,
});

/** A whole number; fractions are cut. @throws ExpressionError */
function evaluated(text: string, facts: InstanceTypeFacts): number {
  const value = compiled(text)(variables(facts));
  // no negative zero, which would be written so
  const number = Math.trunc(Number(value)) + 0;
  if (!Number.isFinite(number)) throw new ExpressionError(`evaluating expression, its value is ${String(value)}`);
  return number;
}

/** Facts about a type. `maxPods` depends on the setting that is looked at. */
export const factsOf = (info: InstanceTypeInfo, maxPods: number): InstanceTypeFacts => ({
  vcpus: info.VCpuInfo?.DefaultVCpus ?? 0,
  memoryMib: info.MemoryInfo?.SizeInMiB ?? 0,
  defaultEnis: defaultCardInterfaces(info),
  ipsPerEni: info.NetworkInfo?.Ipv4AddressesPerInterface ?? 0,
  instanceType: info.InstanceType ?? '',
  maxPods,
});

const upTo = (value: number, multiple: number): number => Math.ceil(value / multiple) * multiple;

/** The quantity that a value stands for. @throws ExpressionError when it is negative */
function reservedQuantity(resource: string, text: string, facts: InstanceTypeFacts): string {
  const value = evaluated(text, facts);
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

/** The reserved lists of a kubelet block for one instance type: quantities only. */
export interface Reserved {
  readonly kubeReserved: StringMap;
  readonly systemReserved: StringMap;
}

function resolved(field: string, list: StringMap | undefined, facts: InstanceTypeFacts | undefined): StringMap {
  const amounts: Record<string, string> = {};
  for (const [resource, text] of Object.entries(list ?? {}))
    if (isQuantity(text)) put(amounts, resource, text);
    else if (facts !== undefined)
      amounts[resource] = located(`spec.kubelet.${field}[${resource}]`, () => reservedQuantity(resource, text, facts));
  return amounts;
}

/** Runs something, and says of its failure which field it is about. */
function located<T>(field: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw new ExpressionError(`${messageOf(error)} (field=${field})`, { cause: error });
  }
}

/** Without facts, because the gate is off, expressions are left out. @throws ExpressionError */
export const resolveReserved = (kubelet: Kubelet, facts?: InstanceTypeFacts): Reserved => ({
  kubeReserved: resolved('kubeReserved', kubelet.kubeReserved, facts),
  systemReserved: resolved('systemReserved', kubelet.systemReserved, facts),
});

function podsFrom(text: string, facts: InstanceTypeFacts): number {
  const pods = evaluated(text, facts);
  if (pods < 0 || pods > MAX_INT32)
    throw new ExpressionError(`evaluating expression, ${pods} is not between 0 and ${MAX_INT32}`);
  return pods;
}

/** The block with a number in place of an expression for `maxPods`. @throws ExpressionError */
export function withMaxPods(kubelet: Kubelet, facts: InstanceTypeFacts): Kubelet {
  const { maxPods } = kubelet;
  if (typeof maxPods !== 'string') return kubelet;
  return { ...kubelet, maxPods: located('spec.kubelet.maxPods', () => podsFrom(maxPods, facts)) };
}

/** Each expression of a kubelet block, with its place. */
function* expressionsIn(kubelet: Kubelet): Generator<readonly [field: string, text: string]> {
  if (typeof kubelet.maxPods === 'string') yield ['spec.kubelet.maxPods', kubelet.maxPods];
  for (const field of RESERVED_FIELDS)
    for (const [resource, text] of Object.entries(kubelet[field] ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)))
      if (!isQuantity(text)) yield [`spec.kubelet.${field}[${resource}]`, text];
}

/** Whether some field is an expression rather than a number or quantity. */
export const hasExpressions = (kubelet: Kubelet): boolean => expressionsIn(kubelet).next().done !== true;

/** Why the first expression that does not compile does not; undefined when all do. */
export function compileFailure(kubelet: Kubelet): string | undefined {
  try {
    for (const [field, text] of expressionsIn(kubelet)) located(field, () => compiled(text));
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

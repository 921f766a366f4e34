/** Functions of Kubernetes' CEL environment for device selectors. */
import type { Environment } from '@marcbachmann/cel-js';
import { isQuantity, readQuantity } from '../quantity.ts';
import { charge } from '../schema/cel-cost.ts';
import { registerKubernetesFunctions } from '../schema/celfunctions.ts';
import { registerAddresses, registerUrls } from './selector-addresses.ts';
import { registerFormats } from './selector-formats.ts';
import { Semver } from './semver.ts';

const BILLION = 1_000_000_000n;
const MAX_INT = 2n ** 63n - 1n;

/** Exact quantity in billionths, as a value of an expression. */
export class SelectorQuantity {
  readonly nano: bigint;

  constructor(nano: bigint) {
    this.nano = nano;
  }

  static parse(text: string): SelectorQuantity {
    return new SelectorQuantity(readQuantity(text).nano);
  }

  get isInteger(): boolean {
    return this.nano % BILLION === 0n;
  }
}

/** Map whose missing keys have an empty map as their value, as the domains of attributes in Kubernetes. */
export function mapOfDomains<T>(entries: Iterable<readonly [string, ReadonlyMap<string, T>]>): Map<string, unknown> {
  const domains = new Map<string, unknown>(entries);
  const find = Map.prototype.get.bind(domains);
  // an own property, because the library only accepts plain maps
  domains.get = (key) => find(key) ?? new Map();
  return domains;
}

function integerOf(quantity: SelectorQuantity): bigint {
  const whole = quantity.nano / BILLION;
  if (!quantity.isInteger || whole > MAX_INT || whole < -MAX_INT)
    throw new RangeError('cannot convert value to integer');
  return whole;
}

const order = (left: bigint, right: bigint): bigint => (left < right ? -1n : left > right ? 1n : 0n);

const registerQuantities = (environment: Environment): Environment =>
  environment
    .registerType('Quantity', { ctor: SelectorQuantity })
    .registerFunction('quantity(string): Quantity', (text: string) => SelectorQuantity.parse(text))
    .registerFunction('isQuantity(string): bool', isQuantity)
    .registerFunction('Quantity.isInteger(): bool', (one: SelectorQuantity) => one.isInteger)
    .registerFunction('Quantity.asInteger(): int', integerOf)
    .registerFunction('Quantity.asApproximateFloat(): double', ({ nano }: SelectorQuantity) => Number(nano) / 1e9)
    .registerFunction('Quantity.sign(): int', ({ nano }: SelectorQuantity) => order(nano, 0n))
    .registerFunction(
      'Quantity.add(Quantity): Quantity',
      (one: SelectorQuantity, other: SelectorQuantity) => new SelectorQuantity(one.nano + other.nano),
    )
    .registerFunction(
      'Quantity.add(int): Quantity',
      (one: SelectorQuantity, other: bigint) => new SelectorQuantity(one.nano + other * BILLION),
    )
    .registerFunction(
      'Quantity.sub(Quantity): Quantity',
      (one: SelectorQuantity, other: SelectorQuantity) => new SelectorQuantity(one.nano - other.nano),
    )
    .registerFunction(
      'Quantity.sub(int): Quantity',
      (one: SelectorQuantity, other: bigint) => new SelectorQuantity(one.nano - other * BILLION),
    )
    .registerFunction(
      'Quantity.isLessThan(Quantity): bool',
      (a: SelectorQuantity, b: SelectorQuantity) => a.nano < b.nano,
    )
    .registerFunction(
      'Quantity.isGreaterThan(Quantity): bool',
      (a: SelectorQuantity, b: SelectorQuantity) => a.nano > b.nano,
    )
    .registerFunction('Quantity.compareTo(Quantity): int', (a: SelectorQuantity, b: SelectorQuantity) =>
      order(a.nano, b.nano),
    )
    .registerOperator('Quantity == Quantity', (a: SelectorQuantity, b: SelectorQuantity) => a.nano === b.nano);

function versionOf(text: string, normalize = false): Semver {
  const version = normalize ? Semver.parseTolerant(text) : Semver.parse(text);
  if (version === undefined) throw new RangeError('the text is not a semantic version');
  return version;
}

const isVersion = (text: string, normalize = false): boolean =>
  (normalize ? Semver.parseTolerant(text) : Semver.parse(text)) !== undefined;

const registerVersions = (environment: Environment): Environment =>
  environment
    .registerType('Semver', { ctor: Semver })
    .registerFunction('semver(string): Semver', (text: string) => versionOf(text))
    .registerFunction('semver(string, bool): Semver', versionOf)
    .registerFunction('isSemver(string): bool', (text: string) => isVersion(text))
    .registerFunction('isSemver(string, bool): bool', isVersion)
    .registerFunction('Semver.major(): int', ({ core }: Semver) => core[0])
    .registerFunction('Semver.minor(): int', ({ core }: Semver) => core[1])
    .registerFunction('Semver.patch(): int', ({ core }: Semver) => core[2])
    .registerFunction('Semver.isLessThan(Semver): bool', (a: Semver, b: Semver) => a.compare(b) < 0)
    .registerFunction('Semver.isGreaterThan(Semver): bool', (a: Semver, b: Semver) => a.compare(b) > 0)
    .registerFunction('Semver.compareTo(Semver): int', (a: Semver, b: Semver) => BigInt(a.compare(b)))
    .registerOperator('Semver == Semver', (a: Semver, b: Semver) => a.compare(b) === 0);

type Scalar = bigint | boolean | string | number;

/** Returns a text that is equal for equal scalars and versions. */
function identityOf(value: unknown): string {
  charge(1);
  if (value instanceof Semver) return `version ${value.core.join('.')}-${value.prerelease.join('.')}`;
  return value instanceof SelectorQuantity ? `quantity ${value.nano}` : `${typeof value} ${String(value as Scalar)}`;
}

const asSet = (list: readonly unknown[]): Set<string> => new Set(list.map(identityOf));

const includes = (value: unknown, wanted: unknown): boolean =>
  (Array.isArray(value) ? value : [value]).some((item) => identityOf(item) === identityOf(wanted));

type List = readonly unknown[];

const registerSets = (environment: Environment): Environment =>
  environment
    .registerFunction('sets_contains(list, list): bool', (a: List, b: List) => asSet(b).isSubsetOf(asSet(a)))
    .registerFunction('sets_equivalent(list, list): bool', (a: List, b: List) => {
      const [left, right] = [asSet(a), asSet(b)];
      return left.size === right.size && left.isSubsetOf(right);
    })
    .registerFunction('sets_intersects(list, list): bool', (a: List, b: List) => !asSet(a).isDisjointFrom(asSet(b)))
    .registerFunction('dyn.includes(dyn): bool', includes);

const lesser = (a: unknown, b: unknown): boolean => (a as bigint) < (b as bigint);

function extremeOf(items: List, isBetter: (a: unknown, b: unknown) => boolean): unknown {
  if (items.length === 0) throw new RangeError('the list is empty');
  return items.reduce((best, item) => (isBetter(item, best) ? item : best));
}

const registerLists = (environment: Environment): Environment =>
  environment
    .registerFunction('list.min(): dyn', (items: List) => extremeOf(items, lesser))
    .registerFunction('list.max(): dyn', (items: List) => extremeOf(items, (a, b) => lesser(b, a)))
    .registerFunction('list.sum(): dyn', (items: List) =>
      items.reduce((sum, item) => (sum as bigint) + (item as bigint), 0n),
    )
    .registerFunction('list.isSorted(): bool', (items: List) =>
      items.every((item, at) => at === 0 || !lesser(item, items[at - 1])),
    )
    .registerFunction('list.indexOf(dyn): int', (items: List, wanted: unknown) =>
      BigInt(items.findIndex((item) => identityOf(item) === identityOf(wanted))),
    )
    .registerFunction('list.lastIndexOf(dyn): int', (items: List, wanted: unknown) =>
      BigInt(items.findLastIndex((item) => identityOf(item) === identityOf(wanted))),
    );

function characterAt(text: string, at: bigint): string {
  if (at < 0n || at > BigInt(text.length)) throw new RangeError('index out of range');
  return text.charAt(Number(at));
}

function replaced(text: string, from: string, to: string, limit = -1n): string {
  const parts = text.split(from);
  const times = limit < 0n ? parts.length - 1 : Math.min(Number(limit), parts.length - 1);
  charge(Math.ceil((times * to.length) / 10));
  return (
    parts.slice(0, times + 1).join(to) +
    parts
      .slice(times + 1)
      .map((part) => from + part)
      .join('')
  );
}

const registerTexts = (environment: Environment): Environment =>
  environment
    .registerFunction('string.charAt(int): string', characterAt)
    .registerFunction('string.replace(string, string): string', (text: string, from: string, to: string) =>
      replaced(text, from, to),
    )
    .registerFunction('string.replace(string, string, int): string', replaced)
    .registerFunction('string.reverse(): string', (text: string) => [...text].reverse().join(''));

/** Registers the functions that expressions can call. */
export const registerSelectorFunctions = (environment: Environment): Environment =>
  [
    registerKubernetesFunctions,
    registerQuantities,
    registerVersions,
    registerSets,
    registerLists,
    registerTexts,
    registerAddresses,
    registerUrls,
    registerFormats,
  ].reduce((registered, register) => register(registered), environment);

/** Functions that Kubernetes adds to the Common Expression Language; those of values of their own are in cel-library. */
import type { Environment } from '@marcbachmann/cel-js';
import { printQuantity, readQuantity } from '../quantity.ts';
import { chargeText } from './cel-cost.ts';
import { registerAddresses } from './cel-library/addresses.ts';
import { registerFormats } from './cel-library/formats.ts';
import { registerVersions } from './cel-library/semver.ts';
import { registerSets } from './cel-library/sets.ts';
import { registerTextFormat } from './cel-library/text-format.ts';
import { isUrl, registerUrls } from './cel-library/urls.ts';
import { costing, registerMatches } from './celmatches.ts';

/** The value of `quantity('…')`, in billionths. */
class CelQuantity {
  readonly nano: bigint;

  constructor(nano: bigint) {
    this.nano = nano;
  }
}

const BILLION = 1_000_000_000n;
const MAX_INT = 2n ** 63n - 1n;

const isQuantity = (text: string): boolean => {
  try {
    readQuantity(text);
    return true;
  } catch {
    return false;
  }
};

function strictInt(value: string): bigint {
  if (/^[+-]?\d+$/.test(value)) {
    const number = BigInt(value.replace(/^\+/, ''));
    if (number <= MAX_INT && number >= -MAX_INT - 1n) return number;
  }
  throw new RangeError("type conversion error from 'string' to 'int'");
}

function truncated(value: number): bigint {
  if (!Number.isFinite(value) || Math.abs(value) > Number(MAX_INT)) throw new RangeError('integer overflow');
  return BigInt(Math.trunc(value));
}

const order = (left: unknown, right: unknown): number => {
  const [a, b] = [left, right] as [bigint, bigint];
  return a < b ? -1 : a > b ? 1 : 0;
};

function extreme(items: readonly unknown[], sign: 1 | -1, name: string): unknown {
  if (items.length === 0) throw new RangeError(`${name} called on empty list`);
  return items.reduce((best, item) => (order(item, best) * sign > 0 ? item : best));
}

/** Every occurrence, as long as the result may be afforded. */
function replacedAll(text: string, search: string, by: string): string {
  chargeText(by, text.split(search).length);
  return text.replaceAll(search, by);
}

function replaced(text: string, search: string, by: string, limit: bigint): string {
  chargeText(by, text.split(search).length);
  let rest = text;
  let result = '';
  for (let left = limit; left !== 0n; left -= 1n) {
    const index = rest.indexOf(search);
    if (index < 0 || search === '') break;
    result += rest.slice(0, index) + by;
    rest = rest.slice(index + search.length);
  }
  return result + rest;
}

function charAt(text: string, index: bigint): string {
  const characters = [...text];
  if (index < 0n || index > BigInt(characters.length)) throw new RangeError(`index out of range: ${index}`);
  return characters[Number(index)] ?? '';
}

const findAll = (text: string, pattern: string, limit: bigint): string[] =>
  costing(text, pattern).matches(text, limit < 0n ? Number.POSITIVE_INFINITY : Number(limit));

const sum = (items: readonly unknown[]): unknown =>
  items.some((item) => typeof item === 'number')
    ? items.reduce<number>((total, item) => total + Number(item), 0)
    : (items as bigint[]).reduce((total, item) => total + item, 0n);

const position = (index: number): bigint => BigInt(index);

function registerText(environment: Environment): void {
  registerMatches(environment)
    .registerFunction(
      'string.find(string): string',
      (text: string, pattern: string) => costing(text, pattern).matches(text, 1)[0] ?? '',
    )
    .registerFunction('string.findAll(string): list<string>', (text: string, pattern: string) =>
      findAll(text, pattern, -1n),
    )
    .registerFunction('string.findAll(string, int): list<string>', findAll)
    .registerFunction('string.charAt(int): string', charAt)
    .registerFunction('string.reverse(): string', (text: string) => [...text].reverse().join(''))
    .registerFunction('string.replace(string, string): string', replacedAll)
    .registerFunction('string.replace(string, string, int): string', replaced);
}

function registerLists(environment: Environment): void {
  environment
    .registerFunction('list.isSorted(): bool', (items: unknown[]) =>
      items.every((item, index) => index === 0 || order(items[index - 1], item) <= 0),
    )
    .registerFunction('list.sum(): dyn', sum)
    .registerFunction('list.min(): dyn', (items: unknown[]) => extreme(items, -1, 'min'))
    .registerFunction('list.max(): dyn', (items: unknown[]) => extreme(items, 1, 'max'))
    .registerFunction('list.indexOf(dyn): int', (items: unknown[], item: unknown) => position(items.indexOf(item)))
    .registerFunction('list.lastIndexOf(dyn): int', (items: unknown[], item: unknown) =>
      position(items.lastIndexOf(item)),
    );
}

function registerNumbers(environment: Environment): void {
  environment
    .registerFunction('strict_int(string): int', strictInt)
    .registerFunction('strict_int(int): int', (value: bigint) => value)
    .registerFunction('strict_int(double): int', truncated)
    .registerFunction('strict_int(google.protobuf.Timestamp): int', (value: Date) =>
      BigInt(Math.floor(value.getTime() / 1000)),
    );
}

function registerQuantities(environment: Environment): void {
  const whole = ({ nano }: CelQuantity): bigint => {
    if (nano % BILLION !== 0n) throw new RangeError('cannot convert value to integer');
    return nano / BILLION;
  };
  environment
    .registerType('Quantity', { ctor: CelQuantity, fields: {} })
    .registerFunction('isQuantity(string): bool', isQuantity)
    .registerFunction('quantity(string): Quantity', (text: string) => new CelQuantity(readQuantity(text).nano))
    .registerFunction('Quantity.sign(): int', ({ nano }: CelQuantity) => (nano === 0n ? 0n : nano < 0n ? -1n : 1n))
    .registerFunction('Quantity.isInteger(): bool', ({ nano }: CelQuantity) => nano % BILLION === 0n)
    .registerFunction('Quantity.asInteger(): int', whole)
    .registerFunction('Quantity.asApproximateFloat(): double', ({ nano }: CelQuantity) => Number(nano) / 1e9)
    .registerFunction(
      'Quantity.add(Quantity): Quantity',
      (a: CelQuantity, b: CelQuantity) => new CelQuantity(a.nano + b.nano),
    )
    .registerFunction(
      'Quantity.sub(Quantity): Quantity',
      (a: CelQuantity, b: CelQuantity) => new CelQuantity(a.nano - b.nano),
    )
    .registerFunction(
      'Quantity.add(int): Quantity',
      (a: CelQuantity, b: bigint) => new CelQuantity(a.nano + b * BILLION),
    )
    .registerFunction(
      'Quantity.sub(int): Quantity',
      (a: CelQuantity, b: bigint) => new CelQuantity(a.nano - b * BILLION),
    )
    .registerOperator('Quantity == Quantity', (a: CelQuantity, b: CelQuantity) => a.nano === b.nano)
    .registerFunction('Quantity.isGreaterThan(Quantity): bool', (a: CelQuantity, b: CelQuantity) => a.nano > b.nano)
    .registerFunction('Quantity.isLessThan(Quantity): bool', (a: CelQuantity, b: CelQuantity) => a.nano < b.nano)
    .registerFunction('Quantity.compareTo(Quantity): int', (a: CelQuantity, b: CelQuantity) =>
      BigInt(order(a.nano, b.nano)),
    )
    .registerFunction('string(Quantity): string', ({ nano }: CelQuantity) =>
      printQuantity({ nano, format: 'DecimalSI' }),
    );
}

export function registerKubernetesFunctions(environment: Environment): Environment {
  registerText(environment);
  registerLists(environment);
  registerNumbers(environment);
  registerQuantities(environment);
  registerAddresses(environment);
  registerUrls(environment);
  registerVersions(environment);
  registerFormats(environment, isUrl);
  registerSets(environment);
  return registerTextFormat(environment);
}

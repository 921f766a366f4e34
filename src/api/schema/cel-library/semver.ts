/** Semantic versions of the Common Expression Language, as Kubernetes has them: `semver('…')`. */
import type { Environment } from '@marcbachmann/cel-js';
import { quoted } from '../../../lib/quoted.ts';

/** The value of `semver('…')`. What is built from does not take part in comparisons. */
class SemanticVersion {
  readonly numbers: readonly [major: bigint, minor: bigint, patch: bigint];
  readonly prerelease: readonly (bigint | string)[];

  constructor(numbers: readonly [bigint, bigint, bigint], prerelease: readonly (bigint | string)[]) {
    this.numbers = numbers;
    this.prerelease = prerelease;
  }
}

const VERSION =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/;
/** Of the 64 bits that each number has. */
const MOST = 2n ** 64n - 1n;

/** @throws RangeError when it is none */
function parse(text: string): SemanticVersion {
  const [whole, major = '', minor = '', patch = '', prerelease] = VERSION.exec(text) ?? [];
  const numbers = [BigInt(major), BigInt(minor), BigInt(patch)] as const;
  const parts = prerelease?.split('.') ?? [];
  const isRight = whole !== undefined && numbers.every((number) => number <= MOST) && !parts.some(isPadded);
  if (!isRight) throw new RangeError(`${quoted(text)} is not a semantic version such as 1.2.3 or 1.2.3-alpha.1`);
  return new SemanticVersion(
    numbers,
    parts.map((part) => (/^\d+$/.test(part) ? BigInt(part) : part)),
  );
}

const isPadded = (part: string): boolean => /^0\d+$/.test(part);

/** Takes a leading `v` and zeros away, and adds the numbers that are missing. @throws RangeError when it is none */
function parseNormalized(text: string): SemanticVersion {
  const parts = text.replace(/^v/, '').split('.');
  const three = [...parts.slice(0, 2), ...(parts.length > 2 ? [parts.slice(2).join('.')] : [])];
  const bare = three.map((part) => (part.length > 1 ? part.replace(/^0+(?!\D|$)/, '').replace(/^0+(?=\d)/, '') : part));
  if (bare.length < 3 && /[+-]/.test(bare.at(-1) ?? ''))
    throw new RangeError('short version cannot contain PreRelease/Build meta data');
  while (bare.length < 3) bare.push('0');
  return parse(bare.join('.'));
}

const reading = (text: string, normalize: boolean): SemanticVersion =>
  normalize ? parseNormalized(text) : parse(text);

function isVersion(text: string, normalize = false): boolean {
  try {
    reading(text, normalize);
    return true;
  } catch {
    return false;
  }
}

/** -1, 0 or 1, by the precedence of semver.org. */
function compare(left: SemanticVersion, right: SemanticVersion): number {
  for (const [at, number] of left.numbers.entries()) {
    const other = right.numbers[at] ?? 0n;
    if (number !== other) return number < other ? -1 : 1;
  }
  const [a, b] = [left.prerelease, right.prerelease];
  if (a.length === 0 || b.length === 0) return Math.sign(b.length - a.length);
  for (let at = 0; at < Math.min(a.length, b.length); at++) {
    const order = compareParts(a[at] ?? '', b[at] ?? '');
    if (order !== 0) return order;
  }
  return Math.sign(a.length - b.length);
}

/** Numbers come before texts. */
function compareParts(left: bigint | string, right: bigint | string): number {
  if (typeof left !== typeof right) return typeof left === 'bigint' ? -1 : 1;
  return left === right ? 0 : left < right ? -1 : 1;
}

export function registerVersions(environment: Environment): void {
  const number = (at: 0 | 1 | 2) => (version: SemanticVersion) => version.numbers[at];
  environment
    .registerType('kubernetes.Semver', { ctor: SemanticVersion, fields: {} })
    .registerFunction('semver(string): kubernetes.Semver', parse)
    .registerFunction('semver(string, bool): kubernetes.Semver', reading)
    .registerFunction('isSemver(string): bool', (text: string) => isVersion(text))
    .registerFunction('isSemver(string, bool): bool', isVersion)
    .registerFunction('kubernetes.Semver.major(): int', number(0))
    .registerFunction('kubernetes.Semver.minor(): int', number(1))
    .registerFunction('kubernetes.Semver.patch(): int', number(2))
    .registerFunction(
      'kubernetes.Semver.isLessThan(kubernetes.Semver): bool',
      (a: SemanticVersion, b: SemanticVersion) => compare(a, b) < 0,
    )
    .registerFunction(
      'kubernetes.Semver.isGreaterThan(kubernetes.Semver): bool',
      (a: SemanticVersion, b: SemanticVersion) => compare(a, b) > 0,
    )
    .registerFunction('kubernetes.Semver.compareTo(kubernetes.Semver): int', (a: SemanticVersion, b: SemanticVersion) =>
      BigInt(compare(a, b)),
    )
    .registerOperator(
      'kubernetes.Semver == kubernetes.Semver',
      (a: SemanticVersion, b: SemanticVersion) => compare(a, b) === 0,
    );
}

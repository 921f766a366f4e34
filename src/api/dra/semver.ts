/** Semantic versions 2.0.0, as in device attributes and in Kubernetes' CEL functions. */

const FORM =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][\da-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][\da-zA-Z-]*))*))?(?:\+[\da-zA-Z-]+(?:\.[\da-zA-Z-]+)*)?$/;
/** Maximum number of characters of a version, as in the API. */
const LONGEST = 64;

/** Parsed version. Build metadata does not count. */
export class Semver {
  readonly text: string;
  readonly core: readonly [major: bigint, minor: bigint, patch: bigint];
  readonly prerelease: readonly string[];

  constructor(text: string, core: readonly [bigint, bigint, bigint], prerelease: readonly string[]) {
    this.text = text;
    this.core = core;
    this.prerelease = prerelease;
  }

  /** Returns the version, or undefined if the text is not a semantic version. */
  static parse(text: string): Semver | undefined {
    const parts = text.length <= LONGEST ? FORM.exec(text) : null;
    if (parts === null) return undefined;
    const [, major = '0', minor = '0', patch = '0', prerelease] = parts;
    return new Semver(text, [BigInt(major), BigInt(minor), BigInt(patch)], prerelease?.split('.') ?? []);
  }

  /** Returns the version of a text with a prefix `v`, missing parts or leading zeros, or undefined. */
  static parseTolerant(text: string): Semver | undefined {
    const [, numbers = '', rest = ''] = /^v?(\d+(?:\.\d+){0,2})([-+].*)?$/.exec(text.trim()) ?? [];
    if (numbers === '') return undefined;
    const parts = numbers.split('.').map((part) => part.replace(/^0+(?=\d)/, ''));
    return Semver.parse([...parts, '0', '0'].slice(0, 3).join('.') + rest);
  }

  /** Returns a negative number, zero or a positive number if this version is lower, equal or higher. */
  compare(other: Semver): number {
    for (const [at, number] of this.core.entries()) {
      const opposite = other.core[at] as bigint;
      if (number !== opposite) return number < opposite ? -1 : 1;
    }
    return comparePrereleases(this.prerelease, other.prerelease);
  }
}

function comparePrereleases(left: readonly string[], right: readonly string[]): number {
  // a version without a prerelease is higher than its prereleases
  if (left.length === 0 || right.length === 0) return Math.sign(right.length - left.length);
  for (const [at, part] of left.entries()) {
    const opposite = right[at];
    if (opposite === undefined) return 1;
    const order = compareIdentifiers(part, opposite);
    if (order !== 0) return order;
  }
  return left.length < right.length ? -1 : 0;
}

function compareIdentifiers(left: string, right: string): number {
  const [isNumber, isOtherNumber] = [/^\d+$/.test(left), /^\d+$/.test(right)];
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
  const [a, b] = isNumber ? [BigInt(left), BigInt(right)] : [left, right];
  return a < b ? -1 : a > b ? 1 : 0;
}

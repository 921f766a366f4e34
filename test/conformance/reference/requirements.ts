/** Requirements on labels, as the specification of scheduling defines them, with plain sets and numbers. */
import type { NodeSelectorTerm, StringMap } from '#api/objects';
import type { Requirement } from '#engine/model';

/** Possible values of a label: the listed values, or all except the listed ones, within bounds. */
export interface Values {
  readonly isComplement: boolean;
  readonly listed: ReadonlySet<string>;
  readonly atLeast: number;
  readonly atMost: number;
  /** 0 without minValues. */
  readonly minValues: number;
  readonly allowsAbsence: boolean;
}

export type Requirements = ReadonlyMap<string, Values>;

/** Keys that may have any value before a launch. Empty for nodes, because their labels are fixed. */
export type OpenKeys = ReadonlySet<string>;

const ALIASES: Readonly<Record<string, string>> = {
  'failure-domain.beta.kubernetes.io/zone': 'topology.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region': 'topology.kubernetes.io/region',
  'beta.kubernetes.io/arch': 'kubernetes.io/arch',
  'beta.kubernetes.io/os': 'kubernetes.io/os',
  'beta.kubernetes.io/instance-type': 'node.kubernetes.io/instance-type',
  'topology.ebs.csi.aws.com/zone': 'topology.kubernetes.io/zone',
};

export const canonicalKey = (key: string): string => ALIASES[key] ?? key;

const ANY: Values = {
  isComplement: true,
  listed: new Set(),
  atLeast: -Infinity,
  atMost: Infinity,
  minValues: 0,
  allowsAbsence: false,
};

const isInteger = (text: string): boolean => /^[+-]?\d+$/.test(text);

type Bounds = Pick<Values, 'atLeast' | 'atMost'>;

const isBounded = ({ atLeast, atMost }: Bounds): boolean => atLeast !== -Infinity || atMost !== Infinity;

const isWithin = (bounds: Bounds, value: string): boolean =>
  !isBounded(bounds) || (isInteger(value) && Number(value) >= bounds.atLeast && Number(value) <= bounds.atMost);

function valuesOf({ operator, values = [], minValues = 0 }: Requirement): Values {
  const listed = new Set(values);
  const bound = Number(values[0]);
  switch (operator) {
    case 'In':
      return { ...ANY, isComplement: false, listed, minValues, allowsAbsence: listed.size === 0 };
    case 'NotIn':
      return { ...ANY, listed, minValues, allowsAbsence: listed.size > 0 };
    case 'Exists':
      return { ...ANY, minValues };
    case 'DoesNotExist':
      return { ...ANY, isComplement: false, minValues, allowsAbsence: true };
    case 'Gt':
      return { ...ANY, atLeast: bound + 1, minValues };
    case 'Lt':
      return { ...ANY, atMost: bound - 1, minValues };
    case 'Gte':
      return { ...ANY, atLeast: bound, minValues };
    case 'Lte':
      return { ...ANY, atMost: bound, minValues };
  }
}

export const allows = (values: Values, value: string): boolean =>
  values.isComplement !== values.listed.has(value) && isWithin(values, value);

export const oneOf = (values: Iterable<string>): Values => ({ ...ANY, isComplement: false, listed: new Set(values) });

function listedInBoth(a: Values, b: Values): readonly string[] {
  if (a.isComplement && b.isComplement) return [...a.listed, ...b.listed];
  if (a.isComplement) return [...b.listed].filter((value) => !a.listed.has(value));
  if (b.isComplement) return [...a.listed].filter((value) => !b.listed.has(value));
  return [...a.listed].filter((value) => b.listed.has(value));
}

function intersection(a: Values, b: Values): Values {
  const bounds = { atLeast: Math.max(a.atLeast, b.atLeast), atMost: Math.min(a.atMost, b.atMost) };
  const minValues = Math.max(a.minValues, b.minValues);
  // Decision 17, "A label that must be there and must not have some values": absence has to suit both.
  const allowsAbsence = a.allowsAbsence && b.allowsAbsence;
  if (bounds.atLeast > bounds.atMost) return { ...oneOf([]), minValues, allowsAbsence };
  const isComplement = a.isComplement && b.isComplement;
  const listed = new Set(listedInBoth(a, b).filter((value) => isWithin(bounds, value)));
  return { ...(isComplement ? bounds : ANY), isComplement, listed, minValues, allowsAbsence };
}

/** Two open ranges always overlap, because bounds alone are not compared with the remaining integers. */
const overlap = (a: Values, b: Values): boolean => {
  const both = intersection(a, b);
  return both.isComplement || both.listed.size > 0;
};

/** Returns the conjunction of all requirements. */
export function and(...all: readonly Requirements[]): Requirements {
  const joined = new Map<string, Values>();
  for (const requirements of all) {
    for (const [key, values] of requirements) {
      const known = joined.get(key);
      joined.set(key, known ? intersection(known, values) : values);
    }
  }
  return joined;
}

export const requirementsOf = (list: readonly Requirement[] = []): Requirements =>
  and(...list.map((each) => new Map([[canonicalKey(each.key), valuesOf(each)]])));

export const labelRequirements = (labels: StringMap = {}): Requirements =>
  and(...Object.entries(labels).map(([key, value]) => new Map([[canonicalKey(key), oneOf([value])]])));

/** Returns the alternatives of selector terms, each combined with the required labels. */
export const alternativesOf = (labels: StringMap | undefined, terms: readonly NodeSelectorTerm[] = []) => {
  const own = labelRequirements(labels);
  return terms.length === 0 ? [own] : terms.map((term) => and(own, requirementsOf(term.matchExpressions)));
};

export const valuesAt = (requirements: Requirements, key: string): Values => requirements.get(key) ?? ANY;

export const intersects = (a: Requirements, b: Requirements): boolean =>
  [...a].every(([key, values]) => {
    const other = b.get(key);
    return !other || overlap(values, other) || (values.allowsAbsence && other.allowsAbsence);
  });

/**
 * Reports whether a place meets the requirements. A key that the place does not define must be open, or may be
 * absent.
 */
export const compatible = (place: Requirements, asked: Requirements, open: OpenKeys): boolean =>
  [...asked].every(([key, values]) => open.has(key) || place.has(key) || values.allowsAbsence) &&
  intersects(place, asked);

/** Formats values for display and comparison. */
export function textOf({ isComplement, listed, atLeast, atMost, minValues }: Values): string {
  const range = `${atLeast > -Infinity ? ` >= ${atLeast}` : ''}${atMost < Infinity ? ` <= ${atMost}` : ''}`;
  return `${isComplement ? 'NotIn' : 'In'} [${[...listed].sort()}]${range}${minValues ? ` minValues ${minValues}` : ''}`;
}

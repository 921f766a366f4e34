/** The kubelet block of a NodeClass: an open object with twelve fields that the provider interprets. */
import type { StringMap } from '#api/objects';
import { isObject } from '#lib';

export interface Kubelet {
  readonly clusterDNS?: readonly string[];
  /** A text is an expression, which requires the NodeClassCEL feature gate. */
  readonly maxPods?: number | string;
  readonly podsPerCore?: number;
  readonly systemReserved?: StringMap;
  readonly kubeReserved?: StringMap;
  readonly evictionHard?: StringMap;
  readonly evictionSoft?: StringMap;
  readonly evictionSoftGracePeriod?: StringMap;
  readonly evictionMaxPodGracePeriod?: number;
  readonly imageGCHighThresholdPercent?: number;
  readonly imageGCLowThresholdPercent?: number;
  readonly cpuCFSQuota?: boolean;
}

export type RawKubelet = Readonly<Record<string, unknown>>;

type Check = readonly [expected: string, holds: (value: unknown) => boolean];

const isInteger = (value: unknown): boolean => Number.isInteger(value);
const isTextMap = (value: unknown): boolean =>
  isObject(value) && Object.values(value).every((each) => typeof each === 'string');

const integer: Check = ['an integer', isInteger];
const textMap: Check = ['a map of strings', isTextMap];

/** Fields that the provider interprets. */
export const MANAGED_FIELDS: Readonly<Record<keyof Kubelet, Check>> = {
  clusterDNS: ['a list of strings', (value) => Array.isArray(value) && value.every((each) => typeof each === 'string')],
  maxPods: ['an integer or an expression', (value) => isInteger(value) || typeof value === 'string'],
  podsPerCore: integer,
  systemReserved: textMap,
  kubeReserved: textMap,
  evictionHard: textMap,
  evictionSoft: textMap,
  evictionSoftGracePeriod: textMap,
  evictionMaxPodGracePeriod: integer,
  imageGCHighThresholdPercent: integer,
  imageGCLowThresholdPercent: integer,
  cpuCFSQuota: ['true or false', (value) => typeof value === 'boolean'],
};

/** Describes the fields with values of a wrong type. */
const typeErrors = (raw: RawKubelet): readonly string[] =>
  Object.entries(MANAGED_FIELDS)
    .filter(([field, [, holds]]) => raw[field] !== undefined && raw[field] !== null && !holds(raw[field]))
    .map(([field, [expected]]) => `spec.kubelet.${field}: must be ${expected}`);

/**
 * Reads the fields that the provider interprets.
 * @throws Error with the names of fields that have a wrong type
 */
export function parseKubelet(raw: RawKubelet | undefined): Kubelet {
  if (raw === undefined) return {};
  const wrong = typeErrors(raw);
  if (wrong.length > 0) throw new Error(`parsing spec.kubelet, ${wrong.join('; ')}`);
  const managed = Object.keys(MANAGED_FIELDS).filter((field) => raw[field] !== undefined && raw[field] !== null);
  return Object.fromEntries(managed.map((field) => [field, raw[field]])) as Kubelet;
}

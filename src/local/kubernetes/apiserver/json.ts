/** JSON values of the API server. Stored objects are immutable: writers must clone them first. */
import { own, put } from '../../../lib/own.ts';

export type Json = Record<string, unknown>;

/** Metadata of a stored object. Only the server writes it. */
export interface Metadata {
  name: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: Owner[];
  managedFields?: Json[];
}

export interface Owner {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** Any object of the API, with untyped fields for the server. */
export interface ApiObject {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  [field: string]: unknown;
}

export const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the value if it is a JSON object, otherwise an empty object. */
export const record = (value: unknown): Json => (isRecord(value) ? value : {});

/** Returns the value if it is an array, otherwise an empty array. */
export const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Returns the JSON objects in the array. */
export const records = (value: unknown): readonly Json[] => list(value).filter(isRecord);

export const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/**
 * Returns a deep copy. Omits undefined fields, which JSON does not have. Much faster than `structuredClone` for plain
 * JSON.
 */
export function clone<T>(value: T): T {
  if (Array.isArray(value)) return value.map(clone) as T;
  if (!isRecord(value)) return value;
  const copy: Json = {};
  for (const key of Object.keys(value)) {
    const field = value[key];
    if (field !== undefined) put<unknown>(copy, key, clone(field));
  }
  return copy as T;
}

/** Reads a path of field names. Returns undefined if a field on the path is missing. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  let found = value;
  for (const name of path) {
    if (!isRecord(found)) return undefined;
    found = own(found, name);
  }
  return found;
}

/** Compares JSON values. The order of fields is irrelevant, and undefined fields count as missing. */
export function equal(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (Array.isArray(left)) {
    return Array.isArray(right) && left.length === right.length && left.every((item, i) => equal(item, right[i]));
  }
  if (!isRecord(left) || !isRecord(right)) return false;
  for (const name of Object.keys(left)) if (!equal(left[name], own(right, name))) return false;
  for (const name of Object.keys(right)) if (right[name] !== undefined && !Object.hasOwn(left, name)) return false;
  return true;
}

/** Formats an RFC 3339 time with whole seconds, as in object metadata. */
export const timestamp = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/** Formats an RFC 3339 time with microseconds, as in Leases and events.k8s.io. */
export const microTime = (ms: number): string => `${new Date(ms).toISOString().slice(0, -1)}000Z`;

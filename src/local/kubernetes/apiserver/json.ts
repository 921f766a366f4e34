/** Plain JSON as the API server holds it. Stored objects are never changed in place: writers clone first. */
import { own, put } from '../../../lib/own.ts';

export type Json = Record<string, unknown>;

/** Metadata of a stored object; the server is the one place that writes it. */
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

/** Any object of the API, with its fields open for the server's own use. */
export interface ApiObject {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  [field: string]: unknown;
}

export const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value when it is a JSON object, else an empty one. */
export const record = (value: unknown): Json => (isRecord(value) ? value : {});

/** The value when it is an array, else an empty one. */
export const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The array's JSON objects. */
export const records = (value: unknown): readonly Json[] => list(value).filter(isRecord);

export const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** A deep copy, without undefined fields, as JSON has none. Much faster than `structuredClone` on plain JSON. */
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

/** Reads a path of field names; undefined where it ends early. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  let found = value;
  for (const name of path) {
    if (!isRecord(found)) return undefined;
    found = own(found, name);
  }
  return found;
}

/** Equality of JSON values; the order of fields does not matter, an undefined field counts as absent. */
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

/** An RFC 3339 time of whole seconds, as object metadata carries it. */
export const timestamp = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/** An RFC 3339 time with microseconds, as leases and events.k8s.io carry it. */
export const microTime = (ms: number): string => `${new Date(ms).toISOString().slice(0, -1)}000Z`;

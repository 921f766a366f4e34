/** JSON values of the API server. Stored objects are immutable: writers must clone them first. */
import { cloneJson as clone, sameJson as equal, own } from '#lib';

export { clone, equal };

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

/** Reads a path of field names. Returns undefined if a field on the path is missing. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  let found = value;
  for (const name of path) {
    if (!isRecord(found)) return undefined;
    found = own(found, name);
  }
  return found;
}

/** Formats an RFC 3339 time with microseconds, as in Leases and events.k8s.io. */
export const microTime = (ms: number): string => `${new Date(ms).toISOString().slice(0, -1)}000Z`;

/** A kind of custom resource: its names, its schema and how kubectl shows it. */
import type { TSchema } from 'typebox';
import type { ObjectMeta } from '../kubernetes.ts';
import type { Declared } from './declare.ts';

/** A column of `kubectl get`; priority 1 shows with `-o wide` only. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'date';
  readonly jsonPath: string;
  readonly priority?: 1;
}

export interface ResourceDeclaration {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames?: readonly string[];
  readonly scope: 'Cluster' | 'Namespaced';
  readonly category: string;
  readonly description: string;
  readonly columns: readonly PrinterColumn[];
  readonly scale?: { readonly specReplicasPath: string; readonly statusReplicasPath: string };
  /** The API server also takes objects without spec. */
  readonly specMayBeAbsent?: true;
  readonly spec: TSchema;
  readonly status: TSchema;
}

/** An object of a declared kind. */
export interface Resource<Spec extends TSchema, Status extends TSchema> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly spec: Declared<Spec>;
  readonly status?: Declared<Status>;
}

export const columns = {
  ready: { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
  age: { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  weight: { name: 'Weight', type: 'integer', jsonPath: '.spec.weight', priority: 1 },
} as const satisfies Record<string, PrinterColumn>;

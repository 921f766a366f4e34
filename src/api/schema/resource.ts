/** Declaration of a custom resource: names, schema and columns of kubectl. */
import type { TSchema } from 'typebox';
import type { ObjectMeta } from '../kubernetes.ts';
import type { Declared } from './declare.ts';

/** Column of `kubectl get`. Columns with priority 1 are shown only with `-o wide`. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'date';
  readonly jsonPath: string;
  readonly priority?: 1;
}

export interface ResourceDeclaration {
  readonly group: string;
  readonly version: string;
  /** Further served versions with the same fields, with the warning of the API server. */
  readonly deprecatedVersions?: readonly { readonly name: string; readonly warning: string }[];
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames?: readonly string[];
  readonly scope: 'Cluster' | 'Namespaced';
  readonly category: string;
  readonly description: string;
  readonly columns: readonly PrinterColumn[];
  readonly scale?: { readonly specReplicasPath: string; readonly statusReplicasPath: string };
  /** If true, the API server accepts objects without spec. */
  readonly specMayBeAbsent?: true;
  /** Value of the chart karpenter-crd that installs the definition. It is always installed if undefined. */
  readonly chartValue?: string;
  readonly spec: TSchema;
  readonly status: TSchema;
}

/** Object of a declared kind. */
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

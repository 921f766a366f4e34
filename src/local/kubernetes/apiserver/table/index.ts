/** Objects as rows of a `meta.k8s.io/v1` Table. kubectl prints such tables. */
import type { Json } from '../json.ts';
import { AGE, type Column, NAME } from '../resources/columns.ts';
import type { Resource } from '../resources/registry.ts';
import type { Entry } from '../storage/entry.ts';
import { NODE_COLUMNS } from './nodes.ts';
import { OTHER_COLUMNS } from './others.ts';
import { POD_COLUMNS } from './pods.ts';
import {
  DAEMON_SET_COLUMNS,
  DEPLOYMENT_COLUMNS,
  JOB_COLUMNS,
  REPLICA_SET_COLUMNS,
  STATEFUL_SET_COLUMNS,
} from './workloads.ts';

const BUILT_IN: Readonly<Record<string, readonly Column[]>> = {
  ...OTHER_COLUMNS,
  pods: POD_COLUMNS,
  nodes: NODE_COLUMNS,
  'deployments.apps': DEPLOYMENT_COLUMNS,
  'replicasets.apps': REPLICA_SET_COLUMNS,
  'statefulsets.apps': STATEFUL_SET_COLUMNS,
  'daemonsets.apps': DAEMON_SET_COLUMNS,
  'jobs.batch': JOB_COLUMNS,
};

/** Columns of built-in kinds that neither the operator nor the local cluster uses, such as Ingress. */
const DEFAULT: readonly Column[] = [NAME, AGE];

const columnsOf = ({ columns, storage }: Resource): readonly Column[] => columns ?? BUILT_IN[storage] ?? DEFAULT;

/** Part of the object that rows contain in addition to the cells. */
export type IncludeObject = 'Metadata' | 'Object' | 'None';

/** Returns an object with its metadata only. */
export const partialMetadata = (entry: Entry, resource: Resource): Json => ({
  kind: 'PartialObjectMetadata',
  apiVersion: 'meta.k8s.io/v1',
  metadata: entry.in(resource).metadata,
});

export function table(
  resource: Resource,
  entries: readonly Entry[],
  metadata: Json,
  include: IncludeObject,
  nowMs: number,
): Json {
  const columns = columnsOf(resource);
  const object = (entry: Entry): Json =>
    include === 'None'
      ? { object: null }
      : { object: include === 'Object' ? entry.in(resource) : partialMetadata(entry, resource) };
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    columnDefinitions: columns.map(({ name, type, format = '', description = '', priority = 0 }) => ({
      name,
      type,
      format,
      description: description || name,
      priority,
    })),
    rows: entries.map((entry) => ({
      cells: columns.map((one) => one.value(entry.in(resource), nowMs)),
      ...object(entry),
    })),
  };
}

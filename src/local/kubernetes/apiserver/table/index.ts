/** Objects as rows of a `meta.k8s.io/v1` Table. kubectl prints such tables. */
import { type ApiObject, at, type Json, records, text } from '../json.ts';
import { AGE, column, NAME, orNone, type PrintedColumn, wide } from '../resources/columns.ts';
import type { Resource } from '../resources/registry.ts';
import type { StoredEntry } from '../storage/entry.ts';
import { OTHER_COLUMNS } from './others.ts';
import { POD_COLUMNS } from './pods.ts';
import {
  DAEMON_SET_COLUMNS,
  DEPLOYMENT_COLUMNS,
  JOB_COLUMNS,
  REPLICA_SET_COLUMNS,
  STATEFUL_SET_COLUMNS,
} from './workloads.ts';

const ROLE = 'node-role.kubernetes.io/';

function status(node: ApiObject): string {
  const ready = records(at(node, 'status', 'conditions')).find(({ type }) => type === 'Ready');
  const words = [ready ? (ready.status === 'True' ? 'Ready' : 'NotReady') : 'Unknown'];
  if (at(node, 'spec', 'unschedulable') === true) words.push('SchedulingDisabled');
  return words.join(',');
}

function roles({ metadata: { labels = {} } }: ApiObject): string {
  const names = Object.entries(labels).flatMap(([key, value]) => {
    if (key.startsWith(ROLE)) return [key.slice(ROLE.length)];
    return key === 'kubernetes.io/role' && value !== '' ? [value] : [];
  });
  return orNone(names.sort().join(','));
}

const address = (type: string) => (node: ApiObject) =>
  orNone(records(at(node, 'status', 'addresses')).find((one) => one.type === type)?.address);

const info = (field: string) => (node: ApiObject) => text(at(node, 'status', 'nodeInfo', field)) || '<unknown>';

/** Returns the version with the architecture, as in clusters with mixed architectures. */
const kernel = (node: ApiObject): string => {
  const version = text(at(node, 'status', 'nodeInfo', 'kernelVersion'));
  if (version === '') return '<unknown>';
  const architecture = text(at(node, 'status', 'nodeInfo', 'architecture'));
  return architecture === '' ? version : `${version} (${architecture})`;
};

const NODE_COLUMNS: readonly PrintedColumn[] = [
  NAME,
  column('Status', status),
  column('Roles', roles),
  AGE,
  column('Version', (node) => text(at(node, 'status', 'nodeInfo', 'kubeletVersion'))),
  wide('Internal-IP', address('InternalIP')),
  wide('External-IP', address('ExternalIP')),
  wide('OS-Image', info('osImage')),
  wide('Kernel-Version', kernel),
  wide('Container-Runtime', info('containerRuntimeVersion')),
];

const BUILT_IN: Readonly<Record<string, readonly PrintedColumn[]>> = {
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
const DEFAULT: readonly PrintedColumn[] = [NAME, AGE];

/** Part of the object that rows contain in addition to the cells. */
export type IncludeObject = 'Metadata' | 'Object' | 'None';

/** Returns an object with its metadata only. */
export const partialMetadata = (entry: StoredEntry, resource: Resource): Json => ({
  kind: 'PartialObjectMetadata',
  apiVersion: 'meta.k8s.io/v1',
  metadata: entry.in(resource).metadata,
});

export function printedTable(
  resource: Resource,
  entries: readonly StoredEntry[],
  metadata: Json,
  include: IncludeObject,
  nowMs: number,
): Json {
  const columns = resource.columns ?? BUILT_IN[resource.storage] ?? DEFAULT;
  const object = (entry: StoredEntry): Json =>
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

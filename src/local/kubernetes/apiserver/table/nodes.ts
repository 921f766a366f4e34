/** Columns of nodes. */
import { type ApiObject, at, records, text } from '../json.ts';
import { AGE, type Column, column, NAME, orNone, wide } from '../resources/columns.ts';

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

export const NODE_COLUMNS: readonly Column[] = [
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

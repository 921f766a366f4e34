/** The columns of the remaining kinds that kubectl shows in a form of their own. */
import { type ApiObject, at, list, record, records, text } from '../json.ts';
import { selectorText } from '../selectors.ts';
import { AGE, age, type Column, column, NAME, orNone, wide } from './columns.ts';

const field = (name: string, ...path: readonly string[]): Column => column(name, (object) => text(at(object, ...path)));
const optional = (name: string, ...path: readonly string[]): Column =>
  column(name, (object) => orNone(at(object, ...path)));

const seenAt = (event: ApiObject): unknown =>
  event.lastTimestamp ?? event.eventTime ?? event.firstTimestamp ?? event.metadata.creationTimestamp;

const EVENT_COLUMNS: readonly Column[] = [
  column('Last Seen', (event, nowMs) => age(seenAt(event), nowMs)),
  field('Type', 'type'),
  field('Reason', 'reason'),
  column('Object', (event) => {
    const about = record(event.involvedObject ?? event.regarding);
    return `${text(about.kind).toLowerCase()}/${text(about.name)}`;
  }),
  wide('Subobject', (event) => text(at(event, 'involvedObject', 'fieldPath'))),
  wide('Source', (event) => text(at(event, 'source', 'component')) || text(event.reportingComponent)),
  column('Message', (event) => text(event.message ?? event.note).trim()),
  wide('First Seen', (event, nowMs) => age(event.firstTimestamp ?? event.eventTime, nowMs)),
  wide('Count', (event) => String(event.count ?? 1)),
  column('Name', ({ metadata }) => metadata.name, { format: 'name', priority: 1 }),
];

const servicePorts = (service: ApiObject): string =>
  orNone(
    records(at(service, 'spec', 'ports'))
      .map(
        ({ port, nodePort, protocol }) => `${String(port)}${nodePort ? `:${String(nodePort)}` : ''}/${text(protocol)}`,
      )
      .join(','),
  );

const SERVICE_COLUMNS: readonly Column[] = [
  NAME,
  field('Type', 'spec', 'type'),
  optional('Cluster-IP', 'spec', 'clusterIP'),
  column('External-IP', (service) => orNone(list(at(service, 'spec', 'externalIPs')).join(','))),
  column('Port(s)', servicePorts),
  AGE,
  wide('Selector', (service) => orNone(selectorText({ matchLabels: at(service, 'spec', 'selector') }))),
];

const limit = (name: string, path: string): Column =>
  column(name, (budget) => {
    const value = at(budget, 'spec', path);
    return value === undefined ? 'N/A' : String(value);
  });

const capacity = (object: ApiObject): string =>
  text(at(object, 'status', 'capacity', 'storage') ?? at(object, 'spec', 'capacity', 'storage'));

const SHORT_MODES: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};
const accessModes = (object: ApiObject): string =>
  list(at(object, 'spec', 'accessModes'))
    .map((mode) => SHORT_MODES[text(mode)] ?? text(mode))
    .join(',');

const phase = (object: ApiObject): string =>
  object.metadata.deletionTimestamp === undefined ? text(at(object, 'status', 'phase')) : 'Terminating';

const DEFAULT_CLASS = 'storageclass.kubernetes.io/is-default-class';

export const OTHER_COLUMNS: Readonly<Record<string, readonly Column[]>> = {
  events: EVENT_COLUMNS,
  services: SERVICE_COLUMNS,
  namespaces: [NAME, field('Status', 'status', 'phase'), AGE],
  configmaps: [
    NAME,
    column('Data', (map) => Object.keys({ ...record(map.data), ...record(map.binaryData) }).length),
    AGE,
  ],
  secrets: [NAME, field('Type', 'type'), column('Data', (secret) => Object.keys(record(secret.data)).length), AGE],
  serviceaccounts: [NAME, AGE],
  'leases.coordination.k8s.io': [NAME, field('Holder', 'spec', 'holderIdentity'), AGE],
  'poddisruptionbudgets.policy': [
    NAME,
    limit('Min Available', 'minAvailable'),
    limit('Max Unavailable', 'maxUnavailable'),
    column('Allowed Disruptions', (budget) => Number(at(budget, 'status', 'disruptionsAllowed') ?? 0), {
      type: 'integer',
    }),
    AGE,
  ],
  persistentvolumeclaims: [
    NAME,
    column('Status', phase),
    field('Volume', 'spec', 'volumeName'),
    column('Capacity', (claim) => text(at(claim, 'status', 'capacity', 'storage'))),
    column('Access Modes', (claim) => (at(claim, 'spec', 'volumeName') ? accessModes(claim) : '')),
    field('StorageClass', 'spec', 'storageClassName'),
    optional('VolumeAttributesClass', 'spec', 'volumeAttributesClassName'),
    AGE,
    wide('VolumeMode', (claim) => text(at(claim, 'spec', 'volumeMode'))),
  ],
  persistentvolumes: [
    NAME,
    column('Capacity', capacity),
    column('Access Modes', accessModes),
    field('Reclaim Policy', 'spec', 'persistentVolumeReclaimPolicy'),
    column('Status', phase),
    column('Claim', (volume) => {
      const claim = record(at(volume, 'spec', 'claimRef'));
      return claim.name ? `${text(claim.namespace)}/${text(claim.name)}` : '';
    }),
    field('StorageClass', 'spec', 'storageClassName'),
    optional('VolumeAttributesClass', 'spec', 'volumeAttributesClassName'),
    field('Reason', 'status', 'reason'),
    AGE,
    wide('VolumeMode', (volume) => text(at(volume, 'spec', 'volumeMode'))),
  ],
  'storageclasses.storage.k8s.io': [
    column(
      'Name',
      ({ metadata }) => `${metadata.name}${metadata.annotations?.[DEFAULT_CLASS] === 'true' ? ' (default)' : ''}`,
      { format: 'name' },
    ),
    field('Provisioner', 'provisioner'),
    field('ReclaimPolicy', 'reclaimPolicy'),
    field('VolumeBindingMode', 'volumeBindingMode'),
    column('AllowVolumeExpansion', (storage) => storage.allowVolumeExpansion === true, { type: 'boolean' }),
    AGE,
  ],
  'csinodes.storage.k8s.io': [
    NAME,
    column('Drivers', (node) => records(at(node, 'spec', 'drivers')).length, { type: 'integer' }),
    AGE,
  ],
  'volumeattachments.storage.k8s.io': [
    NAME,
    field('Attacher', 'spec', 'attacher'),
    field('PV', 'spec', 'source', 'persistentVolumeName'),
    field('Node', 'spec', 'nodeName'),
    column('Attached', (attachment) => at(attachment, 'status', 'attached') === true, { type: 'boolean' }),
    AGE,
  ],
  'priorityclasses.scheduling.k8s.io': [
    NAME,
    column('Value', (priority) => Number(priority.value ?? 0), { type: 'integer' }),
    column('Global-Default', (priority) => priority.globalDefault === true, { type: 'boolean' }),
    AGE,
    field('PreemptionPolicy', 'preemptionPolicy'),
  ],
  'customresourcedefinitions.apiextensions.k8s.io': [
    NAME,
    column('Created At', ({ metadata }) => metadata.creationTimestamp, { type: 'date' }),
  ],
};

/** Columns of the remaining kinds that kubectl prints in a specific form. */
import { type ApiObject, at, list, record, records, text } from '../json.ts';
import {
  AGE,
  age,
  column,
  field,
  NAME,
  optionalColumn,
  orNone,
  type PrintedColumn,
  wide,
} from '../resources/columns.ts';
import { selectorText } from '../selectors.ts';

const lastSeen = (event: ApiObject): unknown =>
  event.lastTimestamp ??
  event.deprecatedLastTimestamp ??
  event.eventTime ??
  event.firstTimestamp ??
  event.metadata.creationTimestamp;

const EVENT_COLUMNS: readonly PrintedColumn[] = [
  column('Last Seen', (event, nowMs) => age(lastSeen(event), nowMs)),
  field('Type', 'type'),
  field('Reason', 'reason'),
  column('Object', (event) => {
    const about = record(event.involvedObject ?? event.regarding);
    return `${text(about.kind).toLowerCase()}/${text(about.name)}`;
  }),
  wide('Subobject', (event) => text(at(event, 'involvedObject', 'fieldPath'))),
  wide(
    'Source',
    (event) =>
      text(at(event, 'source', 'component')) ||
      text(at(event, 'deprecatedSource', 'component')) ||
      text(event.reportingComponent),
  ),
  column('Message', (event) => text(event.message ?? event.note).trim()),
  wide('First Seen', (event, nowMs) =>
    age(event.firstTimestamp ?? event.deprecatedFirstTimestamp ?? event.eventTime, nowMs),
  ),
  wide('Count', (event) => String(event.count ?? event.deprecatedCount ?? 1)),
  column('Name', ({ metadata }) => metadata.name, { format: 'name', priority: 1 }),
];

const limit = (name: string, path: string): PrintedColumn =>
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

const ATTRIBUTES_CLASS = column(
  'VolumeAttributesClass',
  (object) => text(at(object, 'spec', 'volumeAttributesClassName')) || '<unset>',
);

const servicePorts = (service: ApiObject): string =>
  orNone(
    records(at(service, 'spec', 'ports'))
      .map(
        ({ port, nodePort, protocol }) => `${String(port)}${nodePort ? `:${String(nodePort)}` : ''}/${text(protocol)}`,
      )
      .join(','),
  );

function externalAddress(service: ApiObject): string {
  if (at(service, 'spec', 'type') === 'ExternalName') return text(at(service, 'spec', 'externalName'));
  return orNone(list(at(service, 'spec', 'externalIPs')).join(','));
}

/** Returns the state of a claim, such as `allocated,reserved`. */
function claimState({ metadata, status }: ApiObject): string {
  const { allocation, reservedFor } = record(status);
  const states = [
    ...(metadata.deletionTimestamp === undefined ? [] : ['deleted']),
    ...(allocation === undefined ? [] : ['allocated']),
    ...(list(reservedFor).length > 0 ? ['reserved'] : []),
  ];
  return states.length > 0 ? states.join(',') : 'pending';
}

const DEFAULT_CLASS = 'storageclass.kubernetes.io/is-default-class';

export const OTHER_COLUMNS: Readonly<Record<string, readonly PrintedColumn[]>> = {
  events: EVENT_COLUMNS,
  namespaces: [NAME, field('Status', 'status', 'phase'), AGE],
  configmaps: [
    NAME,
    column('Data', (map) => Object.keys({ ...record(map.data), ...record(map.binaryData) }).length),
    AGE,
  ],
  secrets: [NAME, field('Type', 'type'), column('Data', (secret) => Object.keys(record(secret.data)).length), AGE],
  services: [
    NAME,
    field('Type', 'spec', 'type'),
    optionalColumn('Cluster-IP', 'spec', 'clusterIP'),
    column('External-IP', externalAddress),
    column('Port(s)', servicePorts),
    AGE,
    wide('Selector', (service) => orNone(selectorText({ matchLabels: at(service, 'spec', 'selector') }))),
  ],
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
    ATTRIBUTES_CLASS,
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
    ATTRIBUTES_CLASS,
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
    // A boolean in a text column, as in Kubernetes.
    column('AllowVolumeExpansion', (storage) => storage.allowVolumeExpansion === true),
    AGE,
  ],
  'csinodes.storage.k8s.io': [
    NAME,
    column('Drivers', (node) => records(at(node, 'spec', 'drivers')).length, { type: 'integer' }),
    AGE,
  ],
  'volumeattachments.storage.k8s.io': [
    NAME,
    column('Attacher', (attachment) => text(at(attachment, 'spec', 'attacher')), { format: 'name' }),
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
  'resourceclaims.resource.k8s.io': [NAME, column('State', claimState), AGE],
  'resourceslices.resource.k8s.io': [
    NAME,
    field('Node', 'spec', 'nodeName'),
    field('Driver', 'spec', 'driver'),
    field('Pool', 'spec', 'pool', 'name'),
    AGE,
  ],
  'customresourcedefinitions.apiextensions.k8s.io': [
    NAME,
    column('Created At', ({ metadata }) => metadata.creationTimestamp, { type: 'date' }),
  ],
};

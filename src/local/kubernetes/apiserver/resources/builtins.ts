/** The built-in resources. */
import type { ApiObject } from '../json.ts';
import type { Registry, Resource, ScalePaths } from './registry.ts';

/** Events are one resource with two APIs: core/v1 and events.k8s.io/v1. They are stored as core events. */
const NEW_TO_CORE: readonly (readonly [string, string])[] = [
  ['regarding', 'involvedObject'],
  ['note', 'message'],
  ['reportingController', 'reportingComponent'],
  ['deprecatedSource', 'source'],
  ['deprecatedCount', 'count'],
  ['deprecatedFirstTimestamp', 'firstTimestamp'],
  ['deprecatedLastTimestamp', 'lastTimestamp'],
];

function renameFields(object: ApiObject, apiVersion: string, names: readonly (readonly [string, string])[]): ApiObject {
  const out: ApiObject = { ...object, apiVersion };
  for (const [from, to] of names) {
    if (!Object.hasOwn(out, from)) continue;
    out[to] = out[from];
    delete out[from];
  }
  return out;
}

const coreEvent = (object: ApiObject): ApiObject => renameFields(object, 'v1', NEW_TO_CORE);
const newEvent = (object: ApiObject): ApiObject =>
  renameFields(
    object,
    'events.k8s.io/v1',
    NEW_TO_CORE.map(([from, to]) => [to, from] as const),
  );

interface Options {
  readonly short?: readonly string[];
  readonly categories?: readonly string[];
  readonly cluster?: boolean;
  readonly status?: boolean;
  readonly generation?: boolean;
  readonly keepsStatus?: boolean;
  readonly scale?: ScalePaths;
  readonly subresources?: Readonly<Record<string, string>>;
  readonly model?: string;
  readonly fields?: readonly string[];
  readonly singular?: string;
  readonly warning?: string;
}

const REPLICAS: ScalePaths = { spec: '.spec.replicas', status: '.status.replicas', selector: '.spec.selector' };
const workload = (short: readonly string[], scale?: ScalePaths): Options => ({
  short,
  categories: ['all'],
  status: true,
  generation: true,
  ...(scale && { scale }),
});

function resource(group: string, version: string, kind: string, plural: string, options: Options = {}): Resource {
  return {
    group,
    version,
    kind,
    listKind: `${kind}List`,
    plural,
    singular: options.singular ?? kind.toLowerCase(),
    shortNames: options.short ?? [],
    categories: options.categories ?? [],
    namespaced: options.cluster !== true,
    storage: group === '' ? plural : `${plural}.${group}`,
    status: options.status === true,
    generation: options.generation === true,
    ...(options.keepsStatus && { keepsStatus: true }),
    ...(options.scale && { scale: options.scale }),
    subresources: options.subresources ?? {},
    model: options.model ?? `V1${kind}`,
    selectableFields: options.fields ?? [],
    ...(options.warning && { warnings: [options.warning] }),
  };
}

const EVENT_FIELDS = [
  ...['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].map(
    (f) => `involvedObject.${f}`,
  ),
  'reason',
  'reportingComponent',
  'source',
  'type',
];
const REGARDING_FIELDS = EVENT_FIELDS.map((field) => field.replace('involvedObject', 'regarding'));

const CORE: readonly Resource[] = [
  resource('', 'v1', 'Namespace', 'namespaces', {
    short: ['ns'],
    cluster: true,
    status: true,
    fields: ['status.phase'],
    subresources: { finalize: 'Namespace' },
  }),
  resource('', 'v1', 'Pod', 'pods', {
    short: ['po'],
    categories: ['all'],
    status: true,
    generation: true,
    subresources: {
      binding: 'Binding',
      eviction: 'Eviction',
      log: 'Pod',
      exec: 'PodExecOptions',
      attach: 'PodAttachOptions',
      portforward: 'PodPortForwardOptions',
      resize: 'Pod',
    },
    fields: [
      'spec.nodeName',
      'spec.restartPolicy',
      'spec.schedulerName',
      'spec.serviceAccountName',
      'spec.hostNetwork',
      'status.phase',
      'status.podIP',
      'status.nominatedNodeName',
    ],
  }),
  resource('', 'v1', 'Node', 'nodes', {
    short: ['no'],
    cluster: true,
    status: true,
    keepsStatus: true,
    fields: ['spec.unschedulable'],
  }),
  resource('', 'v1', 'Event', 'events', { short: ['ev'], model: 'CoreV1Event', fields: EVENT_FIELDS }),
  resource('', 'v1', 'Service', 'services', {
    short: ['svc'],
    categories: ['all'],
    status: true,
    fields: ['spec.clusterIP', 'spec.type'],
  }),
  resource('', 'v1', 'Endpoints', 'endpoints', {
    short: ['ep'],
    singular: 'endpoints',
    warning: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
  }),
  resource('', 'v1', 'ConfigMap', 'configmaps', { short: ['cm'] }),
  resource('', 'v1', 'Secret', 'secrets', { fields: ['type'] }),
  resource('', 'v1', 'ServiceAccount', 'serviceaccounts', { short: ['sa'], subresources: { token: 'TokenRequest' } }),
  resource('', 'v1', 'PersistentVolume', 'persistentvolumes', {
    short: ['pv'],
    cluster: true,
    status: true,
    keepsStatus: true,
  }),
  resource('', 'v1', 'PersistentVolumeClaim', 'persistentvolumeclaims', {
    short: ['pvc'],
    status: true,
    keepsStatus: true,
  }),
  resource('', 'v1', 'PodTemplate', 'podtemplates', { generation: true }),
  resource('', 'v1', 'ReplicationController', 'replicationcontrollers', workload(['rc'], REPLICAS)),
  resource('', 'v1', 'ResourceQuota', 'resourcequotas', { short: ['quota'], status: true }),
  resource('', 'v1', 'LimitRange', 'limitranges', { short: ['limits'] }),
];

const GROUPS: readonly Resource[] = [
  resource('apps', 'v1', 'Deployment', 'deployments', workload(['deploy'], REPLICAS)),
  resource('apps', 'v1', 'ReplicaSet', 'replicasets', workload(['rs'], REPLICAS)),
  resource('apps', 'v1', 'StatefulSet', 'statefulsets', workload(['sts'], REPLICAS)),
  resource('apps', 'v1', 'DaemonSet', 'daemonsets', workload(['ds'])),
  resource('apps', 'v1', 'ControllerRevision', 'controllerrevisions'),
  resource('batch', 'v1', 'Job', 'jobs', { ...workload([]), fields: ['status.successful'] }),
  resource('batch', 'v1', 'CronJob', 'cronjobs', workload(['cj'])),
  resource('policy', 'v1', 'PodDisruptionBudget', 'poddisruptionbudgets', {
    short: ['pdb'],
    status: true,
    generation: true,
  }),
  resource('storage.k8s.io', 'v1', 'StorageClass', 'storageclasses', { short: ['sc'], cluster: true }),
  resource('storage.k8s.io', 'v1', 'CSINode', 'csinodes', { cluster: true }),
  resource('storage.k8s.io', 'v1', 'CSIDriver', 'csidrivers', { cluster: true }),
  resource('storage.k8s.io', 'v1', 'CSIStorageCapacity', 'csistoragecapacities'),
  resource('storage.k8s.io', 'v1', 'VolumeAttachment', 'volumeattachments', { cluster: true, status: true }),
  resource('coordination.k8s.io', 'v1', 'Lease', 'leases'),
  resource('discovery.k8s.io', 'v1', 'EndpointSlice', 'endpointslices', { generation: true }),
  resource('networking.k8s.io', 'v1', 'NetworkPolicy', 'networkpolicies', { short: ['netpol'], generation: true }),
  resource('networking.k8s.io', 'v1', 'Ingress', 'ingresses', { short: ['ing'], status: true, generation: true }),
  resource('networking.k8s.io', 'v1', 'IngressClass', 'ingressclasses', { cluster: true, generation: true }),
  resource('node.k8s.io', 'v1', 'RuntimeClass', 'runtimeclasses', { cluster: true }),
  resource('autoscaling', 'v2', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers', {
    short: ['hpa'],
    categories: ['all'],
    status: true,
    model: 'V2HorizontalPodAutoscaler',
  }),
  resource('scheduling.k8s.io', 'v1', 'PriorityClass', 'priorityclasses', {
    short: ['pc'],
    cluster: true,
    generation: true,
  }),
  resource('resource.k8s.io', 'v1', 'ResourceClaim', 'resourceclaims', {
    status: true,
    model: 'ResourceV1ResourceClaim',
  }),
  resource('resource.k8s.io', 'v1', 'ResourceClaimTemplate', 'resourceclaimtemplates'),
  resource('resource.k8s.io', 'v1', 'ResourceSlice', 'resourceslices', {
    cluster: true,
    generation: true,
    fields: ['spec.nodeName', 'spec.driver'],
  }),
  resource('resource.k8s.io', 'v1', 'DeviceClass', 'deviceclasses', { cluster: true, generation: true }),
  resource('rbac.authorization.k8s.io', 'v1', 'Role', 'roles'),
  resource('rbac.authorization.k8s.io', 'v1', 'RoleBinding', 'rolebindings'),
  resource('rbac.authorization.k8s.io', 'v1', 'ClusterRole', 'clusterroles', { cluster: true }),
  resource('rbac.authorization.k8s.io', 'v1', 'ClusterRoleBinding', 'clusterrolebindings', { cluster: true }),
  resource('admissionregistration.k8s.io', 'v1', 'ValidatingWebhookConfiguration', 'validatingwebhookconfigurations', {
    categories: ['api-extensions'],
    cluster: true,
    generation: true,
  }),
  resource('admissionregistration.k8s.io', 'v1', 'MutatingWebhookConfiguration', 'mutatingwebhookconfigurations', {
    categories: ['api-extensions'],
    cluster: true,
    generation: true,
  }),
  resource('admissionregistration.k8s.io', 'v1', 'ValidatingAdmissionPolicy', 'validatingadmissionpolicies', {
    categories: ['api-extensions'],
    cluster: true,
    status: true,
    generation: true,
  }),
  resource(
    'admissionregistration.k8s.io',
    'v1',
    'ValidatingAdmissionPolicyBinding',
    'validatingadmissionpolicybindings',
    { categories: ['api-extensions'], cluster: true, generation: true },
  ),
  resource('apiextensions.k8s.io', 'v1', 'CustomResourceDefinition', 'customresourcedefinitions', {
    short: ['crd', 'crds'],
    categories: ['api-extensions'],
    cluster: true,
    status: true,
    generation: true,
  }),
  {
    ...resource('events.k8s.io', 'v1', 'Event', 'events', {
      short: ['ev'],
      model: 'EventsV1Event',
      fields: REGARDING_FIELDS,
    }),
    storage: 'events',
    toStorage: coreEvent,
    fromStorage: newEvent,
  },
];

export function addBuiltins(registry: Registry): void {
  for (const one of [...CORE, ...GROUPS]) registry.add(one, one.group !== 'events.k8s.io');
}

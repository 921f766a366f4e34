/** The defaults that a real API server gives to built-in objects. Each changes the object that it is handed. */
import { type ApiObject, isRecord, type Json, record, records, text } from '../json.ts';
import { podDefaults, podSpecDefaults } from './poddefaults.ts';

function missing(target: Json, defaults: Json): void {
  for (const [name, value] of Object.entries(defaults)) if (target[name] === undefined) target[name] = value;
}

/** The object's spec, made when it has none. */
function specOf(object: ApiObject): Json {
  if (!isRecord(object.spec)) object.spec = {};
  return record(object.spec);
}

function template(spec: Json): Json {
  const found = record(spec.template);
  if (isRecord(found.spec)) podSpecDefaults(found.spec);
  return found;
}

function rolling(spec: Json, field: string, params: Json): void {
  if (!isRecord(spec[field])) spec[field] = {};
  const strategy = record(spec[field]);
  missing(strategy, { type: 'RollingUpdate' });
  if (strategy.type !== 'RollingUpdate') return;
  if (!isRecord(strategy.rollingUpdate)) strategy.rollingUpdate = {};
  missing(record(strategy.rollingUpdate), params);
}

function deployment(object: ApiObject): void {
  const spec = specOf(object);
  missing(spec, { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 });
  rolling(spec, 'strategy', { maxSurge: '25%', maxUnavailable: '25%' });
  template(spec);
  missing(object, { status: {} });
}

function daemonSet(object: ApiObject): void {
  const spec = specOf(object);
  missing(spec, { revisionHistoryLimit: 10 });
  rolling(spec, 'updateStrategy', { maxSurge: 0, maxUnavailable: 1 });
  template(spec);
}

function statefulSet(object: ApiObject): void {
  const spec = specOf(object);
  missing(spec, { replicas: 1, revisionHistoryLimit: 10, podManagementPolicy: 'OrderedReady' });
  rolling(spec, 'updateStrategy', { partition: 0 });
  template(spec);
}

function job(object: ApiObject): void {
  const spec = specOf(object);
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1;
  missing(spec, { parallelism: 1, backoffLimit: 6, completionMode: 'NonIndexed', suspend: false });
  const pods = template(spec);
  const uid = object.metadata.uid;
  if (spec.manualSelector === true || uid === undefined || spec.selector !== undefined) return;
  const labels = { 'batch.kubernetes.io/controller-uid': uid, 'batch.kubernetes.io/job-name': object.metadata.name };
  const legacy = { 'controller-uid': uid, 'job-name': object.metadata.name };
  const metadata = record(pods.metadata);
  pods.metadata = { ...metadata, labels: { ...legacy, ...labels, ...record(metadata.labels) } };
  spec.selector = { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } };
}

function cronJob(object: ApiObject): void {
  missing(specOf(object), {
    concurrencyPolicy: 'Allow',
    suspend: false,
    successfulJobsHistoryLimit: 3,
    failedJobsHistoryLimit: 1,
  });
}

function service(object: ApiObject): void {
  const spec = specOf(object);
  missing(spec, { type: 'ClusterIP', sessionAffinity: 'None', internalTrafficPolicy: 'Cluster' });
  for (const port of records(spec.ports)) missing(port, { protocol: 'TCP', targetPort: port.port });
}

function namespace(object: ApiObject): void {
  missing(specOf(object), { finalizers: ['kubernetes'] });
  object.metadata.labels = { ...object.metadata.labels, 'kubernetes.io/metadata.name': object.metadata.name };
  if (object.status === undefined) object.status = { phase: 'Active' };
}

function secret(object: ApiObject): void {
  missing(object, { type: 'Opaque' });
  if (!isRecord(object.stringData)) return;
  const encoded = Object.entries(object.stringData).map(([k, v]) => [k, Buffer.from(text(v)).toString('base64')]);
  object.data = { ...record(object.data), ...Object.fromEntries(encoded) };
  delete object.stringData;
}

function definition(object: ApiObject): void {
  const spec = specOf(object);
  missing(spec, { conversion: { strategy: 'None' } });
  const names = record(spec.names);
  missing(names, { singular: text(names.kind).toLowerCase(), listKind: `${text(names.kind)}List` });
}

function volume(object: ApiObject): void {
  missing(specOf(object), { persistentVolumeReclaimPolicy: 'Retain', volumeMode: 'Filesystem' });
  missing(object, { status: { phase: 'Pending' } });
}

function claim(object: ApiObject): void {
  missing(specOf(object), { volumeMode: 'Filesystem' });
  missing(object, { status: { phase: 'Pending' } });
}

/** Times of conditions are written even when nobody set them. */
function conditionTimes(object: ApiObject, ...times: readonly string[]): void {
  for (const condition of records(record(object.status).conditions))
    missing(condition, Object.fromEntries(times.map((time) => [time, null])));
}

function pod(object: ApiObject): void {
  podDefaults(object);
  conditionTimes(object, 'lastProbeTime', 'lastTransitionTime');
}

const NODE_INFO = [
  'architecture',
  'bootID',
  'containerRuntimeVersion',
  'kernelVersion',
  'kubeProxyVersion',
  'kubeletVersion',
  'machineID',
  'operatingSystem',
  'osImage',
  'systemUUID',
];

function node(object: ApiObject): void {
  if (!isRecord(object.status)) object.status = {};
  const status = record(object.status);
  missing(status, { daemonEndpoints: { kubeletEndpoint: { Port: 0 } }, nodeInfo: {} });
  missing(record(status.nodeInfo), Object.fromEntries(NODE_INFO.map((field) => [field, ''])));
  if (status.capacity !== undefined) missing(status, { allocatable: status.capacity });
  conditionTimes(object, 'lastHeartbeatTime', 'lastTransitionTime');
}

const DEFAULTS: Readonly<Record<string, (object: ApiObject) => void>> = {
  pods: pod,
  nodes: node,
  'deployments.apps': deployment,
  'replicasets.apps': (object) => {
    const spec = specOf(object);
    missing(spec, { replicas: 1 });
    template(spec);
  },
  'statefulsets.apps': statefulSet,
  'daemonsets.apps': daemonSet,
  'jobs.batch': job,
  'cronjobs.batch': cronJob,
  services: service,
  namespaces: namespace,
  secrets: secret,
  persistentvolumes: volume,
  persistentvolumeclaims: claim,
  'storageclasses.storage.k8s.io': (object) =>
    missing(object, { reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' }),
  'priorityclasses.scheduling.k8s.io': (object) => missing(object, { preemptionPolicy: 'PreemptLowerPriority' }),
  'customresourcedefinitions.apiextensions.k8s.io': definition,
};

/** Fills in the defaults of a built-in object of this storage name, in place. */
export function applyDefaults(storage: string, object: ApiObject): void {
  DEFAULTS[storage]?.(object);
}

/** Defaults of Deployments, StatefulSets, Jobs and other workloads. Each function changes its argument. */
import { type ApiObject, isRecord, type Json, record } from '../json.ts';
import { conditionTimes, missing, podSpecDefaults, specOf } from './pod-defaults.ts';

/** Returns the pod template of a spec, with its defaults. */
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

const withoutZeros = (target: Json, ...fields: readonly string[]): void => {
  for (const name of fields) if (target[name] === 0) delete target[name];
};

function deployment(object: ApiObject): void {
  const spec = specOf(object);
  missing(spec, { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 });
  rolling(spec, 'strategy', { maxSurge: '25%', maxUnavailable: '25%' });
  template(spec);
  missing(object, { status: {} });
  conditionTimes(object, 'lastTransitionTime', 'lastUpdateTime');
}

function daemonSet(object: ApiObject): void {
  const spec = specOf(object);
  missing(spec, { revisionHistoryLimit: 10 });
  rolling(spec, 'updateStrategy', { maxSurge: 0, maxUnavailable: 1 });
  template(spec);
  const generation = { 'deprecated.daemonset.template.generation': '1' };
  object.metadata.annotations = { ...generation, ...object.metadata.annotations };
  missing(object, { status: {} });
  missing(record(object.status), {
    currentNumberScheduled: 0,
    desiredNumberScheduled: 0,
    numberMisscheduled: 0,
    numberReady: 0,
  });
}

function statefulSet(object: ApiObject): void {
  const spec = specOf(object);
  missing(spec, { replicas: 1, revisionHistoryLimit: 10, podManagementPolicy: 'OrderedReady' });
  missing(spec, { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' } });
  rolling(spec, 'updateStrategy', { partition: 0 });
  template(spec);
  missing(object, { status: {} });
  missing(record(object.status), { availableReplicas: 0, replicas: 0 });
}

/** An object without labels gets the labels of its pod template. */
function labelLike({ metadata }: ApiObject, pods: Json): void {
  const labels = record(pods.metadata).labels as Record<string, string> | undefined;
  if (labels) metadata.labels ??= { ...labels };
}

/** A controller without labels or selector gets the labels of its pod template. */
function replicationController(object: ApiObject): void {
  const spec = specOf(object);
  missing(spec, { replicas: 1 });
  const pods = template(spec);
  missing(spec, { selector: record(pods.metadata).labels });
  labelLike(object, pods);
  missing(object, { status: { replicas: 0 } });
}

function job(object: ApiObject): void {
  const spec = specOf(object);
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1;
  missing(spec, {
    parallelism: 1,
    backoffLimit: 6,
    completionMode: 'NonIndexed',
    suspend: false,
    manualSelector: false,
    podReplacementPolicy: 'TerminatingOrFailed',
  });
  missing(object, { status: {} });
  conditionTimes(object, 'lastProbeTime', 'lastTransitionTime');
  withoutZeros(record(object.status), 'active', 'succeeded', 'failed');
  labelLike(object, template(spec));
}

/** The selector of a new Job matches the Job's UID. */
export function selectOwnPods(object: ApiObject): void {
  const spec = specOf(object);
  const pods = record(spec.template);
  const uid = object.metadata.uid;
  if (spec.manualSelector === true || uid === undefined || spec.selector !== undefined) return;
  const labels = { 'batch.kubernetes.io/controller-uid': uid, 'batch.kubernetes.io/job-name': object.metadata.name };
  const legacy = { 'controller-uid': uid, 'job-name': object.metadata.name };
  const metadata = record(pods.metadata);
  pods.metadata = { ...metadata, labels: { ...legacy, ...labels, ...record(metadata.labels) } };
  spec.selector = { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } };
  labelLike(object, pods);
}

function cronJob(object: ApiObject): void {
  const spec = specOf(object);
  missing(spec, {
    concurrencyPolicy: 'Allow',
    suspend: false,
    successfulJobsHistoryLimit: 3,
    failedJobsHistoryLimit: 1,
  });
  const jobs = record(spec.jobTemplate);
  missing(jobs, { metadata: {} });
  missing(template(record(jobs.spec)), { metadata: {} });
  missing(object, { status: {} });
}

export const WORKLOAD_DEFAULTS: Readonly<Record<string, (object: ApiObject) => void>> = {
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
  replicationcontrollers: replicationController,
  podtemplates: (object) => void template(object),
};

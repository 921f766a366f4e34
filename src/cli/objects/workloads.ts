/** Creates the pods of workloads, as their controllers would. */

import { JOB_CONTROLLER, type OwnerReference, type Pod, type PodTemplateSpec, type Workload } from '#api/objects';
import { defaultRequests } from '#engine/model';
import { own } from '#lib';
import { withClaimTemplates } from './volume-claims.ts';

/** Generates UIDs in ascending order. */
export type Uids = () => string;

export function uidsInOrder(): Uids {
  let last = 0;
  return () => {
    last++;
    return `00000000-0000-0000-0000-${String(last).padStart(12, '0')}`;
  };
}

const UNSCHEDULABLE = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable' } as const;
const GATED = { type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' } as const;
const APPS = 'apps/v1';

/** Groups of the kinds that create pods, by kind. Other groups have kinds with the same names. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  Deployment: ['apps', 'extensions'],
  ReplicaSet: ['apps', 'extensions'],
  DaemonSet: ['apps', 'extensions'],
  StatefulSet: ['apps'],
  Job: ['batch'],
  CronJob: ['batch'],
  ReplicationController: [''],
  Pod: [''],
  Node: [''],
};

const groupOf = (apiVersion: string): string => (apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '');

/** Returns true if the kind belongs to another group, such as a Job of Volcano. */
export const isForeign = ({ kind, apiVersion }: Pick<Workload, 'kind' | 'apiVersion'>): boolean =>
  own(GROUPS, kind)?.includes(groupOf(apiVersion)) === false;

/** Owners of pods by kind. Pods of a Deployment are owned by its ReplicaSet. */
const OWNERS: Readonly<Record<string, { readonly apiVersion: string; readonly kind: string }>> = {
  Deployment: { apiVersion: APPS, kind: 'ReplicaSet' },
  ReplicaSet: { apiVersion: APPS, kind: 'ReplicaSet' },
  StatefulSet: { apiVersion: APPS, kind: 'StatefulSet' },
  Job: { apiVersion: 'batch/v1', kind: 'Job' },
};

function ownerOf(workload: Workload): OwnerReference {
  const { apiVersion, kind } = own(OWNERS, workload.kind) ?? workload;
  const { name, uid = name } = workload.metadata;
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** Returns why the controller of a workload creates no pods although the spec has replicas, or undefined. */
export function idleReason({ kind, spec, status }: Workload): string | undefined {
  if (kind === 'Job' && spec.suspend) return 'is suspended (spec.suspend), so it has no pods';
  if (kind === 'Job' && spec.managedBy !== undefined && spec.managedBy !== JOB_CONTROLLER)
    return `is managed by ${spec.managedBy} (spec.managedBy), so the Job controller creates no pods`;
  // a paused Deployment only scales existing ReplicaSets
  if (kind === 'Deployment' && spec.paused && !status?.replicas)
    return 'is paused (spec.paused) and has no ReplicaSet, so it has no pods';
  return undefined;
}

const ENDED = new Set(['Complete', 'Failed', 'SuccessCriteriaMet', 'FailureTarget']);

/** Returns the number of pods that a workload runs at the same time. */
function podCount(workload: Workload): number {
  const { kind, metadata, spec, status } = workload;
  if (metadata.deletionTimestamp !== undefined || idleReason(workload) !== undefined) return 0;
  if (kind !== 'Job') return spec.replicas ?? 1;
  const hasEnded = (status?.conditions ?? []).some(({ type, status: is }) => ENDED.has(type) && is === 'True');
  if (hasEnded) return 0;
  const { parallelism = 1, completions } = spec;
  const succeeded = status?.succeeded ?? 0;
  // without completions, the first success ends the Job
  if (completions === undefined) return succeeded > 0 ? 0 : parallelism;
  return Math.max(0, Math.min(parallelism, completions - succeeded));
}

/** Returns the condition that the API server or kube-scheduler sets on a pod without a node. */
const conditionWithoutNode = ({ schedulingGates = [] }: Pod['spec']) =>
  schedulingGates.length > 0 ? GATED : UNSCHEDULABLE;

function podOf(workload: Workload, template: PodTemplateSpec, name: string, uid: string): Pod {
  const { namespace = 'default', creationTimestamp } = workload.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...template.metadata,
      name,
      namespace,
      uid,
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
      ownerReferences: [ownerOf(workload)],
    },
    spec: template.spec,
    status: { phase: 'Pending', conditions: [conditionWithoutNode(template.spec)] },
  };
}

/** Creates the pending pods `NAME-0`, `NAME-1` and so on. They share one spec object unless they have their own claims. */
export function podsOfWorkload(workload: Workload, uids: Uids): readonly Pod[] {
  const template = { ...workload.spec.template, spec: defaultRequests(workload.spec.template.spec) };
  const first = workload.kind === 'StatefulSet' ? (workload.spec.ordinals?.start ?? 0) : 0;
  return Array.from({ length: podCount(workload) }, (_, index) =>
    withClaimTemplates(podOf(workload, template, `${workload.metadata.name}-${first + index}`, uids()), workload),
  );
}

/**
 * Reads a standalone pod. Sets the defaults of the API server. A pod of a cluster keeps its status, because kube-scheduler may
 * not have tried it yet. Any other pod is pending and unschedulable unless it is bound to a node.
 */
export function standalonePod(pod: Pod, uids: Uids): Pod {
  const isOfCluster = pod.metadata.resourceVersion !== undefined && pod.status !== undefined;
  const phase = pod.spec.nodeName ? 'Running' : 'Pending';
  const isUntried = !pod.spec.nodeName && (pod.status?.phase ?? phase) === 'Pending' && !isOfCluster;
  return {
    ...pod,
    metadata: { ...pod.metadata, namespace: pod.metadata.namespace ?? 'default', uid: pod.metadata.uid ?? uids() },
    spec: defaultRequests(pod.spec),
    status: { phase, ...(isUntried && { conditions: [conditionWithoutNode(pod.spec)] }), ...pod.status },
  };
}

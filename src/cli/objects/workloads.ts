/** Creates the pods of workloads. */

import type { OwnerReference, Pod, PodTemplateSpec, Workload } from '../../api/kubernetes.ts';
import { defaultRequests } from '../../engine/resources.ts';
import { own } from '../../lib/own.ts';
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
const APPS = 'apps/v1';

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

/** Returns the number of pods that a workload runs at the same time. */
function podCount({ kind, spec }: Workload): number {
  if (kind !== 'Job') return spec.replicas ?? 1;
  const parallelism = spec.parallelism ?? 1;
  return spec.completions === undefined ? parallelism : Math.min(parallelism, spec.completions);
}

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
    status: { phase: 'Pending', conditions: [UNSCHEDULABLE] },
  };
}

/** Creates the pending pods `NAME-0`, `NAME-1` and so on. They share one spec object unless they have their own claims. */
export function podsOf(workload: Workload, uids: Uids): readonly Pod[] {
  const template = { ...workload.spec.template, spec: defaultRequests(workload.spec.template.spec) };
  return Array.from({ length: podCount(workload) }, (_, index) =>
    withClaimTemplates(podOf(workload, template, `${workload.metadata.name}-${index}`, uids()), workload),
  );
}

/** Reads a standalone pod. Sets the defaults of the API server. The pod is pending unless it is bound to a node. */
export function standalonePod(pod: Pod, uids: Uids): Pod {
  const pending = { phase: 'Pending', conditions: [UNSCHEDULABLE] } as const;
  const bound = Boolean(pod.spec.nodeName);
  return {
    ...pod,
    metadata: { ...pod.metadata, namespace: pod.metadata.namespace ?? 'default', uid: pod.metadata.uid ?? uids() },
    spec: defaultRequests(pod.spec),
    status: bound ? { phase: 'Running', ...pod.status } : { ...pending, ...pod.status },
  };
}

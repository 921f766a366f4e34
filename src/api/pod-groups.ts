/** Objects of other projects that declare gangs: PodGroups, and Workloads of Kubernetes 1.35 (feature gate PodGroup). */

import type { Kind } from './kinds.ts';
import type { KubeObject } from './kubernetes.ts';

/** Policy of `scheduling.k8s.io`. Without `gang`, the pods need not run together. */
interface SchedulingPolicy {
  readonly gang?: { readonly minCount?: number };
}

/** Group of pods in a Workload of `scheduling.k8s.io/v1alpha1`. */
interface WorkloadPodGroup {
  readonly name: string;
  readonly policy?: SchedulingPolicy;
}

/** Object of any of these kinds. Fields of the other kinds are absent. */
export interface GangObject extends KubeObject {
  readonly spec?: {
    readonly schedulingPolicy?: SchedulingPolicy;
    readonly schedulingConstraints?: { readonly topology?: readonly { readonly key?: string }[] };
    readonly minMember?: number;
    readonly podGroups?: readonly WorkloadPodGroup[];
  };
}

const kind = (group: string, version: string, name: string): Kind<GangObject> => ({
  group,
  version,
  kind: name,
  plural: `${name.toLowerCase()}s`,
  namespaced: true,
});

const SCHEDULING = 'scheduling.k8s.io';

/** Kinds in the versions that clusters serve. Of several versions of an object, the first one is used. */
export const GANG_KINDS: readonly Kind<GangObject>[] = [
  kind(SCHEDULING, 'v1beta1', 'PodGroup'),
  kind(SCHEDULING, 'v1alpha3', 'PodGroup'),
  kind(SCHEDULING, 'v1alpha2', 'PodGroup'),
  kind(SCHEDULING, 'v1alpha1', 'Workload'),
  kind('scheduling.x-k8s.io', 'v1alpha1', 'PodGroup'),
  kind('scheduling.volcano.sh', 'v1beta1', 'PodGroup'),
];

/**
 * Declares the fields of API objects that the engine reads in workers. Workers receive these fields alone
 * (`engine-worker/trimmed.ts`). Functions that run in workers, and disruption's decisions, take these types, so that code which
 * reads another field does not compile.
 */
import type { Condition, KubeObject, NodeClaim, ObjectMeta, Pod, PodStatus } from '#api/objects';

export const POD_METADATA = [
  'name',
  'namespace',
  'uid',
  'labels',
  'annotations',
  'creationTimestamp',
  'deletionTimestamp',
  'ownerReferences',
] as const satisfies readonly (keyof ObjectMeta)[];
export const POD_CONDITION = ['type', 'status', 'reason'] as const satisfies readonly (keyof Condition)[];
export const NODE_METADATA = ['name', 'labels'] as const satisfies readonly (keyof ObjectMeta)[];
export const CLAIM_METADATA = [
  'name',
  'creationTimestamp',
  'deletionTimestamp',
] as const satisfies readonly (keyof ObjectMeta)[];
export const CLAIM_SPEC = [
  'expireAfter',
  'terminationGracePeriod',
] as const satisfies readonly (keyof NodeClaim['spec'])[];
export const CLAIM_CONDITION = ['type', 'status', 'lastTransitionTime'] as const satisfies readonly (keyof Condition)[];

interface ObjectWith<Metadata extends readonly (keyof ObjectMeta)[]> extends Pick<KubeObject, 'apiVersion' | 'kind'> {
  readonly metadata: Pick<ObjectMeta, Metadata[number]>;
}

/** A pod as the engine reads it in workers. */
export interface EnginePod extends ObjectWith<typeof POD_METADATA>, Pick<Pod, 'spec'> {
  /** Workers receive the conditions that are False, and the condition of a pending resize. */
  readonly status?: Omit<PodStatus, 'conditions'> & {
    readonly conditions?: readonly Pick<Condition, (typeof POD_CONDITION)[number]>[];
  };
  /** Requests of the pod that its controller creates in its place, if they differ. */
  readonly successorRequests?: Readonly<Record<string, number>>;
}

/** A Node as the engine reads it in workers. */
export type EngineNodeObject = ObjectWith<typeof NODE_METADATA>;

/**
 * Part of a NodeClaim that the engine reads in workers: its age, and the times since which its node is quiet, drifted or
 * terminating.
 */
export interface EngineClaim extends ObjectWith<typeof CLAIM_METADATA> {
  readonly spec: Pick<NodeClaim['spec'], (typeof CLAIM_SPEC)[number]>;
  readonly status?: {
    readonly lastPodEventTime?: string;
    readonly conditions?: readonly Pick<Condition, (typeof CLAIM_CONDITION)[number]>[];
  };
}

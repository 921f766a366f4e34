/** Determines the pods for which a capacity buffer reserves capacity: the object that defines them, and their template. */
import {
  type CapacityBuffer,
  DEPLOYMENT,
  type Kind,
  POD_TEMPLATE,
  type PodTemplate,
  type PodTemplateSpec,
  REPLICA_SET,
  STATEFUL_SET,
  type Workload,
} from '#api/objects';

/** Reason why the pods of a buffer are unknown. `reason` is the reason of the buffer's condition ReadyForProvisioning. */
export interface BufferProblem {
  readonly reason: 'ScalableRefNotFound' | 'PodTemplateNotFound' | 'ResolutionFailed' | 'InvalidAnnotation';
  readonly message: string;
}

type BufferSource =
  | { readonly of: 'template'; readonly kind: Kind<PodTemplate>; readonly name: string }
  | { readonly of: 'workload'; readonly kind: Kind<Workload>; readonly name: string };

export interface BufferTarget {
  readonly template: PodTemplateSpec;
  /** Current replicas of the workload. Undefined for a pod template. */
  readonly current?: number;
  /** Set for a pod template. */
  readonly podTemplate?: { readonly name: string; readonly generation: number };
}

const SCALABLE: ReadonlyMap<string, Kind<Workload>> = new Map(
  [DEPLOYMENT, STATEFUL_SET, REPLICA_SET].map((kind) => [kind.kind, kind]),
);

export const isProblem = (answer: object): answer is BufferProblem => 'reason' in answer;

/** Returns the object to read from the namespace of the buffer. */
export function bufferSource({ spec }: CapacityBuffer): BufferSource | BufferProblem {
  const { podTemplateRef, scalableRef } = spec;
  if (podTemplateRef !== undefined) return { of: 'template', kind: POD_TEMPLATE, name: podTemplateRef.name };
  if (scalableRef === undefined) {
    return { reason: 'ResolutionFailed', message: 'Neither podTemplateRef nor scalableRef is set' };
  }
  const { apiGroup = '', name } = scalableRef;
  const kind = SCALABLE.get(scalableRef.kind);
  if (kind !== undefined && ['', 'apps'].includes(apiGroup)) return { of: 'workload', kind, name };
  const requested = apiGroup === '' ? scalableRef.kind : `${scalableRef.kind}.${apiGroup}`;
  const message = `scalableRef of kind ${requested} is not supported, use Deployment, StatefulSet or ReplicaSet of group apps`;
  return { reason: 'ResolutionFailed', message };
}

export const templateTarget = ({ metadata, template }: PodTemplate): BufferTarget => ({
  template,
  podTemplate: { name: metadata.name, generation: metadata.generation ?? 0 },
});

export const workloadTarget = ({ spec }: Workload): BufferTarget => ({
  template: spec.template,
  current: spec.replicas ?? 1,
});

/** Returns the problem for a source that does not exist. */
export const sourceNotFound = ({ of, kind, name }: BufferSource, namespace: string | undefined): BufferProblem => ({
  reason: of === 'template' ? 'PodTemplateNotFound' : 'ScalableRefNotFound',
  message: `${kind.kind} "${namespace ?? 'default'}/${name}" not found`,
});

/** Finds out what kind of pods a capacity buffer keeps room for. */
import type { CapacityBuffer } from '../../api/capacitybuffer.ts';
import { DEPLOYMENT, type Kind, POD_TEMPLATE, REPLICA_SET, STATEFUL_SET } from '../../api/kinds.ts';
import type { PodTemplateSpec, Workload } from '../../api/kubernetes.ts';
import type { KubeClient } from '../../kube/client.ts';

export type Target =
  | {
      readonly template: PodTemplateSpec;
      /** Replicas that the workload has now; undefined for a pod template. */
      readonly current?: number;
      /** Set for a pod template. */
      readonly podTemplate?: { readonly name: string; readonly generation: number };
    }
  | {
      /** Reason of the condition ReadyForProvisioning. */
      readonly reason: 'ScalableRefNotFound' | 'PodTemplateNotFound' | 'ResolutionFailed';
      readonly message: string;
    };

const SCALABLE: ReadonlyMap<string, Kind<Workload>> = new Map(
  [DEPLOYMENT, STATEFUL_SET, REPLICA_SET].map((kind) => [kind.kind, kind]),
);

/** @throws what the API server answers, except that something does not exist */
export async function findTarget(client: KubeClient, { metadata, spec }: CapacityBuffer): Promise<Target> {
  const { namespace } = metadata;
  const { podTemplateRef, scalableRef } = spec;
  if (podTemplateRef !== undefined) {
    const { name } = podTemplateRef;
    const found = await client.find(POD_TEMPLATE, { name, namespace });
    if (found === undefined) {
      return { reason: 'PodTemplateNotFound', message: `PodTemplate "${namespace}/${name}" not found` };
    }
    return { template: found.template, podTemplate: { name, generation: found.metadata.generation ?? 0 } };
  }
  if (scalableRef === undefined) {
    return { reason: 'ResolutionFailed', message: 'Neither podTemplateRef nor scalableRef is set' };
  }
  const { apiGroup = '', name } = scalableRef;
  const kind = SCALABLE.get(scalableRef.kind);
  if (kind === undefined || !['', 'apps'].includes(apiGroup)) {
    const asked = apiGroup === '' ? scalableRef.kind : `${scalableRef.kind}.${apiGroup}`;
    const message = `scalableRef of kind ${asked} is not supported, use Deployment, StatefulSet or ReplicaSet of group apps`;
    return { reason: 'ResolutionFailed', message };
  }
  const found = await client.find(kind, { name, namespace });
  if (found === undefined) {
    return { reason: 'ScalableRefNotFound', message: `${kind.kind} "${namespace}/${name}" not found` };
  }
  return { template: found.spec.template, current: found.spec.replicas ?? 1 };
}

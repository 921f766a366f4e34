/** Finds the templates of the controllers of pods in manifests. */
import { controllerOf, type Pod, type PodTemplateSpec } from '#api/objects';
import { type ResourceTemplate, resourceTemplateOf, workloadOf } from '#engine/model';
import { remembering } from '#lib';
import type { Manifest } from './read.ts';

const KINDS: ReadonlySet<string> = new Set(['Deployment', 'ReplicaSet', 'StatefulSet', 'Job', 'ReplicationController']);

const read = remembering((template: PodTemplateSpec): ResourceTemplate => resourceTemplateOf(template));

/**
 * Returns a function that returns the template of the controller of a pod. The Deployment stands for a ReplicaSet that the
 * manifests do not contain.
 */
export function templatesIn(manifests: readonly Manifest[]): (pod: Pod) => ResourceTemplate | undefined {
  const templates = new Map<string, PodTemplateSpec>();
  for (const { object } of manifests) {
    const { kind, metadata, spec } = object as Manifest['object'] & { readonly spec?: { template?: PodTemplateSpec } };
    if (KINDS.has(kind) && Array.isArray(spec?.template?.spec?.containers))
      templates.set(`${metadata.namespace ?? 'default'}/${kind}/${metadata.name}`, spec.template);
  }
  return (pod) => {
    const owner = controllerOf(pod);
    if (owner === undefined || templates.size === 0) return undefined;
    const namespace = pod.metadata.namespace ?? 'default';
    const template =
      templates.get(`${namespace}/${owner.kind}/${owner.name}`) ??
      templates.get(workloadOf(pod)) ??
      (owner.kind === 'ReplicaSet' ? templates.get(`${namespace}/Deployment/${owner.name}`) : undefined);
    return template && read(template);
  };
}

/**
 * Redacts a live object for a trace. Removes everything that `karpenter snapshot` removes, fields that only a cluster
 * sets, and fields that do not affect scheduling: images, scheduler names, scheduling gates.
 */

import {
  DEFAULT_STORAGE_CLASS_ANNOTATION,
  DELETION_COST_ANNOTATION,
  DO_NOT_DISRUPT_ANNOTATION,
  type Keep,
  type KubeObject,
  NODE_HOURLY_FEE_ANNOTATION,
  RESOURCES,
} from '#api/objects';
import { isObject, type JsonObject, put } from '#lib';
import { kept } from '../snapshot/keep.ts';
import { Redactor } from '../snapshot/redact.ts';

/** Image of all containers, because a replay pulls no images. */
const IMAGE = 'pause';

/** Annotations that affect decisions about an object. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  DO_NOT_DISRUPT_ANNOTATION,
  NODE_HOURLY_FEE_ANNOTATION,
  DELETION_COST_ANNOTATION,
  'cluster-autoscaler.kubernetes.io/safe-to-evict',
  DEFAULT_STORAGE_CLASS_ANNOTATION,
]);

/** Kinds with labels that selectors match. */
const LABELLED: ReadonlySet<string> = new Set(['Pod', 'Namespace']);

const ROLLING: Keep = { type: true, rollingUpdate: { maxSurge: true, maxUnavailable: true, partition: true } };

/** Fields that the controllers of a replay need in addition to the fields of a snapshot. */
const MORE: Readonly<Record<string, Keep>> = {
  Deployment: { spec: { strategy: ROLLING, minReadySeconds: true } },
  StatefulSet: {
    spec: {
      serviceName: true,
      podManagementPolicy: true,
      updateStrategy: ROLLING,
      volumeClaimTemplates: {
        metadata: { name: true },
        spec: { accessModes: true, storageClassName: true, resources: RESOURCES },
      },
    },
  },
  StorageClass: { reclaimPolicy: true },
};

/** Fields of a pod's spec that are specific to its cluster, or that a replay decides again. */
const NOT_IN_PODS: ReadonlySet<string> = new Set(['nodeName', 'priority', 'schedulerName', 'schedulingGates']);

const redactor = new Redactor();

export function traceObject(object: KubeObject): KubeObject {
  const safe = redactor.redacted(object) as KubeObject & JsonObject;
  const { apiVersion, kind, metadata: _, status: __, spec, template, ...rest } = safe;
  const more = MORE[kind] === undefined ? {} : (kept(object, MORE[kind]) as JsonObject);
  const { spec: moreSpec, ...moreRest } = more;
  return {
    apiVersion,
    kind,
    metadata: metadataOf(object),
    ...rest,
    ...moreRest,
    ...(isObject(spec) ? { spec: specOf(kind, { ...spec, ...(isObject(moreSpec) ? moreSpec : {}) }) } : {}),
    ...(isObject(template) ? { template: templateOf(template) } : {}),
  } as KubeObject;
}

function metadataOf({ kind, metadata }: KubeObject): KubeObject['metadata'] {
  const { name, namespace, labels } = metadata;
  const annotations = annotationsOf(metadata.annotations);
  return {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(labels === undefined || !LABELLED.has(kind) ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
  };
}

function annotationsOf(annotations: unknown): Record<string, string> | undefined {
  if (!isObject(annotations)) return undefined;
  const found = Object.entries(annotations).filter(([key, value]) => ANNOTATIONS.has(key) && typeof value === 'string');
  return found.length === 0 ? undefined : (Object.fromEntries(found) as Record<string, string>);
}

function specOf(kind: string, spec: JsonObject): JsonObject {
  if (kind === 'Pod') return podSpec(spec);
  if (kind === 'PersistentVolumeClaim') return without(spec, ['volumeName']);
  // specific to the account and the images of the cluster, and without effect in a replay
  if (kind === 'EC2NodeClass') return without(spec, ['userData']);
  if (kind === 'NodePool' || !isObject(spec.template)) return spec;
  return { ...spec, template: templateOf(spec.template) };
}

const without = (fields: JsonObject, names: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));

function templateOf(template: JsonObject): JsonObject {
  const { metadata, spec } = template;
  const { labels, annotations } = isObject(metadata) ? metadata : {};
  const decisive = annotationsOf(annotations);
  return {
    metadata: {
      ...(isObject(labels) ? { labels } : {}),
      ...(decisive === undefined ? {} : { annotations: decisive }),
    },
    ...(isObject(spec) ? { spec: podSpec(spec) } : {}),
  };
}

function podSpec(spec: JsonObject): JsonObject {
  const found: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(spec)) {
    if (NOT_IN_PODS.has(name)) continue;
    if (name === 'containers' || name === 'initContainers') found[name] = list(value).map(withImage);
    else if (name === 'volumes') found[name] = list(value).filter(isClaim);
    else put(found, name, value);
  }
  return found;
}

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const withImage = (container: unknown): unknown => (isObject(container) ? { ...container, image: IMAGE } : container);
const isClaim = (volume: unknown): boolean =>
  isObject(volume) && (volume.persistentVolumeClaim !== undefined || volume.ephemeral !== undefined);

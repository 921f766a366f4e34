/**
 * Trims objects in informers to the fields that the product reads (`api/kept-fields.ts`), and shares the common parts of the pods
 * of a workload. This reduces the memory of a large cluster to a third. Trimmed objects must never be changed, and never be
 * written back as a whole.
 */
import {
  CONDITION,
  CONTAINER,
  CONTAINER_STATUS,
  type Condition,
  type Container,
  type ContainerStatus,
  type FieldsOf,
  KEPT_ANNOTATIONS,
  type Kind,
  type KubeObject,
  NODE,
  NODE_CLAIM,
  NODE_FIELDS,
  type Node,
  type NodeClaim,
  type ObjectMeta,
  POD,
  POD_FIELDS,
  type Pod,
  type PodSpec,
  type PodStatus,
  type PodVolume,
  RESIZE_PENDING,
  reportsOtherRequests,
  VOLUME,
  withResizeMark,
} from '#api/objects';
import { defined, internStrings, picked } from '#lib';
import { sharedFields, shareParts, withSharedParts } from './shared-parts.ts';
import { withoutDriverData } from './trimmed-devices.ts';

/** Returns an object of the API server without the fields that this product does not read. */
export function trimmedObject<T extends KubeObject>(kind: Kind<T>, object: T): T {
  // each kind has one object type
  if (kind.plural === POD.plural) return trimmedPodWith(object as unknown as Pod) as unknown as T;
  const light =
    'managedFields' in object.metadata ? { ...object, metadata: withoutManagedFields(object.metadata) } : object;
  if (kind.plural === NODE_CLAIM.plural) return lightClaim(light as unknown as NodeClaim) as unknown as T;
  if (kind.plural === NODE.plural) return lightNode(light as unknown as Node) as unknown as T;
  return internStrings(withoutDriverData(kind, light));
}

/** Removes the field that records which manager set which field. */
export function withoutManagedFields<M extends KubeObject['metadata']>(metadata: M & { managedFields?: unknown }): M {
  const { managedFields: _, ...rest } = metadata;
  return rest as unknown as M;
}

/**
 * Shares the parts that many claims have in common. Claims of a NodePool list the same sixty instance types, and claims of one
 * instance type have the same amounts.
 */
function lightClaim(claim: NodeClaim): NodeClaim {
  const { spec, status } = claim;
  const light: NodeClaim = {
    ...claim,
    spec: { ...spec, requirements: shareParts(spec.requirements) },
    ...(status === undefined ? {} : { status: sharedFields(status, ['capacity', 'allocatable']) }),
  };
  return internStrings(light);
}

function lightNode({ spec, status, ...node }: Node): Node {
  return internStrings({
    ...node,
    ...(spec && { spec: picked(spec, NODE_SPEC) }),
    ...(status && { status: picked(status, NODE_STATUS) }),
  });
}

/** @param known the trimmed spec, if the caller has it */
export function trimmedPodWith({ metadata, spec, status, ...pod }: Pod, known?: PodSpec): Pod {
  const light = withSharedParts({
    ...pod,
    metadata: withKeptAnnotations(withResizeMark(metadata)),
    spec: known === undefined ? lightSpec(spec) : NO_SPEC,
    ...(status === undefined ? {} : { status: lightStatus(spec, status) }),
  });
  return known === undefined ? light : { ...light, spec: known };
}

const NO_SPEC: PodSpec = { containers: [] };

function lightSpec(spec: PodSpec): PodSpec {
  const { containers, initContainers, volumes } = spec;
  return {
    ...picked(spec, POD_SPEC),
    containers: containers.map(lightContainer),
    ...(initContainers === undefined ? {} : { initContainers: initContainers.map(lightContainer) }),
    ...(volumes === undefined ? {} : { volumes: volumes.map((volume): PodVolume => picked(volume, VOLUME_FIELDS)) }),
  };
}

/** Keeps only the annotations that the product reads. Networks and sidecar injectors write large annotations into each pod. */
function withKeptAnnotations({ annotations, ...metadata }: ObjectMeta): ObjectMeta {
  const kept = Object.entries(annotations ?? {}).filter(([key]) => KEPT_ANNOTATIONS.has(key));
  return kept.length === 0 ? metadata : { ...metadata, annotations: Object.fromEntries(kept) };
}

/** Returns the fields that a rule keeps. */
const fieldsOf = <T extends object>(rule: FieldsOf<T>): readonly (keyof T)[] =>
  (Object.keys(rule) as (keyof FieldsOf<T>)[]).filter((field) => rule[field] !== false);

const POD_SPEC = fieldsOf<PodSpec>(POD_FIELDS.spec);
const POD_STATUS = fieldsOf<PodStatus>(POD_FIELDS.status);
const NODE_SPEC = fieldsOf<NonNullable<Node['spec']>>(NODE_FIELDS.spec);
const NODE_STATUS = fieldsOf<NonNullable<Node['status']>>(NODE_FIELDS.status);
const CONTAINER_FIELDS = fieldsOf<Container>(CONTAINER);
const VOLUME_FIELDS = fieldsOf<PodVolume>(VOLUME);
const CONDITION_FIELDS = fieldsOf<Condition>(CONDITION);
const STATUS_FIELDS = fieldsOf<ContainerStatus>(CONTAINER_STATUS);

const lightContainer = (container: Container): Container => picked(container, CONTAINER_FIELDS);

/** Returns a container's status. Drops requests that match the spec, which kubelets report for all containers. */
function lightContainerStatus(status: ContainerStatus, containers: readonly Container[]): ContainerStatus {
  const { resources, allocatedResources, ...light } = picked(status, STATUS_FIELDS);
  const container = containers.find(({ name }) => name === status.name);
  const isOther = container !== undefined && reportsOtherRequests(container, status);
  return isOther ? { ...light, ...defined({ resources, allocatedResources }) } : light;
}

/** Conditions that show whether a pod has a node, whether the pod is ready, and whether a resize is pending. */
const CONDITIONS: ReadonlySet<string> = new Set(['PodScheduled', 'Ready', RESIZE_PENDING]);

function lightStatus({ containers, initContainers = [], resources: podLevel }: PodSpec, status: PodStatus): PodStatus {
  const { resources, allocatedResources, ...light } = picked(status, POD_STATUS);
  const { conditions, containerStatuses, initContainerStatuses } = status;
  return {
    ...light,
    ...(podLevel === undefined ? {} : defined({ resources, allocatedResources })),
    ...(conditions === undefined ? {} : { conditions: lightConditions(conditions) }),
    ...(containerStatuses === undefined
      ? {}
      : { containerStatuses: containerStatuses.map((each) => lightContainerStatus(each, containers)) }),
    ...(initContainerStatuses === undefined
      ? {}
      : { initContainerStatuses: initContainerStatuses.map((each) => lightContainerStatus(each, initContainers)) }),
  };
}

const lightConditions = (conditions: readonly Condition[]): readonly Condition[] =>
  conditions
    .filter(({ type }) => CONDITIONS.has(type))
    .map((condition) => internStrings(picked(condition, CONDITION_FIELDS), 'flat'));

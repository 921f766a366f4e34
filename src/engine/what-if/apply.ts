/** Applies a change to the objects of a cluster, with the effects that its controllers have immediately afterwards. */
import type {
  KubeObject,
  Node,
  NodeClaim,
  NodePool,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  Workload,
} from '#api/objects';
import { timestamp } from '#lib';
import { isActive, namespaceOf } from '../pods.ts';
import { budgetAfterScaling } from './budget-after-scaling.ts';
import {
  type Change,
  isReplicaSetName,
  type NodePoolChange,
  type ScaleChange,
  type WorkloadKind,
  workloadKindOf,
} from './change.ts';
import { changedNodePool } from './node-pool-change.ts';
import { copiesOf } from './pod-copies.ts';
import { inOrderOfRemoval } from './removal-order.ts';

/** Objects that a change can affect. */
export interface ClusterObjects {
  readonly nodes: readonly Node[];
  readonly nodeClaims: readonly NodeClaim[];
  readonly nodePools: readonly NodePool[];
  readonly pods: readonly Pod[];
  /** Deployments, ReplicaSets and StatefulSets. Empty if only their pods are known. */
  readonly workloads: readonly Workload[];
  readonly persistentVolumeClaims: readonly PersistentVolumeClaim[];
  readonly podDisruptionBudgets: readonly PodDisruptionBudget[];
}

export interface ObjectChanges {
  readonly replaced: ReadonlyMap<KubeObject, KubeObject>;
  readonly removed: ReadonlySet<KubeObject>;
  /** Pods and their volume claims. */
  readonly added: readonly KubeObject[];
  /** Provider id of a node that is drained. */
  readonly drained?: string;
  /** Changed NodePool, which is also among the replaced objects. */
  readonly nodePool?: NodePool;
}

interface Options {
  readonly nowMs: number;
  /** Maximum number of pods that a change can add. */
  readonly mostAdded?: number;
}

/** A change that is not valid. */
export class ChangeError extends Error {
  override readonly name = 'ChangeError';
  /** Object that does not exist. Undefined if the change is not valid for another reason. */
  readonly missing: MissingObject | undefined;

  constructor(message: string, missing?: MissingObject) {
    super(message);
    this.missing = missing;
  }
}

interface MissingObject {
  readonly kind: string;
  readonly name: string;
  /** Names of the existing objects of this kind. */
  readonly known: readonly string[];
}

const missing = (kind: string, name: string, known: readonly string[]): ChangeError =>
  new ChangeError(`${kind} "${name}" does not exist; check its name`, { kind, name, known });

/** @throws ChangeError if an object does not exist, or the change is not valid */
export function applyChange(objects: ClusterObjects, change: Change, options: Options): ObjectChanges {
  if (change.verb === 'drain') return drain(objects, change.node, options.nowMs);
  return change.verb === 'scale' ? scale(objects, change, options) : changeNodePool(objects, change);
}

const changes = (parts: Partial<ObjectChanges>): ObjectChanges => ({
  replaced: new Map(),
  removed: new Set(),
  added: [],
  ...parts,
});

/** Starts the deletion of a Node and its NodeClaim, so that its pods must be rescheduled. */
function drain({ nodes, nodeClaims }: ClusterObjects, name: string, nowMs: number): ObjectChanges {
  const ids = [
    ...nodes.map((node) => ({ names: [node.metadata.name], object: node, providerId: node.spec?.providerID })),
    ...nodeClaims.map((claim) => ({ names: [], object: claim, providerId: claim.status?.providerID })),
  ];
  const named =
    ids.find(({ object }) => object.metadata.name === name) ??
    ids.find(({ names }) => names.some((each) => each.startsWith(`${name}.`)));
  if (named === undefined) {
    const known = nodes.map(({ metadata }) => metadata.name);
    throw missing('Node', name, known);
  }
  const { object, providerId } = named;
  const deletionTimestamp = timestamp(nowMs);
  const affected = ids.filter(
    (each) => each.object === object || (providerId !== undefined && each.providerId === providerId),
  );
  const replaced = affected
    .filter((each) => each.object.metadata.deletionTimestamp === undefined)
    .map(({ object: { metadata, ...rest }, object: from }): [KubeObject, KubeObject] => [
      from,
      { ...rest, metadata: { ...metadata, deletionTimestamp } },
    ]);
  return changes({ replaced: new Map(replaced), ...(providerId !== undefined && { drained: providerId }) });
}

function changeNodePool({ nodePools }: ClusterObjects, change: NodePoolChange): ObjectChanges {
  const names = nodePools.map(({ metadata }) => metadata.name);
  const from = nodePools[names.indexOf(change.nodePool)];
  if (from === undefined) throw missing('NodePool', change.nodePool, names);
  const to = changedNodePool(from, change);
  if (typeof to === 'string') throw new ChangeError(to);
  return changes({ replaced: new Map([[from, to]]), nodePool: to });
}

interface Target extends Omit<ScaleChange, 'kind'> {
  readonly kind: WorkloadKind;
}

function scale(objects: ClusterObjects, change: ScaleChange, { mostAdded }: Options): ObjectChanges {
  const kind = workloadKindOf(change.kind);
  if (kind === undefined)
    throw new ChangeError(`"${change.kind}" cannot be scaled; use deploy, statefulset or replicaset`);
  const target: Target = { ...change, kind };
  const own = objects.pods.filter((pod) => isPodOf(pod, target, objects));
  const count = change.replicas - own.length;
  if (mostAdded !== undefined && own.length > 0 && count > mostAdded)
    throw new ChangeError(
      `the change adds ${count} pods, but at most ${mostAdded} can be added here; use karpenter simulate`,
    );
  if (own.length > 0) return scalePods(objects, own, target);
  if (!objects.workloads.some((each) => isWorkload(each, target))) throw unknownWorkload(target, objects);
  return changes({ replaced: workloadsAfter(objects, target) });
}

const namespaceOfObject = ({ metadata }: KubeObject): string => metadata.namespace ?? 'default';

const isWorkload = (
  object: KubeObject,
  { kind, namespace, name }: Pick<Target, 'kind' | 'namespace' | 'name'>,
): boolean => object.kind === kind && object.metadata.name === name && namespaceOfObject(object) === namespace;

const isOwnedBy = ({ metadata }: KubeObject, kind: string, name: string): boolean =>
  (metadata.ownerReferences ?? []).some((owner) => owner.kind === kind && owner.name === name);

/** Returns true for ReplicaSets of a Deployment. Also supports ReplicaSets that are only known as owners of pods. */
function isReplicaSetOf(name: string, deployment: Target, { workloads }: ClusterObjects): boolean {
  const known = workloads.find((object) => isWorkload(object, { ...deployment, kind: 'ReplicaSet', name }));
  if (known !== undefined) return isOwnedBy(known, 'Deployment', deployment.name);
  // names of ReplicaSets end in a hash of the pod template
  return isReplicaSetName(name, deployment.name);
}

function isPodOf(pod: Pod, target: Target, objects: ClusterObjects): boolean {
  if (namespaceOf(pod) !== target.namespace || !isActive(pod)) return false;
  if (target.kind !== 'Deployment') return isOwnedBy(pod, target.kind, target.name);
  const owner = (pod.metadata.ownerReferences ?? []).find(({ kind }) => kind === 'ReplicaSet');
  return owner !== undefined && isReplicaSetOf(owner.name, target, objects);
}

function unknownWorkload({ kind, namespace, name }: Target, { workloads }: ClusterObjects): ChangeError {
  const known = workloads.flatMap((object) =>
    object.kind === kind ? [`${namespaceOfObject(object)}/${object.metadata.name}`] : [],
  );
  return missing(kind, `${namespace}/${name}`, known);
}

const isOwnReplicaSet = (object: KubeObject, { kind, namespace, name }: Target): boolean =>
  kind === 'Deployment' &&
  object.kind === 'ReplicaSet' &&
  namespaceOfObject(object) === namespace &&
  isOwnedBy(object, 'Deployment', name);

const withReplicas = (workload: Workload, replicas: number): Workload => ({
  ...workload,
  spec: { ...workload.spec, replicas },
});

/** Changes the replicas of a workload without pods. Its pods are created from the workload, and not from its ReplicaSets. */
const workloadsAfter = ({ workloads }: ClusterObjects, target: Target): ReadonlyMap<KubeObject, KubeObject> =>
  new Map(
    workloads.flatMap((object): readonly (readonly [KubeObject, KubeObject])[] => {
      if (isOwnReplicaSet(object, target)) return [[object, withReplicas(object, 0)]];
      if (!isWorkload(object, target)) return [];
      const { resourceVersion: _, ...metadata } = object.metadata;
      return [[object, withReplicas({ ...object, metadata }, target.replicas)]];
    }),
  );

/** Keeps the pods of a workload on their nodes. Removes some of them, or adds copies. */
function scalePods(objects: ClusterObjects, own: readonly Pod[], target: Target): ObjectChanges {
  const { persistentVolumeClaims, podDisruptionBudgets, workloads } = objects;
  const gone = inOrderOfRemoval(own, target.kind).slice(0, Math.max(0, own.length - target.replicas));
  const count = Math.max(0, target.replicas - own.length);
  const budgets = podDisruptionBudgets.flatMap((budget): readonly (readonly [KubeObject, KubeObject])[] => {
    const scaled = budgetAfterScaling(budget, { pods: own, gone, grown: target.replicas - own.length });
    return scaled === budget ? [] : [[budget, scaled]];
  });
  // the pods stand for themselves
  const standing = workloads
    .filter((object) => isWorkload(object, target) || isOwnReplicaSet(object, target))
    .map((object) => [object, withReplicas(object, 0)] as const);
  return changes({
    removed: new Set(gone),
    added: copiesOf(own, { kind: target.kind, name: target.name, count, persistentVolumeClaims }),
    replaced: new Map<KubeObject, KubeObject>([...budgets, ...standing]),
  });
}

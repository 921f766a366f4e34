/** Parses the values of `--what-if`: files with manifests, and changes in words. */
import { existsSync } from 'node:fs';
import { isTrue } from '../../api/conditions.ts';
import type { KubeObject, Node, Pod, PodDisruptionBudget, Workload } from '../../api/kubernetes.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { desiredHealthy } from '../../api/pod-disruption-budget.ts';
import { isActive } from '../../engine/pods.ts';
import { selects } from '../../engine/selectors.ts';
import {
  CHANGE_FORMS,
  CHANGE_VERBS,
  isReplicaSetName,
  type NodePoolChange,
  parseChange,
  type WorkloadKind,
  workloadKindOf,
} from '../../engine/what-if/change.ts';
import { changedNodePool } from '../../engine/what-if/node-pool-change.ts';
import { copiesOf } from '../../engine/what-if/pod-copies.ts';
import { inOrderOfRemoval } from '../../engine/what-if/removal-order.ts';
import { timestamp } from '../../lib/times.ts';
import { InputError } from '../objects/errors.ts';
import { applyManifests, type Manifest, readManifests } from '../objects/read.ts';
import { notAmong } from '../render/known.ts';
import { priceChangeOf } from './prices.ts';

interface Drain {
  /** Name of the Node or its NodeClaim, or the part of the Node's name before the first dot. */
  readonly node: string;
  readonly nowMs: number;
  readonly where: string;
}

/**
 * Marks a node as being deleted, so that its pods must be rescheduled.
 *
 * @throws InputError if the node does not exist
 */
function drainNode(manifests: readonly Manifest[], { node: name, nowMs, where }: Drain): readonly Manifest[] {
  const named = manifests.find(({ object }) => isNamed(object, name));
  if (named === undefined) {
    const known = manifests.flatMap(({ object }) => (object.kind === 'Node' ? [object.metadata.name] : []));
    throw new InputError(where, notAmong('node', name, { known, where: 'in the manifests' }));
  }
  const providerId = providerIdOf(named.object);
  const deletionTimestamp = timestamp(nowMs);
  return manifests.map((manifest) => {
    const { object } = manifest;
    const isHalf = object === named.object || (providerId !== undefined && providerIdOf(object) === providerId);
    if (!isHalf || object.metadata.deletionTimestamp !== undefined) return manifest;
    return { ...manifest, object: { ...object, metadata: { ...object.metadata, deletionTimestamp } } };
  });
}

function isNamed({ kind, metadata }: KubeObject, name: string): boolean {
  if (kind === 'NodeClaim') return metadata.name === name;
  return kind === 'Node' && (metadata.name === name || metadata.name.startsWith(`${name}.`));
}

function providerIdOf(object: KubeObject): string | undefined {
  if (object.kind === 'Node') return (object as Node).spec?.providerID;
  return object.kind === 'NodeClaim' ? (object as NodeClaim).status?.providerID : undefined;
}

/**
 * Changes a limit or a requirement of a NodePool.
 *
 * @throws InputError if the NodePool does not exist, or the change is not valid
 */
function changeNodePool(
  manifests: readonly Manifest[],
  { where, ...change }: NodePoolChange & { readonly where: string },
): readonly Manifest[] {
  const pools = manifests.filter(({ object }) => object.kind === 'NodePool');
  const named = pools.find(({ object }) => object.metadata.name === change.nodePool);
  if (named === undefined) {
    const known = pools.map(({ object }) => object.metadata.name);
    throw new InputError(where, notAmong('NodePool', change.nodePool, { known, where: 'in the manifests' }));
  }
  const object = changedNodePool(named.object as NodePool, change);
  if (typeof object === 'string') throw new InputError(where, object);
  return manifests.map((manifest) => (manifest === named ? { ...manifest, object } : manifest));
}

/** Changes as shown in the help. */
export const CHANGES =
  '"scale deploy/web=50", "drain NODE", "limit NODEPOOL cpu=100", "require NODEPOOL KEY=VALUES" or "spot+30%"';

/** @throws InputError if a change cannot be made */
type Change = (manifests: readonly Manifest[], nowMs: number) => readonly Manifest[];

/**
 * Returns undefined for a file or a change of prices, which do not change objects.
 *
 * @throws InputError if a change is incomplete
 */
function changeOf(text: string): Change | undefined {
  const where = `--what-if "${text}"`;
  const change = parseChange(text);
  if (change?.verb === 'drain') return (manifests, nowMs) => drainNode(manifests, { node: change.node, nowMs, where });
  if (change?.verb === 'scale') return (manifests) => scaleWorkload(manifests, { ...change, where });
  if (change !== undefined) return (manifests) => changeNodePool(manifests, { ...change, where });
  if (CHANGE_VERBS.some((verb) => text === verb || text.startsWith(`${verb} `)))
    throw new InputError(where, `expected ${CHANGE_FORMS}`);
  return undefined;
}

/**
 * Returns the objects of a cluster after the changes, which are applied in order.
 *
 * @throws InputError with the change, or with the document and the field
 */
export function applyChanges(
  manifests: readonly Manifest[],
  whatIf: readonly string[],
  nowMs: number,
): { readonly manifests: readonly Manifest[]; readonly added: readonly Manifest[] } {
  // files are applied first, because all files are one set of manifests, as with -f
  const files = whatIf.filter((text) => changeOf(text) === undefined && priceChangeOf(text) === undefined);
  for (const file of files)
    if (file !== '-' && !existsSync(file))
      throw new InputError(file, `not a file, a folder or a change; changes are, for example, ${CHANGES}`);
  const added = readManifests(files);
  const changes = whatIf.flatMap((text) => changeOf(text) ?? []);
  return {
    added,
    manifests: changes.reduce((before, change) => change(before, nowMs), applyManifests(manifests, added)),
  };
}

interface Scaled {
  /** Pods of the workload before the change. */
  readonly pods: readonly Pod[];
  /** Removed pods. */
  readonly gone: readonly Pod[];
  /** Change of the number of pods. */
  readonly grown: number;
}

/** Updates PodDisruptionBudgets for the moment after a workload was scaled, when new pods are not healthy yet. */
const budgetsAfter = (manifests: readonly Manifest[], scaled: Scaled): readonly Manifest[] =>
  manifests.map((manifest) => {
    if (manifest.object.kind !== 'PodDisruptionBudget') return manifest;
    const object = after(manifest.object as PodDisruptionBudget, scaled);
    return object === manifest.object ? manifest : { ...manifest, object };
  });

/**
 * Updates the status of a budget. A budget without a status is not changed, because its controller has not counted
 * its pods.
 */
function after(budget: PodDisruptionBudget, { pods, gone, grown }: Scaled): PodDisruptionBudget {
  const { status, spec } = budget;
  const [pod] = pods;
  if (status?.expectedPods === undefined || pod === undefined || !isFor(budget, pod)) return budget;
  const expectedPods = Math.max(0, status.expectedPods + grown);
  const healthyGone = gone.filter((each) => isFor(budget, each) && isTrue(each, 'Ready')).length;
  const currentHealthy = Math.max(0, (status.currentHealthy ?? 0) - healthyGone);
  const required = desiredHealthy(spec, expectedPods);
  const disruptionsAllowed = expectedPods === 0 ? 0 : Math.max(0, currentHealthy - required);
  return {
    ...budget,
    status: { ...status, expectedPods, currentHealthy, desiredHealthy: required, disruptionsAllowed },
  };
}

const isFor = ({ metadata, spec }: PodDisruptionBudget, pod: Pod): boolean =>
  (metadata.namespace ?? 'default') === (pod.metadata.namespace ?? 'default') &&
  selects(spec.selector, pod.metadata.labels);

interface Scale {
  readonly namespace: string;
  /** Kind as the user typed it, such as `deploy`. */
  readonly kind: string;
  readonly name: string;
  readonly replicas: number;
  readonly where: string;
}

/** @throws InputError if neither the workload nor its pods exist */
function scaleWorkload(manifests: readonly Manifest[], scale: Scale): readonly Manifest[] {
  const kind = workloadKindOf(scale.kind);
  if (kind === undefined)
    throw new InputError(scale.where, `"${scale.kind}" cannot be scaled; use deploy, statefulset or replicaset`);
  const target: Target = { ...scale, kind };
  const own = manifests.filter(({ object }) => isPodOf(object, target, manifests));
  const isThere = manifests.some(({ object }) => isWorkload(object, target));
  if (own.length === 0 && !isThere) throw unknown(target, manifests);
  return own.length === 0 ? standingFor(manifests, target) : withPods(manifests, own, target);
}

interface Target extends Omit<Scale, 'kind'> {
  readonly kind: WorkloadKind;
}

const namespaceOf = ({ metadata }: KubeObject): string => metadata.namespace ?? 'default';

const isWorkload = (object: KubeObject, { kind, namespace, name }: Omit<Target, 'replicas' | 'where'>): boolean =>
  object.kind === kind && object.metadata.name === name && namespaceOf(object) === namespace;

const isOwnedBy = ({ metadata }: KubeObject, kind: string, name: string): boolean =>
  (metadata.ownerReferences ?? []).some((owner) => owner.kind === kind && owner.name === name);

/** Returns true for ReplicaSets of a Deployment. Also supports ReplicaSets that are only known as owners of pods. */
function isReplicaSetOf(name: string, deployment: Target, manifests: readonly Manifest[]): boolean {
  const known = manifests.find(({ object }) => isWorkload(object, { ...deployment, kind: 'ReplicaSet', name }));
  if (known !== undefined) return isOwnedBy(known.object, 'Deployment', deployment.name);
  // `kubectl get pods` does not include ReplicaSets, but their names end in a hash of the pod template
  return isReplicaSetName(name, deployment.name);
}

function isPodOf(object: KubeObject, target: Target, manifests: readonly Manifest[]): boolean {
  if (object.kind !== 'Pod' || namespaceOf(object) !== target.namespace || !isActive(object as Pod)) return false;
  if (target.kind !== 'Deployment') return isOwnedBy(object, target.kind, target.name);
  const owner = (object.metadata.ownerReferences ?? []).find(({ kind }) => kind === 'ReplicaSet');
  return owner !== undefined && isReplicaSetOf(owner.name, target, manifests);
}

function unknown(target: Target, manifests: readonly Manifest[]): InputError {
  const { kind, namespace, name, where } = target;
  const known = manifests.flatMap(({ object }) =>
    object.kind === kind ? [`${namespaceOf(object)}/${object.metadata.name}`] : [],
  );
  return new InputError(where, notAmong(kind, `${namespace}/${name}`, { known, where: 'in the manifests' }));
}

/**
 * Changes the replicas of a workload without pods in the manifests. Its pods are created from the workload, and not
 * from its ReplicaSets.
 */
function standingFor(manifests: readonly Manifest[], target: Target): readonly Manifest[] {
  return manifests.map((manifest) => {
    const { object } = manifest;
    if (isWorkload(object, target)) {
      const { resourceVersion: _, ...metadata } = object.metadata;
      return { ...manifest, object: withReplicas({ ...object, metadata } as Workload, target.replicas) };
    }
    return isOwnReplicaSet(object, target) ? { ...manifest, object: withReplicas(object as Workload, 0) } : manifest;
  });
}

const isOwnReplicaSet = (object: KubeObject, { kind, namespace, name }: Target): boolean =>
  kind === 'Deployment' &&
  object.kind === 'ReplicaSet' &&
  namespaceOf(object) === namespace &&
  isOwnedBy(object, 'Deployment', name);

const withReplicas = (workload: Workload, replicas: number): Workload => ({
  ...workload,
  spec: { ...workload.spec, replicas },
});

/** Keeps the pods of a cluster on their nodes. Removes some of them, or adds pending copies. */
function withPods(manifests: readonly Manifest[], own: readonly Manifest[], target: Target): readonly Manifest[] {
  const pods = own.map(({ object }) => object as Pod);
  const gone = new Set<KubeObject>(
    inOrderOfRemoval(pods, target.kind).slice(0, Math.max(0, pods.length - target.replicas)),
  );
  const joining = copiesOf(pods, { ...target, count: Math.max(0, target.replicas - pods.length), manifests });
  const kept = manifests
    .filter(({ object }) => !gone.has(object))
    .map((manifest) =>
      isWorkload(manifest.object, target) || isOwnReplicaSet(manifest.object, target)
        ? // its pods stand for themselves
          { ...manifest, object: withReplicas(manifest.object as Workload, 0) }
        : manifest,
    );
  const grown = target.replicas - pods.length;
  return budgetsAfter([...kept, ...joining], { pods, gone: pods.filter((pod) => gone.has(pod)), grown });
}

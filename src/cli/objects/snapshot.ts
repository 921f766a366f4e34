/** Manifests as the snapshot that the operator would see in a cluster that holds them. */
import type {
  CSINode,
  DaemonSet,
  KubeObject,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  StorageClass,
  TopologySpreadConstraint,
  Workload,
} from '../../api/kubernetes.ts';
import { INITIALIZED_LABEL, INSTANCE_TYPE_LABEL, NODEPOOL_LABEL } from '../../api/labels.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { podsOfLeavingNodes } from '../../engine/disruption/candidates/pod-blocks.ts';
import type { InstanceType, PoolInput, Snapshot, StateNode } from '../../engine/model.ts';
import { isProvisionable } from '../../engine/pods.ts';
import { selects } from '../../engine/selectors.ts';
import { providerIdOf, stateNode } from '../../state/node.ts';
import { representative } from '../../state/snapshot.ts';
import { bufferPods } from './buffers.ts';
import { checkNode, checkPodSpec, checkWorkload, Field } from './check.ts';
import { withDisruptionConditions } from './disruption-conditions.ts';
import { InputError } from './errors.ts';
import { behindGates, type KnownGates } from './gated-kinds.ts';
import { NodeClasses } from './node-classes.ts';
import { type ExtrasOptions, ExtrasReader } from './node-extras.ts';
import { underOverlays } from './overlays.ts';
import { type ReadPool, readPools } from './pools.ts';
import { identityOf, isFromCluster, type Manifest } from './read.ts';
import { notInSnapshot } from './snapshot-info.ts';
import { defaultSpreadOf } from './spread.ts';
import { unknownFields } from './stored.ts';
import { daemonPodOf, podsOf, standalonePod, type Uids, uidsInOrder } from './workloads.ts';

export interface World {
  readonly snapshot: Snapshot;
  /** Every NodePool, those too that buy nothing for pods: the static ones, and those being deleted. */
  readonly allPools: readonly PoolInput[];
  /** Pods that wait, but for which no node is bought now. */
  readonly waiting: readonly Pod[];
  /** Pods of nodes that are going away: nodes are bought for them before they are pending. */
  readonly leaving: readonly Pod[];
  /** What was passed over, for the user to know. */
  readonly notes: readonly string[];
  /** What the answers depend on and cannot be known here. */
  readonly unknown: readonly string[];
}

export interface WorldOptions extends ExtrasOptions {
  readonly instanceTypes: (nodePool: NodePool) => readonly InstanceType[];
  readonly nowMs: number;
  readonly featureGates?: KnownGates;
  /** Default topology spread constraints of the cluster's scheduler. */
  readonly defaultConstraints?: readonly TopologySpreadConstraint[] | undefined;
}

/** Kinds that take part as they are, or that matter to others only. */
export const KNOWN_KINDS: ReadonlySet<string> = new Set(
  [
    'NodePool NodeOverlay CapacityBuffer PodTemplate EC2NodeClass NodeClaim Node Pod Deployment StatefulSet ReplicaSet Job DaemonSet Namespace PriorityClass',
    'PersistentVolume PersistentVolumeClaim StorageClass CSINode PodDisruptionBudget VolumeAttachment',
    'Service ReplicationController Event',
    'CustomResourceDefinition MutatingWebhookConfiguration ValidatingWebhookConfiguration SnapshotInfo',
  ]
    .join(' ')
    .split(' '),
);
const WORKLOAD_KINDS = new Set(['Deployment', 'StatefulSet', 'ReplicaSet', 'Job']);

export function worldOf(given: readonly Manifest[], options: WorldOptions): World {
  const { open: manifests, notes: gateNotes } = behindGates(given, options.featureGates);
  const ignored = manifests
    .filter(({ object }) => !KNOWN_KINDS.has(object.kind))
    .map(({ object, where }) => `${where}: kind ${object.kind} plays no part here and is ignored${meant(object.kind)}`);
  refuseDoubles(manifests);
  const ofKind = <T extends KubeObject>(kind: string): readonly T[] =>
    manifests.filter(({ object }) => object.kind === kind).map(({ object }) => object as T);
  const uids = uidsInOrder();
  const pods = manifests.filter(standIns(manifests)).flatMap((manifest) => podsIn(manifest, uids));
  const bound = pods.filter(({ spec }) => Boolean(spec.nodeName));
  const { pools: allPools, claims, idle, notes, unknown } = poolsIn(manifests, options);
  const buffered = bufferPods(manifests, options.nowMs);
  const known = nodesOf(manifests, { bound, claims, csiNodes: ofKind<CSINode>('CSINode') });
  const podDisruptionBudgets = ofKind<PodDisruptionBudget>('PodDisruptionBudget');
  const defaultSpread = defaultSpreadOf(manifests, options.defaultConstraints);
  const takesPart = ({ nodePool }: PoolInput): boolean =>
    !idle.some((each) => each.nodePool === nodePool.metadata.name);
  return {
    notes: [...ignored, ...gateNotes, ...unknownFields(manifests), ...notes, ...known.notes, ...buffered.notes],
    unknown: [...unknown, ...notInSnapshot(manifests)],
    allPools,
    waiting: pods.filter((pod) => !pod.spec.nodeName && pod.status?.phase === 'Pending' && !isProvisionable(pod)),
    leaving: podsOfLeavingNodes(known.nodes, podDisruptionBudgets, options.nowMs),
    snapshot: {
      nowMs: options.nowMs,
      pools: allPools.filter(takesPart),
      ...(idle.length === 0 ? {} : { idlePools: idle }),
      nodes: known.nodes,
      pendingPods: [...pods.filter(isProvisionable), ...buffered.pods],
      daemonPods: daemonPodsIn(manifests, pods, uids),
      namespaces: ofKind<Namespace>('Namespace'),
      podDisruptionBudgets,
      persistentVolumeClaims: ofKind<PersistentVolumeClaim>('PersistentVolumeClaim'),
      persistentVolumes: ofKind<PersistentVolume>('PersistentVolume'),
      storageClasses: ofKind<StorageClass>('StorageClass'),
      ...(defaultSpread === undefined ? {} : { defaultSpread }),
    },
  };
}

interface PoolsInManifests extends Pick<World, 'notes' | 'unknown'> {
  readonly pools: readonly PoolInput[];
  readonly idle: NonNullable<Snapshot['idlePools']>;
  readonly claims: readonly NodeClaim[];
}

/** NodePools and NodeClaims with the conditions that the operator would set. */
function poolsIn(manifests: readonly Manifest[], options: WorldOptions): PoolsInManifests {
  const { nowMs } = options;
  const nodeClasses = new NodeClasses(manifests);
  const read = readPools(manifests, nodeClasses, nowMs);
  const problems: string[] = [];
  const plain = read.pools.map((pool) => ({
    ...pool,
    instanceTypes: nodeClasses.isUnusable(pool.nodePool) ? [] : typesOf(pool, manifests, options, problems),
  }));
  const extras = new ExtrasReader(nodeClasses, options);
  const { pools, notes } = underOverlays(
    plain.map(({ nodePool, instanceTypes }) => ({
      nodePool,
      instanceTypes,
      ...extras.of(nodePool),
    })),
    manifests,
  );
  const byName = new Map(plain.map((pool) => [pool.nodePool.metadata.name, pool]));
  const claims = manifests.flatMap(({ object, where }) => {
    if (object.kind !== 'NodeClaim') return [];
    new Field(where, object).at('status').at('allocatable').quantities();
    return [withDisruptionConditions(object as NodeClaim, { pools: byName, nodeClasses, nowMs })];
  });
  return {
    pools,
    claims,
    idle: read.idle,
    notes: [...read.notes, ...extras.notes, ...problems, ...notes],
    unknown: nodeClasses.assumptions,
  };
}

/** None where a NodeClass that a cluster holds cannot be used: its NodePools buy nothing. */
function typesOf(
  { nodePool }: ReadPool,
  manifests: readonly Manifest[],
  { instanceTypes }: WorldOptions,
  problems: string[],
): readonly InstanceType[] {
  try {
    return instanceTypes(nodePool);
  } catch (error) {
    const { name } = nodePool.spec.template.spec.nodeClassRef;
    const nodeClass = manifests.find(({ object }) => object.kind === 'EC2NodeClass' && object.metadata.name === name);
    if (!(error instanceof InputError) || nodeClass === undefined || !isFromCluster(nodeClass)) throw error;
    if (!problems.includes(error.message)) problems.push(error.message);
    return [];
  }
}

function daemonPodsIn(manifests: readonly Manifest[], pods: readonly Pod[], uids: Uids): readonly Pod[] {
  return manifests.flatMap(({ object, where }) => {
    if (object.kind !== 'DaemonSet') return [];
    checkWorkload(new Field(where, object));
    const { uid } = object.metadata;
    const own = pods.filter(({ metadata }) => (metadata.ownerReferences ?? []).some((owner) => owner.uid === uid));
    return own.length > 0 && uid !== undefined
      ? [representative(object as DaemonSet, own)]
      : [daemonPodOf(object as DaemonSet, uids)];
  });
}

/** Kinds are spelled in one way only. */
function meant(kind: string): string {
  const known = [...KNOWN_KINDS].find((name) => name.toLowerCase() === kind.toLowerCase().replace(/s$/, ''));
  return known === undefined ? '' : `; is ${known} meant?`;
}

/** Two objects of one name cannot be in a cluster together: the later one would silently replace the earlier one. */
function refuseDoubles(manifests: readonly Manifest[]): void {
  const seen = new Map<string, string>();
  for (const { object, where } of manifests) {
    const id = identityOf(object);
    const before = seen.get(id);
    if (before !== undefined) throw new InputError(where, `given twice; the first is in ${before}`);
    seen.set(id, where);
  }
}

/**
 * Leaves out workloads that were read from a cluster together with their pods: those stand for themselves. A cluster
 * tells by its `resourceVersion`; a manifest of one's own has none.
 */
function standIns(manifests: readonly Manifest[]): (manifest: Manifest) => boolean {
  const owners = new Set(
    manifests.flatMap(({ object: { kind, metadata } }) =>
      kind === 'Pod' || WORKLOAD_KINDS.has(kind) ? (metadata.ownerReferences ?? []).map(({ uid }) => uid) : [],
    ),
  );
  const pods = manifests.filter(({ object }) => object.kind === 'Pod');
  const byNamespace = Map.groupBy(pods, ({ object }) => object.metadata.namespace ?? 'default');
  const hasPods = ({ metadata, spec }: Workload): boolean =>
    (byNamespace.get(metadata.namespace ?? 'default') ?? []).some(({ object }) =>
      selects(spec.selector, object.metadata.labels),
    );
  return ({ object }) => {
    const { uid, resourceVersion } = object.metadata;
    if (!WORKLOAD_KINDS.has(object.kind) || uid === undefined || resourceVersion === undefined) return true;
    const workload = object as Workload;
    // of the many ReplicaSets of old no pods need to be looked for
    return workload.spec.replicas === 0 || !(owners.has(uid) || hasPods(workload));
  };
}

function podsIn({ object, where }: Manifest, uids: Uids): readonly Pod[] {
  if (WORKLOAD_KINDS.has(object.kind)) {
    checkWorkload(new Field(where, object));
    return podsOf(object as Workload, uids);
  }
  if (object.kind !== 'Pod') return [];
  checkPodSpec(new Field(where, object).at('spec'));
  return [standalonePod(object as Pod, uids)];
}

interface Machines {
  readonly bound: readonly Pod[];
  readonly claims: readonly NodeClaim[];
  readonly csiNodes: readonly CSINode[];
}

function nodesOf(
  manifests: readonly Manifest[],
  { bound, claims: allClaims, csiNodes }: Machines,
): { readonly nodes: readonly StateNode[]; readonly notes: readonly string[] } {
  const podsByNode = Map.groupBy(bound, ({ spec }) => spec.nodeName ?? '');
  const claims = new Map<string, NodeClaim>();
  for (const claim of allClaims) {
    const providerId = claim.status?.providerID;
    if (providerId) claims.set(providerId, claim); // one that is not launched yet is no place for pods
  }
  const states: StateNode[] = [];
  const notes: string[] = [];
  for (const { object, where } of manifests) {
    if (object.kind !== 'Node') continue;
    checkNode(new Field(where, object));
    const node = object as Node;
    const providerId = providerIdOf(node);
    if (providerId === undefined) {
      notes.push(`${where}: ${missingIn(node)}; the operator ignores such a Node, and so it is left out here`);
      continue;
    }
    const nodeClaim = claims.get(providerId);
    claims.delete(providerId);
    const csiNode = csiNodes.find(({ metadata }) => metadata.name === node.metadata.name);
    states.push(state({ node, nodeClaim, providerId, csiNode, pods: podsByNode.get(node.metadata.name) ?? [] }));
  }
  for (const [providerId, nodeClaim] of claims) states.push(state({ nodeClaim, providerId, pods: [] }));
  return { nodes: states, notes };
}

/** What a Node lacks that is not known well enough. */
const missingIn = ({ spec }: Node): string =>
  spec?.providerID
    ? `it has the label ${NODEPOOL_LABEL}, but neither ${INSTANCE_TYPE_LABEL} nor ${INITIALIZED_LABEL}: "true"`
    : `it has the label ${NODEPOOL_LABEL}, but no spec.providerID`;

const state = (
  halves: Pick<Parameters<typeof stateNode>[0], 'node' | 'nodeClaim' | 'providerId' | 'csiNode' | 'pods'>,
) => stateNode({ ...halves, marked: false, nominatedUntilMs: 0, bufferPods: 0 });

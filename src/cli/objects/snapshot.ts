/** Builds the snapshot of a cluster from manifests, as the operator would see it. */
import { EC2_NODE_CLASS } from '../../api/kinds.ts';
import type { KubeObject, LabelSelector, Node, Pod, TopologySpreadConstraint, Workload } from '../../api/kubernetes.ts';
import { INITIALIZED_LABEL, INSTANCE_TYPE_LABEL, NODEPOOL_LABEL } from '../../api/labels.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import type { NodePool } from '../../api/nodepool.ts';
import type { StaticDrivers } from '../../aws/dra/static-templates.ts';
import type { WaitingPod } from '../../engine/causes/pod-verdict.ts';
import { podsOfLeavingNodes } from '../../engine/disruption/candidates/pod-blocks.ts';
import { compareText } from '../../engine/instance-types.ts';
import type { InstanceType, PoolInput, Snapshot } from '../../engine/model.ts';
import { isOwnedByDaemonSet, isScheduled, isUnschedulable, podKey } from '../../engine/pods.ts';
import { selects } from '../../engine/selectors.ts';
import { fixedInformers } from '../../kube/fixed-informers.ts';
import { takeSnapshot } from '../../planner/snapshot.ts';
import { ClusterState } from '../../state/cluster.ts';
import { providerIdOf } from '../../state/node.ts';
import { untriedReplicas } from '../../state/untried-replicas.ts';
import { checkNode, checkPodSpec, checkPodStatus, checkQuantities, checkWorkload, fieldIn } from './check.ts';
import { isDeclaration, withCreatedClaims, withDevices } from './devices.ts';
import { withDisruptionConditions } from './disruption-conditions.ts';
import { InputError } from './errors.ts';
import { behindGates, bufferPods, type KnownGates, underOverlays } from './gated-kinds.ts';
import { NodeClasses } from './node-classes.ts';
import { appliedBook, type ExtrasOptions, ExtrasReader } from './node-extras.ts';
import { type ReadPool, readPools } from './pools.ts';
import { identityOf, isFromCluster, type Manifest } from './read.ts';
import { notInSnapshot } from './snapshot-info.ts';
import { staticClaims } from './static-claims.ts';
import { unknownFields } from './stored.ts';
import { templatesIn } from './templates.ts';
import { createClaims } from './volume-claims.ts';
import { idleReason, isForeign, podsOf, standalonePod, type Uids, uidsInOrder } from './workloads.ts';

export interface World {
  readonly snapshot: Snapshot;
  /**
   * All NodePools, including NodePools that launch no nodes for pods: static NodePools and NodePools that are being
   * deleted.
   */
  readonly allPools: readonly PoolInput[];
  /** Pending pods for which no node is launched now. */
  readonly waiting: readonly WaitingPod[];
  /** Pods of nodes that are being removed. Nodes are launched for them before they are pending. */
  readonly leaving: readonly Pod[];
  /** Notes for the user about ignored input. */
  readonly notes: readonly string[];
  /** Unknown facts that affect the results. */
  readonly unknown: readonly string[];
}

export interface WorldOptions extends ExtrasOptions {
  readonly instanceTypes: (nodePool: NodePool) => readonly InstanceType[];
  readonly nowMs: number;
  readonly featureGates?: KnownGates;
  /** File of the price book. */
  readonly priceBook?: string | undefined;
  /** Default topology spread constraints of the cluster's scheduler. */
  readonly defaultConstraints?: readonly TopologySpreadConstraint[] | undefined;
  /** DRA drivers that nodes run. Undefined if resource claims are ignored. */
  readonly drivers?: StaticDrivers | undefined;
  /** Pods for which the operator launches no nodes until a certain time, by namespaced name. */
  readonly held?: ReadonlyMap<string, { readonly text: string; readonly until: string }>;
}

/** Kinds that are read, and kinds that can be ignored without a note. */
export const KNOWN_KINDS: ReadonlySet<string> = new Set(
  [
    'NodePool NodeOverlay CapacityBuffer PodTemplate EC2NodeClass NodeClaim Node Pod Deployment StatefulSet ReplicaSet ReplicationController Job DaemonSet Namespace PriorityClass',
    'PersistentVolume PersistentVolumeClaim StorageClass CSINode PodDisruptionBudget VolumeAttachment',
    'Service Event',
    'DeviceClass ResourceSlice DeviceTaintRule ResourceClaim ResourceClaimTemplate',
    'CustomResourceDefinition MutatingWebhookConfiguration ValidatingWebhookConfiguration SnapshotInfo',
  ]
    .join(' ')
    .split(' '),
);
const WORKLOAD_KINDS = new Set(['Deployment', 'StatefulSet', 'ReplicaSet', 'ReplicationController', 'Job']);

export async function worldOf(all: readonly Manifest[], asked: WorldOptions): Promise<World> {
  const { open, notes: gateNotes } = behindGates(all, asked.featureGates);
  const manifests = open.filter(({ object }) => !isForeign(object));
  const book = appliedBook(asked.priceBook, manifests, asked.nowMs);
  const options = { ...asked, instanceTypes: book.pricing(asked.instanceTypes) };
  const ignored = open.flatMap(ignoredNote);
  refuseDoubles(manifests);
  const uids = uidsInOrder();
  const given = sortedByName(manifests.filter(standIns(manifests))).flatMap((manifest) => podsIn(manifest, uids));
  const { pods, claims: deviceClaims } = withCreatedClaims(given, options.drivers === undefined ? [] : manifests);
  const { pools, claims, idle, notes, unknown, nodeClasses } = await poolsIn(manifests, options);
  const volumes = createClaims(pods, manifests);
  const buffered = bufferPods(manifests, options.nowMs);
  const ofNodes = nodeNotes(manifests);
  const cluster = clusterOf(manifests, {
    pods,
    claims,
    created: [...deviceClaims, ...volumes.claims, ...volumes.classes],
    options,
  });
  const { drivers } = options;
  const { pools: allPools, notes: deviceNotes } =
    drivers === undefined
      ? { pools, notes: [] }
      : await withDevices(pools, { cluster, manifests, nodeClasses, drivers });
  const nodes = cluster.nodes();
  const isIdle = ({ metadata }: NodePool): boolean => idle.some(({ nodePool }) => nodePool === metadata.name);
  const { held = new Map() } = options;
  const untried = new Set(untriedReplicas(pods, cluster));
  const isPlaced = (pod: Pod): boolean => (cluster.isProvisionable(pod) || untried.has(pod)) && !held.has(podKey(pod));
  return {
    notes: [
      ...book.notes,
      ...ignored,
      ...gateNotes,
      ...unknownFields(manifests),
      ...notes,
      ...ofNodes,
      ...buffered.notes,
      ...volumes.notes,
      ...deviceNotes,
      ...manifests.flatMap(workloadNotes),
      ...otherSchedulers(pods),
      ...pods.filter(isUnschedulable).flatMap((pod) => heldNote(pod, held)),
    ],
    unknown: [...unknown, ...notInSnapshot(manifests)],
    allPools,
    waiting: pods
      .filter((pod) => !pod.spec.nodeName && pod.status?.phase === 'Pending' && !isPlaced(pod))
      .map((pod) => ({ pod, preemption: cluster.preemptionFor(pod) })),
    leaving: podsOfLeavingNodes(nodes, cluster.stores.podDisruptionBudgets.list(), options.nowMs),
    snapshot: takeSnapshot(cluster, {
      nowMs: options.nowMs,
      pools: allPools.filter(({ nodePool }) => !isIdle(nodePool)),
      ...(idle.length === 0
        ? {}
        : { idlePools: idle, idleNodePools: allPools.map(({ nodePool }) => nodePool).filter(isIdle) }),
      nodes,
      overdue: [],
      pendingPods: [...pods.filter(isPlaced), ...buffered.pods],
      commitments: book.commitments,
    }),
  };
}

/** Returns a note on an object of a kind that is not used. */
function ignoredNote(manifest: Manifest): readonly string[] {
  const { object, where } = manifest;
  if (isForeign(object)) return [`${where}: kind ${object.kind} of ${object.apiVersion} is not used and is ignored`];
  if (KNOWN_KINDS.has(object.kind) || isDeclaration(manifest)) return [];
  if (object.kind === 'CronJob') return [`${where}: starts Jobs by schedule, so it has no pending pods now`];
  return [`${where}: kind ${object.kind} is not used and is ignored${meant(object.kind)}`];
}

/** Returns a note on a workload that has no pods although its spec has replicas. */
function workloadNotes(manifest: Manifest): readonly string[] {
  const { object, where } = manifest;
  const reason = WORKLOAD_KINDS.has(object.kind) ? idleReason(object as Workload) : undefined;
  return reason === undefined ? [] : [`${where}: ${reason}`];
}

const DEFAULT_SCHEDULER = 'default-scheduler';

/** Returns a note on each further scheduler of pods that are not from a cluster. */
function otherSchedulers(pods: readonly Pod[]): readonly string[] {
  const names = pods
    .filter((pod) => pod.metadata.resourceVersion === undefined && isUnschedulable(pod))
    .map(({ spec }) => spec.schedulerName || DEFAULT_SCHEDULER);
  return [...new Set(names)]
    .filter((name) => name !== DEFAULT_SCHEDULER)
    .map((name) => `pods of scheduler ${name} count once it has marked them as Unschedulable, which is assumed here`);
}

function heldNote(pod: Pod, held: NonNullable<WorldOptions['held']>): readonly string[] {
  const hold = held.get(podKey(pod));
  return hold === undefined ? [] : [`the operator holds pod ${podKey(pod)} back until ${hold.until}: ${hold.text}`];
}

interface PoolsInManifests extends Pick<World, 'notes' | 'unknown'> {
  readonly pools: readonly PoolInput[];
  readonly idle: NonNullable<Snapshot['idlePools']>;
  readonly claims: readonly NodeClaim[];
  readonly nodeClasses: NodeClasses;
}

/** Reads NodePools and NodeClaims and sets the conditions that the operator would set. */
async function poolsIn(manifests: readonly Manifest[], options: WorldOptions): Promise<PoolsInManifests> {
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
  const ofClaims = manifests.filter(({ object }) => object.kind === 'NodeClaim');
  const claims = await Promise.all(
    ofClaims.map(({ object, where }) => {
      checkQuantities(fieldIn(where, object).at('status').at('allocatable'));
      const claim = withNodeClassRef(object as NodeClaim);
      return withDisruptionConditions(claim, { pools: byName, nodeClasses, nowMs });
    }),
  );
  const created = staticClaims(plain, manifests, options);
  return {
    pools,
    claims: [...claims, ...created.claims],
    nodeClasses,
    idle: read.idle,
    notes: [...read.notes, ...extras.notes, ...problems, ...notes, ...created.notes],
    unknown: nodeClasses.assumptions,
  };
}

/** Default for manifests without the reference, which the API server requires. */
const NO_CLASS = { nodeClassRef: { group: EC2_NODE_CLASS.group, kind: EC2_NODE_CLASS.kind, name: '' } };
const withNodeClassRef = (claim: NodeClaim): NodeClaim => ({ ...claim, spec: { ...NO_CLASS, ...claim.spec } });

/**
 * Returns the instance types of a NodePool. Returns none if the NodeClass of a cluster cannot be used, because its
 * NodePools launch no nodes.
 */
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

/** Suggests the correct spelling of a kind. */
function meant(kind: string): string {
  const known = [...KNOWN_KINDS].find((name) => name.toLowerCase() === kind.toLowerCase().replace(/s$/, ''));
  return known === undefined ? '' : `; did you mean ${known}?`;
}

/** Rejects duplicate names, because the later object would silently replace the earlier one. */
function refuseDoubles(manifests: readonly Manifest[]): void {
  const seen = new Map<string, string>();
  for (const { object, where } of manifests) {
    const id = identityOf(object);
    const before = seen.get(id);
    if (before !== undefined) throw new InputError(where, `defined twice; the first definition is in ${before}`);
    seen.set(id, where);
  }
}

/**
 * Returns a filter that excludes workloads of a cluster if the manifests also contain their pods. Objects of a
 * cluster have a `resourceVersion`.
 */
function standIns(manifests: readonly Manifest[]): (manifest: Manifest) => boolean {
  const owners = new Set(
    manifests.flatMap(({ object: { kind, metadata } }) =>
      kind === 'Pod' || WORKLOAD_KINDS.has(kind) ? (metadata.ownerReferences ?? []).map(({ uid }) => uid) : [],
    ),
  );
  const pods = manifests.filter(({ object }) => object.kind === 'Pod');
  const byNamespace = Map.groupBy(pods, ({ object }) => object.metadata.namespace ?? 'default');
  const hasPods = (workload: Workload): boolean =>
    (byNamespace.get(workload.metadata.namespace ?? 'default') ?? []).some(({ object }) =>
      selects(selectorOf(workload), object.metadata.labels),
    );
  return ({ object }) => {
    const { uid, resourceVersion } = object.metadata;
    if (!WORKLOAD_KINDS.has(object.kind) || uid === undefined || resourceVersion === undefined) return true;
    const workload = object as Workload;
    // old ReplicaSets have no replicas, so their pods need not be searched
    return workload.spec.replicas === 0 || !(owners.has(uid) || hasPods(workload));
  };
}

/** Returns the selector of a workload. A ReplicationController has a map of labels. */
const selectorOf = ({ kind, spec: { selector } }: Workload): LabelSelector | undefined =>
  kind === 'ReplicationController' ? { matchLabels: (selector as LabelSelector['matchLabels']) ?? {} } : selector;

/** Sorts by namespace and name, because UIDs decide between equal pods and the order of input must not change the plan. */
function sortedByName(manifests: readonly Manifest[]): readonly Manifest[] {
  const keyOf = ({ object: { metadata } }: Manifest): string => `${metadata.namespace ?? 'default'}/${metadata.name}`;
  return manifests.toSorted((a, b) => compareText(keyOf(a), keyOf(b)));
}

function podsIn({ object, where }: Manifest, uids: Uids): readonly Pod[] {
  const isWorkload = WORKLOAD_KINDS.has(object.kind);
  if (isWorkload || object.kind === 'DaemonSet') checkWorkload(fieldIn(where, object));
  if (isWorkload) return podsOf(object as Workload, uids);
  if (object.kind !== 'Pod') return [];
  checkPodSpec(fieldIn(where, object).at('spec'));
  checkPodStatus(fieldIn(where, object).at('status'));
  return [standalonePod(object as Pod, uids)];
}

interface ClusterParts {
  readonly pods: readonly Pod[];
  readonly claims: readonly NodeClaim[];
  /** Claims that the cluster would create, with their storage classes. */
  readonly created: readonly KubeObject[];
  readonly options: WorldOptions;
}

/**
 * Builds the operator's cluster state from the manifests. Pods that were created from workloads are not part of it,
 * because they have no node.
 */
function clusterOf(manifests: readonly Manifest[], { pods, claims, created, options }: ClusterParts): ClusterState {
  const objects = manifests.map(({ object }) => object).filter(({ kind }) => kind !== 'Pod' && kind !== 'NodeClaim');
  // pods of a Deployment are owned by a ReplicaSet with the same name
  const replicaSets = objects
    .filter(({ kind }) => kind === 'Deployment')
    .map((object) => ({ ...object, kind: 'ReplicaSet' }));
  const running = pods.filter((pod) => isScheduled(pod) || isOwnedByDaemonSet(pod));
  return new ClusterState({
    informers: fixedInformers([...objects, ...replicaSets, ...running, ...claims, ...created]),
    clock: { now: () => options.nowMs },
    manages: ({ group, kind }) => group === EC2_NODE_CLASS.group && kind === EC2_NODE_CLASS.kind,
    templateOf: templatesIn(manifests),
    defaultSpread: options.defaultConstraints ?? [],
    devices: options.drivers !== undefined,
  });
}

/**
 * Returns notes on nodes that the operator ignores.
 *
 * @throws InputError with the node and the field
 */
function nodeNotes(manifests: readonly Manifest[]): readonly string[] {
  return manifests.flatMap(({ object, where }) => {
    if (object.kind !== 'Node') return [];
    checkNode(fieldIn(where, object));
    if (providerIdOf(object) !== undefined) return [];
    return [`${where}: ${missingIn(object as Node)}; the Node is skipped, as the operator also ignores it`];
  });
}

/** Describes the missing fields of an ignored Node. */
const missingIn = ({ spec }: Node): string =>
  spec?.providerID
    ? `the Node has the label ${NODEPOOL_LABEL}, but neither ${INSTANCE_TYPE_LABEL} nor ${INITIALIZED_LABEL}: "true"`
    : `the Node has the label ${NODEPOOL_LABEL}, but no spec.providerID`;

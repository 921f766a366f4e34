/** Builds the snapshot of a cluster from manifests, as the operator would see it. */
import {
  EC2_NODE_CLASS,
  INITIALIZED_LABEL,
  INSTANCE_TYPE_LABEL,
  type KubeObject,
  type LabelSelector,
  NODEPOOL_LABEL,
  type Node,
  type NodeClaim,
  type NodePool,
  type Pod,
  type TopologySpreadConstraint,
  type Workload,
} from '#api/objects';
import {
  type ConsolidationMode,
  consolidationPolicy,
  DEFAULT_NODE_HOURLY_FEE,
  type PackingMode,
  packingPolicy,
} from '#api/values';
import type { StaticDrivers } from '#aws/node-classes';
import type { WaitingPod } from '#engine/explanations';
import {
  compareText,
  type IdlePool,
  isUnschedulable,
  type PoolInput,
  podKey,
  type Snapshot,
  type StateNode,
  selects,
} from '#engine/model';
import { isProvidedBy, requestUsedBy } from '#engine/solve';
import { fixedInformers } from '#kube/client';
import {
  activeInputs,
  type Catalogue,
  launchSnapshot,
  managedPools,
  type PlannerInput,
  poolInputs,
  workloadOf,
} from '#planner';
import { ClusterState, type DeviceSources, providerIdOf } from '#state';
import { checkNode, checkPodSpec, checkPodStatus, checkQuantities, checkWorkload, fieldIn } from './check.ts';
import { devicesIn, isDeclaration, withCreatedClaims } from './devices.ts';
import { withDisruptionConditions } from './disruption-conditions.ts';
import { InputError } from './errors.ts';
import { behindGates, gangGroupsIn, gangKindOf, type KnownGates, reservedRoom } from './gated-kinds.ts';
import { NodeClasses } from './node-classes.ts';
import { nominate } from './nominations.ts';
import { policyNotes, quotaNotes } from './policies.ts';
import { readPools } from './pools.ts';
import { appliedBook, providerOf, type TypesOf } from './provider.ts';
import { identityOf, type Manifest } from './read.ts';
import { notInSnapshot } from './snapshot-info.ts';
import { joiningStaticClaims } from './static-claims.ts';
import { unknownManifestFields } from './stored.ts';
import { templatesIn } from './templates.ts';
import { createClaims } from './volume-claims.ts';
import { idleReason, isForeign, podsOfWorkload, standalonePod, type Uids, uidsInOrder } from './workloads.ts';

export interface World {
  /** State of the cluster in the manifests. */
  readonly cluster: ClusterState;
  /** Input of the planner. */
  readonly input: PlannerInput;
  /** Its nodes include the NodeClaims that are not launched yet. */
  readonly snapshot: Snapshot;
  /** Nodes with an instance. */
  readonly nodes: readonly StateNode[];
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

/** Settings of the operator that affect the input of decisions. Default: the defaults of the operator. */
export interface WorldSettings {
  readonly packing?: PackingMode | undefined;
  /** Set if disruption methods decide, instead of a solve for launches. */
  readonly consolidation?: ConsolidationMode;
  /** USD per hour. */
  readonly nodeHourlyFee?: number | undefined;
}

export interface WorldOptions {
  readonly instanceTypes: TypesOf;
  readonly settings?: WorldSettings;
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
    'NodePool NodePolicy NodeOverlay CapacityBuffer CapacityQuota ProvisioningRequest PodTemplate EC2NodeClass NodeClaim Node Pod Deployment StatefulSet ReplicaSet ReplicationController Job DaemonSet Namespace PriorityClass',
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
  const { nodePools, catalogue, claims, unreadable, notes, unknown, nodeClasses } = await poolsIn(manifests, options);
  const volumes = createClaims(pods, manifests);
  const reserved = await reservedRoom(manifests, pods, options.nowMs);
  const ofNodes = nodeNotes(manifests);
  const cluster = clusterOf(manifests, {
    objects: [...nodePools, ...pods, ...claims, ...deviceClaims, ...volumes.claims, ...volumes.classes],
    options,
  });
  keepRoom(cluster, reserved, asked.featureGates);
  nominate(cluster, manifests, pods);
  const { drivers, held = new Map() } = options;
  const devices = drivers && devicesIn({ cluster, manifests, nodeClasses, drivers });
  const { allPools, problems } = await poolInputsOf(cluster, { catalogue, devices: devices?.sources, options });
  const work = workloadOf(cluster, options.nowMs, { overdue: cluster.unlaunched.all() });
  const pending = work.pending.filter((pod) => !held.has(podKey(pod)));
  const placed = new Set(pending);
  const input: PlannerInput = {
    cluster,
    commitments: book.commitments,
    workload: { ...work, pending, leaving: [] },
    settings: { packing: options.settings?.packing ?? 'cheapest' },
  };
  const snapshot = launchSnapshot(input, activeInputs(cluster, allPools), ({ spec }) =>
    nodeClasses.judged(spec.template.spec.nodeClassRef.name),
  );
  return {
    cluster,
    input,
    notes: [
      ...book.notes,
      ...ignored,
      ...gateNotes,
      ...unknownManifestFields(manifests),
      ...notes,
      ...policyNotes(manifests, nodePools),
      ...quotaNotes(manifests),
      ...problems,
      ...ofNodes,
      ...reserved.notes,
      ...volumes.notes,
      ...(devices?.notes ?? []),
      ...manifests.flatMap(workloadNotes),
      ...otherSchedulers(pods),
      ...pods.filter(isUnschedulable).flatMap((pod) => heldNote(pod, held)),
    ],
    unknown: [...unknown, ...notInSnapshot(manifests)],
    allPools,
    waiting: pods
      .filter((pod) => !pod.spec.nodeName && pod.status?.phase === 'Pending' && !placed.has(pod))
      .map((pod) => ({ pod, preemption: cluster.preemptionFor(pod) })),
    leaving: work.leaving,
    nodes: work.nodes,
    snapshot: { ...snapshot, idlePools: [...(snapshot.idlePools ?? []), ...unreadable].sort(byNodePool) },
  };
}

type ReservedRoom = Awaited<ReturnType<typeof reservedRoom>>;

/** Adds virtual pods. Without ProvisioningRequests, pods that refer to one are ordinary pods unless the feature is enabled. */
function keepRoom(cluster: ClusterState, { pods, requests }: ReservedRoom, gates: KnownGates = {}): void {
  cluster.virtualPods.replace('', pods);
  if (requests.length === 0 && gates.ProvisioningRequest !== true) return;
  cluster.usesRequest = (pod) => {
    const name = requestUsedBy(pod);
    const { namespace } = pod.metadata;
    const request = requests.find(({ metadata }) => metadata.name === name && metadata.namespace === namespace);
    return name !== undefined && isProvidedBy(request);
  };
}

const byNodePool = (a: IdlePool, b: IdlePool): number => (a.nodePool < b.nodePool ? -1 : 1);

interface PoolParts {
  readonly catalogue: Catalogue;
  readonly devices: DeviceSources | undefined;
  readonly options: Pick<WorldOptions, 'nowMs' | 'settings'>;
}

/** Returns the inputs of all managed NodePools, with notes on fees that cannot be parsed. */
async function poolInputsOf(
  cluster: ClusterState,
  { catalogue, devices, options: { nowMs, settings = {} } }: PoolParts,
): Promise<Pick<World, 'allPools'> & { readonly problems: readonly string[] }> {
  const { packing, consolidation, nodeHourlyFee = DEFAULT_NODE_HOURLY_FEE } = settings;
  const problems: string[] = [];
  const allPools = await poolInputs(managedPools(cluster), {
    catalogue,
    policies: cluster.stores.nodePolicies.list(),
    governing: { cluster, nowMs, startsRollouts: true },
    nodeHourlyFee,
    devices,
    policy: consolidation === undefined ? packingPolicy(packing) : consolidationPolicy(consolidation),
    onProblem: ({ of, nodePool, error }) => {
      if (of === 'fee')
        problems.push(`NodePool ${nodePool.metadata.name}: ${error}; the operator uses its own setting instead`);
    },
  });
  return { allPools, problems };
}

/** Returns a note on an object of a kind that is not used. */
function ignoredNote(manifest: Manifest): readonly string[] {
  const { object, where } = manifest;
  if (isForeign(object)) return [`${where}: kind ${object.kind} of ${object.apiVersion} is not used and is ignored`];
  if (KNOWN_KINDS.has(object.kind) || isDeclaration(manifest) || gangKindOf(object)) return [];
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
  readonly nodePools: readonly NodePool[];
  readonly catalogue: Catalogue;
  /** NodePools of a cluster that cannot be read. */
  readonly unreadable: readonly IdlePool[];
  readonly claims: readonly NodeClaim[];
  readonly nodeClasses: NodeClasses;
}

/** Reads NodePools and NodeClaims and sets the conditions that the operator would set. */
async function poolsIn(manifests: readonly Manifest[], options: WorldOptions): Promise<PoolsInManifests> {
  const { nowMs, instanceTypes: types } = options;
  const nodeClasses = new NodeClasses(manifests);
  const read = readPools(manifests, nodeClasses, nowMs);
  const nodePools = read.pools.map(({ nodePool }) => nodePool);
  const { catalogue, notes } = providerOf(nodePools, manifests, { nodeClasses, types });
  const pools = await Promise.all(
    read.pools.map(async (pool) => ({ ...pool, instanceTypes: await catalogue.instanceTypes(pool.nodePool) })),
  );
  const byName = new Map(pools.map((pool) => [pool.nodePool.metadata.name, pool]));
  const nodes = manifests.filter(({ object }) => object.kind === 'Node').map(({ object }) => object as Node);
  const byProviderId = new Map(nodes.map((node) => [node.spec?.providerID, node]));
  const ofClaims = manifests.filter(({ object }) => object.kind === 'NodeClaim');
  const claims = await Promise.all(
    ofClaims.map(({ object, where }) => {
      checkQuantities(fieldIn(where, object).at('status').at('allocatable'));
      const given = object as NodeClaim;
      const claim = { ...given, spec: { ...REQUIRED, ...given.spec } };
      const node = given.status?.providerID ? byProviderId.get(given.status.providerID) : undefined;
      return withDisruptionConditions(claim, { pools: byName, nodeClasses, node, nowMs });
    }),
  );
  const created = joiningStaticClaims(pools, manifests, options);
  return {
    nodePools,
    catalogue,
    claims: [...claims, ...created.claims],
    nodeClasses,
    unreadable: read.unreadable,
    notes: [...read.notes, ...notes, ...created.notes],
    unknown: nodeClasses.assumptions,
  };
}

/** Defaults for manifests without the fields that the API server requires. */
const REQUIRED = {
  nodeClassRef: { group: EC2_NODE_CLASS.group, kind: EC2_NODE_CLASS.kind, name: '' },
  requirements: [],
};

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
  if (isWorkload) return podsOfWorkload(object as Workload, uids);
  if (object.kind !== 'Pod') return [];
  checkPodSpec(fieldIn(where, object).at('spec'));
  checkPodStatus(fieldIn(where, object).at('status'));
  return [standalonePod(object as Pod, uids)];
}

interface ClusterParts {
  /** Objects that are added to the manifests, or replace those of the same kind. */
  readonly objects: readonly KubeObject[];
  readonly options: WorldOptions;
}

const REPLACED_KINDS: ReadonlySet<string> = new Set(['Pod', 'NodeClaim', 'NodePool']);

/** Builds the operator's cluster state from the manifests. */
function clusterOf(manifests: readonly Manifest[], { objects: made, options }: ClusterParts): ClusterState {
  const objects = manifests.map(({ object }) => object).filter(({ kind }) => !REPLACED_KINDS.has(kind));
  // pods of a Deployment are owned by a ReplicaSet with the same name
  const replicaSets = objects
    .filter(({ kind }) => kind === 'Deployment')
    .map((object) => ({ ...object, kind: 'ReplicaSet' }));
  const cluster = new ClusterState({
    informers: fixedInformers([...objects, ...replicaSets, ...made]),
    clock: { now: () => options.nowMs },
    manages: ({ group, kind }) => group === EC2_NODE_CLASS.group && kind === EC2_NODE_CLASS.kind,
    templateOf: templatesIn(manifests),
    defaultSpread: options.defaultConstraints ?? [],
    devices: options.drivers !== undefined,
    quotas: true,
  });
  const gangGroups = gangGroupsIn(manifests);
  cluster.gangGroups = () => gangGroups;
  return cluster;
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

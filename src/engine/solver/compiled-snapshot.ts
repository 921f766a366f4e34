/** Shared data of all solves of one snapshot. */
import { uidOf } from '#api/objects';
import { remembering } from '#lib';
import { spreading } from '../default-spread.ts';
import { DeviceWorld } from '../dra/device-world.ts';
import type { EnginePod } from '../input.ts';
import { LeftOuts } from '../left-out.ts';
import type { EngineNode, EngineSnapshot, IdlePool, InstanceType, Plan, Resources, SolveOptions } from '../model.ts';
import { type Intake, intake } from '../pod-bounds.ts';
import { countsTowardLimits } from '../pool-usage.ts';
import { CommittedUse } from '../price-book/committed-use.ts';
import { type Daemons, TopologyBase } from '../topology/base.ts';
import { ruleLabelKeys } from '../topology/label-keys.ts';
import { slotsAsResources } from '../volume-limits.ts';
import { predictionIn, withReportedLimits } from '../volume-slots.ts';
import { Volumes } from '../volumes.ts';
import { ClaimDaemons } from './claim-daemons.ts';
import type { CompiledPool } from './compiled-pool.ts';
import { type Daemon, daemonsOf } from './daemons.ts';
import { Dimensions } from './dimensions.ts';
import { missingDaemonsOn, NodeTable } from './node.ts';
import { PodClasses } from './pod-class.ts';
import { compileTemplates } from './template.ts';

export class CompiledSnapshot {
  /** Snapshot without the NodePools that cannot be compiled. */
  readonly snapshot: EngineSnapshot;
  /** Nodes that count toward the limits of NodePools. */
  readonly limitedNodes: readonly EngineNode[];
  readonly options: SolveOptions;
  readonly daemons: readonly Daemon[];
  readonly claimDaemons: ClaimDaemons;
  readonly dimensions: Dimensions;
  readonly templates: readonly CompiledPool[];
  readonly emptyPools: Plan['emptyPools'];
  /** NodePools that are not templates, with the reason. */
  readonly idlePools: readonly IdlePool[];
  readonly volumes: Volumes;
  /** Undefined while dynamic resources are ignored. */
  readonly devices: DeviceWorld | undefined;
  readonly topology: TopologyBase;
  readonly leftOuts = new LeftOuts();
  /** Pending pods of the snapshot, in the form that solves use. */
  readonly intake: Intake;
  readonly #spread: ((pod: EnginePod) => EnginePod) | undefined;
  #labelKeys: readonly string[];
  #positions: ReadonlyMap<string, number> | undefined;
  #classes: PodClasses;
  #nodes: NodeTable | undefined;
  #launchedNodes: ReadonlyMap<string, string> | undefined;
  #selectedNodes: ReadonlyMap<string, string> | undefined;
  #committedUse: CommittedUse | undefined;

  constructor(full: EngineSnapshot, options: SolveOptions) {
    const { leftOuts } = this;
    this.intake = intake(full.pendingPods, options.first);
    const limited = withReportedLimits(full.pools, full.nodes);
    const snapshot = { ...full, pools: limited, pendingPods: this.intake.pods };
    this.limitedNodes = snapshot.nodes.filter((node) => countsTowardLimits(node, snapshot.nowMs));
    this.options = options;
    this.#spread = snapshot.defaultSpread && spreading(snapshot.defaultSpread);
    this.volumes = new Volumes(snapshot);
    const { volumes } = this;
    this.daemons = daemonsOf(snapshot.daemonPods, { ignoreDevices: options.ignoreDraRequests, leftOuts, volumes });
    this.devices = DeviceWorld.of(snapshot);
    this.dimensions = new Dimensions(
      [
        ...this.daemons.map(({ requests }) => requests),
        ...snapshot.nodes.map(({ allocatable }) => allocatable),
        ...snapshot.pools.map(({ instanceTypes }) => capacitiesIn(instanceTypes)),
      ],
      this.devices?.extended,
    );
    const { templates, emptyPools, idle } = compileTemplates(snapshot, {
      dimensions: this.dimensions,
      daemons: this.daemons,
      strictMinValues: options.minValuesPolicy === 'Strict',
      sellsReserved: options.reservedMode !== 'off',
      leftOuts,
    });
    this.templates = templates;
    this.emptyPools = emptyPools;
    this.idlePools = [...idle, ...(snapshot.idlePools ?? [])];
    const pools = snapshot.pools.filter(({ nodePool }) => !leftOuts.has('NodePool', nodePool.metadata.name));
    const launching = new Set(templates.map(({ name }) => name));
    this.snapshot = pools.length === snapshot.pools.length ? snapshot : { ...snapshot, pools };
    this.topology = new TopologyBase(
      { ...this.snapshot, pools: pools.filter(({ nodePool }) => launching.has(nodePool.metadata.name)) },
      { preferences: options.preferencePolicy !== 'Ignore', leftOuts, daemons: topologyDaemons(this.daemons) },
    );
    this.claimDaemons = new ClaimDaemons(this.daemons);
    this.#labelKeys = labelKeysOf(snapshot);
    this.#classes = this.#newClasses();
  }

  /** Returns the pods, with the cluster's default spread constraints on pods that have no constraints. */
  withDefaults(pods: readonly EnginePod[]): readonly EnginePod[] {
    return this.#spread === undefined ? pods : pods.map(this.#spread);
  }

  /** Commitments that the snapshot's nodes use. Undefined if there are no commitments. */
  get committedUse(): CommittedUse | undefined {
    const { commitments, nodes, pools } = this.snapshot;
    this.#committedUse ??= CommittedUse.of(commitments, nodes, pools);
    return this.#committedUse;
  }

  get nodes(): NodeTable {
    const { daemons, dimensions, volumes, leftOuts, snapshot } = this;
    const extended = this.devices?.extended;
    const volumeLimits = predictionIn(snapshot.pools);
    const context = { daemons, dimensions, volumes, volumeLimits, leftOuts, extended };
    this.#nodes ??= new NodeTable(snapshot.nodes, context);
    return this.#nodes;
  }

  /** Provider ids of the nodes that were launched for pending pods, or that kube-scheduler has selected, by UID of the pod. */
  get launchedNodes(): ReadonlyMap<string, string> {
    this.#launchedNodes ??= new Map([...launchedNodes(this.snapshot), ...this.selectedNodes]);
    return this.#launchedNodes;
  }

  /**
   * Provider ids of the nodes that kube-scheduler has selected for pending pods with volumes, by UID of the pod. It binds these
   * pods when the volumes exist, whatever a plan contains.
   */
  get selectedNodes(): ReadonlyMap<string, string> {
    this.#selectedNodes ??= selectedNodes(this.snapshot, this.volumes);
    return this.#selectedNodes;
  }

  /** Returns the position of a node in the snapshot's list. */
  positionOf(providerId: string): number | undefined {
    this.#positions ??= new Map(this.snapshot.nodes.map((node, position) => [node.providerId, position]));
    return this.#positions.get(providerId);
  }

  /** Returns the positions in the snapshot's list of the nodes with these provider ids. */
  positionsOf(providerIds: ReadonlySet<string>): ReadonlySet<number> {
    const found = new Set<number>();
    for (const providerId of providerIds) {
      const position = this.positionOf(providerId);
      if (position !== undefined) found.add(position);
    }
    return found;
  }

  /**
   * Returns the classes of these pods and of all earlier pods. Discards the classes if rules of a pod read labels that no
   * earlier rule did.
   */
  classesFor(pods: readonly EnginePod[]): PodClasses {
    if (pods === this.snapshot.pendingPods) return this.#classes;
    const keys = new Set([...this.#labelKeys, ...ruleLabelKeys(pods)]);
    if (keys.size > this.#labelKeys.length) {
      this.#labelKeys = [...keys].sort();
      this.#classes = this.#newClasses();
    }
    return this.#classes;
  }

  #newClasses(): PodClasses {
    const { volumes, devices, dimensions, templates } = this;
    return new PodClasses({
      volumes,
      devices,
      dimensions,
      preferences: this.options.preferencePolicy !== 'Ignore',
      preferenceTaints: templates.some(({ taints }) => taints.some(({ effect }) => effect === 'PreferNoSchedule')),
      labelKeys: this.#labelKeys,
    });
  }
}

const topologyDaemons = (daemons: readonly Daemon[]): Daemons => ({
  pods: daemons.map(({ pod }) => pod),
  missingOn: remembering((node: EngineNode) => missingDaemonsOn(node, daemons)),
});

/** Returns all resources that the types have, each with some amount. Cached, because lists of types stay the same for minutes. */
const capacitiesIn = remembering(
  (types: readonly InstanceType[]): Resources =>
    Object.fromEntries(
      types.flatMap(({ capacity, volumeLimits = {} }) => [
        ...Object.entries(capacity),
        ...Object.entries(slotsAsResources(volumeLimits)),
      ]),
    ),
);

function launchedNodes({ nominatedClaims, nodes }: EngineSnapshot): ReadonlyMap<string, string> {
  const launched = new Map<string, string>();
  if (nominatedClaims === undefined) return launched;
  const nodeOf = new Map(nodes.map(({ nodeClaim, providerId }) => [nodeClaim?.metadata.name, providerId]));
  for (const [uid, claim] of nominatedClaims) {
    const providerId = nodeOf.get(claim);
    if (providerId !== undefined) launched.set(uid, providerId);
  }
  return launched;
}

/** Returns no nodes if pods do not stay on the nodes that were launched for them, as in Karpenter. */
function selectedNodes(
  { nominatedClaims, nodes, pendingPods }: EngineSnapshot,
  volumes: Volumes,
): ReadonlyMap<string, string> {
  const selected = new Map<string, string>();
  if (nominatedClaims === undefined) return selected;
  const byName = new Map(nodes.map(({ name, providerId }) => [name, providerId]));
  for (const pod of pendingPods) {
    const [node = ''] = volumes.selectedNodes(pod);
    const providerId = byName.get(node);
    if (providerId !== undefined) selected.set(uidOf(pod), providerId);
  }
  return selected;
}

/** Cached, because state nodes are immutable and a cluster is solved again and again. */
const keysOn = remembering(({ pods }: EngineNode): readonly string[] => ruleLabelKeys(pods));

/** Returns the labels that rules of pending and running pods read. */
function labelKeysOf({ pendingPods, nodes }: EngineSnapshot): readonly string[] {
  const keys = new Set(ruleLabelKeys(pendingPods));
  for (const node of nodes) for (const key of keysOn(node)) keys.add(key);
  return [...keys].sort();
}

/** Implements the cloud interface with EC2. */

import { EC2_NODECLASS_HASH_VERSION, ec2NodeClassHash } from '#api/hashes';
import {
  CAPACITY_RESERVATION_ID_LABEL,
  EC2_NODE_CLASS,
  EC2_NODECLASS_HASH_ANNOTATION,
  EC2_NODECLASS_HASH_VERSION_ANNOTATION,
  EC2_NODECLASS_LABEL,
  type EC2NodeClass,
  getCondition,
  INSTANCE_PROFILE_ANNOTATION,
  type KubeObject,
  NODE_CLAIM,
  NODE_POOL,
  NODEPOOL_LABEL,
  type NodeClaim,
  type NodePool,
  PLACEMENT_GROUP_ID_LABEL,
  PLACEMENT_GROUP_PARTITION_LABEL,
  poolNameOf,
} from '#api/objects';
import {
  type AdjustTypes,
  type CloudProvider,
  CreateFailed,
  causeOf,
  type DriftReason,
  InsufficientCapacity,
  NodeClaimNotFound,
  NodeClassNotReady,
  type RegistrationHook,
} from '#cloud';
import { type Commitment, NO_CHARGES, type NodeCharges } from '#engine/costs';
import type { DriverTemplate } from '#engine/devices';
import type { LaunchAnswer } from '#engine/explanations';
import type { InstanceType, TypeTerms } from '#engine/model';
import type { Informers, StoreListener } from '#kube/client';
import type { EventRecorder } from '#kube/reconcilers';
import { defined, messageOf } from '#lib';
import { type Clock, TtlCache } from '#lib/clock';
import { eventOf, FAILED_RESOLVING_NODE_CLASS } from '#observe/events';
import { familyOf } from './amis/families.ts';
import type { ClusterFacts } from './cluster.ts';
import {
  CONSUMABLE_CAPACITY_ANNOTATION,
  gpuSharing,
  type StaticDrivers,
  staticTemplates,
} from './dra/static-templates.ts';
import {
  isPlacementGroupDrifted,
  isReservationDrifted,
  isSecurityGroupDrifted,
  isSubnetDrifted,
  nodeClassDrift,
} from './drift.ts';
import type { Launcher } from './fleet/fleet-launch.ts';
import { Orphans } from './instances/adoption.ts';
import { claimOf, claimStatus, instanceLabels } from './instances/claim.ts';
import { type Instance, instanceIdOf, instanceIdOfClaim, isTerminating } from './instances/instance.ts';
import type { Instances } from './instances/instances.ts';
import type { InstanceTypes } from './instancetypes/instancetypes.ts';
import { chosenPartition } from './launchtemplates/launchtemplates.ts';
import { NODE_CLASS_KIND } from './nodeclass/kind.ts';
import type { PlacementGroups } from './placementgroups.ts';
import { nodeCharges } from './pricing/node-charges.ts';
import type { PriceBookFile } from './pricing/price-book-file.ts';
import { REPAIR_RULES } from './repair-rules.ts';
import { leavingOf, withoutEnding } from './reservations/endings.ts';
import type { Reservations } from './reservations/reservations.ts';
import type { Subnets } from './subnets/subnets.ts';
import { restrictedTags } from './tags.ts';

const MINUTE_MS = 60_000;
/** Time until a launched instance must be in the status of its claim. Until then, garbage collection ignores it. */
const HELD_MS = 5 * MINUTE_MS;
const MAX_LAUNCH_TRIES = 3;

interface Ec2ProviderOptions {
  readonly cluster: ClusterFacts;
  readonly informers: Informers;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly types: InstanceTypes;
  readonly instances: Instances;
  readonly launcher: Launcher;
  readonly reservations: Reservations;
  readonly placementGroups: PlacementGroups;
  readonly priceBook: PriceBookFile;
  readonly subnets: Pick<Subnets, 'publicShare'>;
  /** DRA drivers that nodes run. */
  readonly staticDrivers: StaticDrivers;
}

export class Ec2Provider implements CloudProvider {
  readonly name = 'aws';
  readonly nodeClassKinds = [NODE_CLASS_KIND];
  readonly repairPolicies = REPAIR_RULES;
  readonly registrationHooks: readonly RegistrationHook[];
  readonly #options: Ec2ProviderOptions;
  readonly #orphans: Orphans;
  /** UID of the NodeClaim by ID of its launched instance. */
  readonly #held: TtlCache<string, string>;

  constructor(options: Ec2ProviderOptions) {
    this.#options = options;
    this.registrationHooks = [partitionHook(options.instances)];
    this.#held = new TtlCache(options.clock, HELD_MS);
    options.informers.store(NODE_CLAIM).subscribe((event, claim) => this.#release(event, claim));
    this.#orphans = new Orphans(
      () => options.instances.list(),
      () => new Set([...this.ownedIds(), ...this.#held.keys()]),
    );
  }

  /** Returns the IDs of the instances in the status of NodeClaims. */
  ownedIds(): ReadonlySet<string> {
    const claims = this.#options.informers.store(NODE_CLAIM).list();
    return new Set(claims.flatMap((claim) => instanceIdOfClaim(claim) ?? []));
  }

  /** Reports whether the instance was just launched for a claim whose status may not contain it yet. */
  isHeld(instanceId: string): boolean {
    return this.#held.has(instanceId);
  }

  /**
   * Starts the hold unless the NodeClaim was deleted during the launch. Returns false if the instance belongs to
   * another NodeClaim.
   */
  #hold({ id }: Instance, { metadata }: NodeClaim): boolean {
    this.#held.sweep();
    const claims = this.#options.informers.store(NODE_CLAIM);
    const isAnother = (uid: string | undefined): boolean => uid !== undefined && uid !== metadata.uid;
    if (isAnother(this.#held.get(id))) return false;
    if (claims.list().some((claim) => isAnother(claim.metadata.uid) && instanceIdOfClaim(claim) === id)) return false;
    if (claims.get(metadata)?.metadata.uid === metadata.uid) this.#held.set(id, metadata.uid ?? '');
    return true;
  }

  /** Ends the hold when the status of the NodeClaim contains the instance, or when the NodeClaim is deleted. */
  #release(event: Parameters<StoreListener<NodeClaim>>[0], claim: NodeClaim): void {
    const id = instanceIdOfClaim(claim);
    if (id !== undefined) this.#held.forget(id);
    if (event !== 'deleted') return;
    for (const held of this.#held.keys()) if (this.#held.get(held) === claim.metadata.uid) this.#held.forget(held);
  }

  commitments(): readonly Commitment[] {
    return this.#options.priceBook.commitments;
  }

  async instanceTypes(nodePool: NodePool): Promise<readonly InstanceType[]> {
    const nodeClass = this.#findNodeClass(nodePool.spec.template.spec.nodeClassRef.name);
    if (nodeClass === undefined) {
      this.#reportUnresolved(nodePool);
      return [];
    }
    const { terminationGracePeriod } = nodePool.spec.template.spec;
    const types = await this.#options.types.list(nodeClass);
    return withoutEnding(types, nodeClass, { nodePool, terminationGracePeriod }, this.#options.clock.now());
  }

  typeTerms(nodePool: NodePool, instanceType: string): TypeTerms | undefined {
    const nodeClass = this.#findNodeClass(nodePool.spec.template.spec.nodeClassRef.name);
    return nodeClass && this.#options.types.terms(nodeClass, instanceType);
  }

  deviceTemplates(nodePool: NodePool, type: InstanceType): readonly DriverTemplate[] {
    const { staticDrivers: drivers } = this.#options;
    if (Object.values(drivers).every((isEnabled) => !isEnabled)) return [];
    const nodeClass = this.#findNodeClass(nodePool.spec.template.spec.nodeClassRef.name);
    const sharing = gpuSharing(nodeClass?.metadata.annotations?.[CONSUMABLE_CAPACITY_ANNOTATION]);
    return staticTemplates(type, { drivers, sharing: sharing ?? 'disabled' });
  }

  charges(nodePool: NodePool): NodeCharges {
    const nodeClass = this.#findNodeClass(nodePool.spec.template.spec.nodeClassRef.name);
    if (nodeClass === undefined) return NO_CHARGES;
    return nodeCharges(nodeClass, familyOf(nodeClass), this.#options.subnets.publicShare(nodeClass));
  }

  /** Returns undefined if the NodeClass does not exist or is being deleted. */
  #findNodeClass(name: string): EC2NodeClass | undefined {
    const nodeClass = this.#options.informers.store(EC2_NODE_CLASS).get({ name });
    return nodeClass?.metadata.deletionTimestamp === undefined ? nodeClass : undefined;
  }

  #reportUnresolved(object: KubeObject): void {
    const { uid = '', name } = object.metadata;
    const message = FAILED_RESOLVING_NODE_CLASS.message();
    this.#options.events.publish(eventOf(FAILED_RESOLVING_NODE_CLASS, object, { message, dedupe: [uid || name] }));
  }

  launchAnswer(claim: NodeClaim): LaunchAnswer | undefined {
    return this.#options.launcher.answerOf(claim);
  }

  async create(claim: NodeClaim, adjust: AdjustTypes = async (types) => types): Promise<NodeClaim> {
    const nodeClass = this.#readyNodeClass(claim);
    let types: readonly InstanceType[];
    try {
      const nodePool = this.#options.informers.store(NODE_POOL).get({ name: poolNameOf(claim) });
      const all = await this.#options.types.list(nodeClass);
      types = withoutEnding(all, nodeClass, leavingOf(claim, nodePool), this.#options.clock.now());
    } catch (error) {
      throw new CreateFailed('InstanceTypeResolutionFailed', 'Error resolving instance types', { cause: error });
    }
    types = await adjust(types);
    const instance = await this.#obtain(nodeClass, claim, types);
    if (instance.reservation !== undefined) this.#options.reservations.launched(instance.reservation.id);
    // The launch has just requested the group. After the launch, no step may fail.
    const group = this.#options.placementGroups.remembered(nodeClass);
    const type = types.find((each) => each.name === instance.type);
    const labels = instanceLabels(instance, {
      type,
      zoneId: zoneIdOf(nodeClass, instance.zone),
      placementGroup: group,
      partition: chosenPartition(claim, group),
      nowMs: this.#options.clock.now(),
    });
    return {
      ...claim,
      metadata: {
        ...claim.metadata,
        labels: { ...labels, ...claim.metadata.labels },
        annotations: { ...claim.metadata.annotations, ...this.#annotations(nodeClass) },
      },
      status: { ...claim.status, ...claimStatus(instance, type) },
    };
  }

  /** Returns an instance that an earlier process launched, or else a new one. */
  async #obtain(nodeClass: EC2NodeClass, claim: NodeClaim, types: readonly InstanceType[]): Promise<Instance> {
    const { instances, launcher } = this.#options;
    try {
      const adopted = await this.#orphans.take(claim, types);
      if (adopted !== undefined && this.#hold(adopted, claim)) return adopted;
      // An earlier process may have sent the same request with the same token. EC2 then returns the instance of that
      // request, and another NodeClaim may have adopted it since. The next request has another token.
      for (let tries = 1; tries <= MAX_LAUNCH_TRIES; tries += 1) {
        const instance = await launcher.launch(nodeClass, claim, types);
        if (this.#hold(instance, claim)) return instances.remember(instance);
      }
      throw new Error(`EC2 returned ${MAX_LAUNCH_TRIES} times an instance of another NodeClaim`);
    } catch (error) {
      if (causeOf(error, InsufficientCapacity) || causeOf(error, CreateFailed) || causeOf(error, NodeClassNotReady))
        throw error;
      throw new Error(`creating instance, ${messageOf(error)}`, { cause: error });
    }
  }

  #annotations(nodeClass: EC2NodeClass): Record<string, string> {
    const profile = nodeClass.status?.instanceProfile;
    return {
      [EC2_NODECLASS_HASH_ANNOTATION]: ec2NodeClassHash(nodeClass, this.#options.cluster.caBundle ?? ''),
      [EC2_NODECLASS_HASH_VERSION_ANNOTATION]: EC2_NODECLASS_HASH_VERSION,
      ...defined({ [INSTANCE_PROFILE_ANNOTATION]: profile }),
    };
  }

  /**
   * @throws InsufficientCapacity, NodeClassNotReady, CreateFailed if no launch with the claim's NodeClass is possible
   */
  #readyNodeClass(claim: NodeClaim): EC2NodeClass {
    const { name } = claim.spec.nodeClassRef;
    const nodeClass = this.#findNodeClass(name);
    if (nodeClass === undefined) {
      this.#reportUnresolved(claim);
      const isThere = this.#options.informers.store(EC2_NODE_CLASS).get({ name }) !== undefined;
      const state = isThere ? 'is terminating, treating as not found' : 'not found';
      throw new InsufficientCapacity(`ec2nodeclasses.karpenter.k8s.aws "${name}" ${state}`);
    }
    const ready = getCondition(nodeClass, 'Ready');
    if (ready?.status === 'False') throw new NodeClassNotReady(ready.message ?? '');
    if (ready === undefined || ready.status === 'Unknown')
      throw new CreateFailed('NodeClassReadinessUnknown', 'NodeClass is in Ready=Unknown');
    if (ready.observedGeneration !== undefined && ready.observedGeneration !== nodeClass.metadata.generation)
      throw new NodeClassNotReady('nodeclass status has not been reconciled against the latest spec');
    if (restrictedTags(nodeClass.spec.tags).length > 0)
      throw new NodeClassNotReady('tags failed validation requirements');
    return nodeClass;
  }

  async delete(claim: NodeClaim): Promise<void> {
    const { instances, reservations } = this.#options;
    try {
      await instances.terminate(instanceIdOf(claim.status?.providerID));
    } catch (error) {
      const reservation = claim.metadata.labels?.[CAPACITY_RESERVATION_ID_LABEL];
      if (reservation !== undefined && causeOf(error, NodeClaimNotFound)) reservations.terminated(reservation);
      throw error;
    }
  }

  async reboot(claim: NodeClaim): Promise<void> {
    await this.#options.instances.reboot(instanceIdOf(claim.status?.providerID));
  }

  async get(providerId: string): Promise<NodeClaim> {
    return this.#describe(await this.#options.instances.get(instanceIdOf(providerId)), new Map());
  }

  async list(): Promise<readonly NodeClaim[]> {
    const instances = await this.#options.instances.list();
    const typesByPool = new Map<string, Promise<ReadonlyMap<string, InstanceType>>>();
    return Promise.all(instances.map((instance) => this.#describe(instance, typesByPool)));
  }

  /** Adds the labels and capacity of the type if the NodePool and NodeClass of the instance can be resolved. */
  async #describe(
    instance: Instance,
    typesByPool: Map<string, Promise<ReadonlyMap<string, InstanceType>>>,
  ): Promise<NodeClaim> {
    const { informers, types, placementGroups, clock } = this.#options;
    const nodePool = informers.store(NODE_POOL).get({ name: instance.tags[NODEPOOL_LABEL] ?? '' });
    const nodeClass = this.#findNodeClass(
      nodePool?.spec.template.spec.nodeClassRef.name ?? instance.tags[EC2_NODECLASS_LABEL] ?? '',
    );
    if (nodePool === undefined || nodeClass === undefined || isTerminating(instance))
      return claimOf(instance, { nowMs: clock.now() });
    const key = nodeClass.metadata.name;
    const listing =
      typesByPool.get(key) ??
      types.list(nodeClass).then(
        (list) => new Map(list.map((type) => [type.name, type])),
        // A NodeClass that cannot be resolved must not hide the instances of other NodeClasses.
        () => new Map(),
      );
    typesByPool.set(key, listing);
    const type = (await listing).get(instance.type);
    if (type === undefined) return claimOf(instance, { nowMs: clock.now() });
    return claimOf(instance, {
      type,
      zoneId: zoneIdOf(nodeClass, instance.zone),
      placementGroup: placementGroups.remembered(nodeClass),
      nowMs: clock.now(),
    });
  }

  async isDrifted(claim: NodeClaim): Promise<DriftReason | undefined> {
    const { informers, types, instances, placementGroups } = this.#options;
    const pool = informers.store(NODE_POOL).get({ name: poolNameOf(claim) });
    if (pool === undefined) return undefined;
    const nodeClass = this.#findNodeClass(pool.spec.template.spec.nodeClassRef.name);
    if (nodeClass === undefined) {
      this.#reportUnresolved(pool);
      return undefined;
    }
    return nodeClassDrift(claim, nodeClass, {
      instanceTypes: () => types.list(nodeClass),
      instance: async () => {
        const id = instanceIdOf(claim.status?.providerID);
        const instance = await instances.get(id);
        return {
          securityGroups: isSecurityGroupDrifted(instance, nodeClass),
          subnet: isSubnetDrifted(instance, nodeClass),
          reservation:
            isReservationDrifted(instance, nodeClass) &&
            isReservationDrifted(await instances.get(id, { skipCache: true }), nodeClass),
          placementGroup: isPlacementGroupDrifted(claim, nodeClass, await placementGroups.current(nodeClass)),
        };
      },
    });
  }
}

const zoneIdOf = ({ status }: EC2NodeClass, zone: string): string | undefined =>
  (status?.subnets ?? []).find((subnet) => subnet.zone === zone)?.zoneID;

const PARTITION_RETRY_MS = 5_000;

/**
 * Delays the registration of a node in a partition placement group until EC2 reports its partition, if the launch
 * requested none. Pods that spread over partitions must not be bound before the node has the label.
 */
export const partitionHook = (instances: Pick<Instances, 'get'>): RegistrationHook => ({
  name: 'PlacementGroupPartition',
  async ask({ metadata, status }) {
    const isOpen =
      Boolean(metadata.labels?.[PLACEMENT_GROUP_ID_LABEL]) && metadata.labels?.[PLACEMENT_GROUP_PARTITION_LABEL] === '';
    if (!isOpen || !status?.providerID) return { done: true };
    const { partition } = await instances.get(instanceIdOf(status.providerID), { skipCache: true });
    if (partition === 0) return { done: false, waitMs: PARTITION_RETRY_MS };
    return { done: true, labels: { [PLACEMENT_GROUP_PARTITION_LABEL]: String(partition) } };
  },
});

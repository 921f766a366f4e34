/** Devices, claims and templates of a snapshot. */
import {
  INSTANCE_TYPE_LABEL,
  NODEPOOL_LABEL,
  type ResourceClaim,
  type ResourceClaimTemplate,
  type ResourceSlice,
} from '#api/objects';
import { own, remembering } from '#lib';
import { isVirtual } from '../capacity-buffers.ts';
import type { EnginePod } from '../input.ts';
import type { EngineNode, EngineSnapshot } from '../model.ts';
import { isOwnedByDaemonSet, isScheduled, isTerminal } from '../pods.ts';
import { podRequests } from '../resources.ts';
import { ClaimTable, type ClaimVariation, grantsAmong } from './claim-states.ts';
import { DeviceAllocator } from './device-allocator.ts';
import type { DevicePool } from './device-pool.ts';
import { offeredPools, templatePools } from './device-templates.ts';
import { DeviceUse } from './device-use.ts';
import {
  claimsForResources,
  type ExtendedClaim,
  type ExtendedResources,
  extendedResources,
} from './extended-resources.ts';
import { claimsOfPod, claimsOfVirtualPod, namedClaims, type PodClaim, usesDevices } from './pod-claims.ts';
import { PublishedPools } from './published-pools.ts';
import type { SuspendedDriver } from './template-types.ts';

/** Claims of a pod in a snapshot. */
export interface DeviceNeeds {
  readonly claims: readonly PodClaim[];
  /** Claims for requested resources, on nodes that provide the resource by devices instead of a device plugin. */
  readonly forResources: readonly ExtendedClaim[];
  /** Reason why the claims cannot be used. */
  readonly error: string | undefined;
  /** NodeClaim that a previous solve chose for the pod, if drivers are suspended on its node. */
  readonly nominatedClaim: string | undefined;
  /** Text that is the same for pods with interchangeable claims. */
  readonly identity: string;
}

const NO_POOLS: readonly DevicePool[] = [];

export class DeviceWorld {
  readonly extended: ExtendedResources;
  readonly #pools: PublishedPools;
  readonly #table: ClaimTable;
  readonly #templates: ReadonlyMap<string, EngineSnapshot['pools'][number]['deviceTemplates']>;
  readonly #unavailable: string | undefined;
  readonly #claimTemplates: ReadonlyMap<string, ResourceClaimTemplate>;
  readonly #nominatedClaims: ReadonlyMap<string, string>;
  /** NodeClaims whose nodes are not initialized and have suspended drivers. */
  readonly #suspendedClaims: ReadonlySet<string>;
  /** Nodes before their initialization. Their published devices do not count, but bound pods can use some of them. */
  readonly #starting: ReadonlyMap<string, EngineNode>;
  readonly #needs = new WeakMap<EnginePod, DeviceNeeds | undefined>();

  /** Returns undefined while dynamic resources are ignored. */
  static of(snapshot: EngineSnapshot): DeviceWorld | undefined {
    return snapshot.resourceClaims === undefined ? undefined : new DeviceWorld(snapshot);
  }

  constructor(snapshot: EngineSnapshot) {
    const { resourceSlices = [], deviceClasses = [], resourceClaims = [], deviceTaintRules = [] } = snapshot;
    this.extended = extendedResources(snapshot);
    const included = new Set(snapshot.nodes.flatMap(includedName));
    const slices = resourceSlices.filter((slice) => nodesOfSlice(slice).every((name) => included.has(name)));
    this.#pools = new PublishedPools(slices, deviceTaintRules);
    const vanished = new Set(snapshot.vanishedConsumers);
    this.#table = new ClaimTable(resourceClaims, deviceClasses, { pools: this.#pools, vanished });
    this.#templates = new Map(
      snapshot.pools.map(({ nodePool, deviceTemplates }) => [nodePool.metadata.name, deviceTemplates]),
    );
    this.#claimTemplates = new Map(
      (snapshot.resourceClaimTemplates ?? []).map((each) => [
        `${each.metadata.namespace ?? 'default'}/${each.metadata.name}`,
        each,
      ]),
    );
    this.#nominatedClaims = snapshot.nominatedClaims ?? new Map();
    this.#suspendedClaims = new Set(
      snapshot.nodes.flatMap(({ initialized, labels, nodeClaim }) => {
        const [pool = '', type = ''] = [own(labels, NODEPOOL_LABEL), own(labels, INSTANCE_TYPE_LABEL)];
        const isSuspended = !initialized && this.suspendedOn(pool, type).length > 0;
        return isSuspended && nodeClaim !== undefined ? [nodeClaim.metadata.name] : [];
      }),
    );
    this.#starting = new Map(
      snapshot.nodes.flatMap((each) =>
        each.initialized || each.node === undefined ? [] : [[each.node.metadata.name, each]],
      ),
    );
    const missing = snapshot.missingDeviceKinds ?? [];
    this.#unavailable =
      missing.length === 0
        ? undefined
        : `dynamic resource allocation is not available: the cluster does not serve ${missing.join(', ')} of resource.k8s.io/v1, or the operator may not read them`;
  }

  /** Returns the claims of a pod, or undefined if the pod uses no devices. */
  needsOf(pod: EnginePod): DeviceNeeds | undefined {
    if (!this.#needs.has(pod)) this.#needs.set(pod, this.#readNeeds(pod));
    return this.#needs.get(pod);
  }

  #readNeeds(pod: EnginePod): DeviceNeeds | undefined {
    const extended = this.#unavailable === undefined ? claimsForResources(podRequests(pod), this.extended) : [];
    if (!usesDevices(pod) && extended.length === 0) return undefined;
    const claims = this.#unavailable ?? this.#claimsOf(pod);
    const nominatedClaim = this.#nominatedClaimOf(pod);
    if (typeof claims === 'string')
      return { claims: [], forResources: [], error: claims, nominatedClaim, identity: `error ${claims}` };
    const { isOnlyDevices } = this.extended;
    const onlyDevices = extended.filter(({ resource }) => isOnlyDevices(resource));
    const others = extended.filter(({ resource }) => !isOnlyDevices(resource));
    return {
      claims: [...claims, ...onlyDevices.map(({ claim }) => ({ claim, isPrivate: true }))],
      forResources: others,
      error: undefined,
      nominatedClaim,
      identity: [...claims.map(identityOf), ...(nominatedClaim === undefined ? [] : [`on ${nominatedClaim}`])].join(),
    };
  }

  #nominatedClaimOf({ metadata }: EnginePod): string | undefined {
    const name = this.#nominatedClaims.get(metadata.uid ?? '');
    return name !== undefined && this.#suspendedClaims.has(name) ? name : undefined;
  }

  #claimsOf(pod: EnginePod): readonly PodClaim[] | string {
    return isVirtual(pod) ? claimsOfVirtualPod(pod, this.#claimTemplates) : claimsOfPod(pod, this.#table);
  }

  /** Returns the claims that the pods of a DaemonSet will have. A DaemonSet without known claims takes no devices. */
  claimsOfDaemon(pod: EnginePod): readonly PodClaim[] {
    const claims = claimsOfVirtualPod(pod, this.#claimTemplates);
    const named = namedClaims(pod, this.#table);
    return typeof claims === 'string' || typeof named === 'string' ? [] : [...claims, ...named];
  }

  /** Returns the pools of a new node of an instance type. */
  templatesOf(nodePool: string, type: string): readonly DevicePool[] {
    const templates = this.#templates.get(nodePool)?.get(type);
    return templates === undefined ? NO_POOLS : offeredPools(templates);
  }

  /** Returns the pools that the drivers of a launched node must publish. Includes suspended drivers. */
  promisedTo(nodePool: string, type: string): readonly DevicePool[] {
    const templates = this.#templates.get(nodePool)?.get(type);
    return templates === undefined ? NO_POOLS : templatePools(templates);
  }

  /** Returns the suspended drivers of a type. */
  suspendedOn(nodePool: string, type: string): readonly SuspendedDriver[] {
    return this.#templates.get(nodePool)?.get(type)?.suspended ?? [];
  }

  /** Returns true if devices exist that several nodes can reach. */
  get hasWidePools(): boolean {
    return this.#pools.hasWide;
  }

  /** Returns the claims while pods that have a node move to other nodes. */
  whileMoving(pods: readonly EnginePod[]): ClaimVariation {
    return this.#table.whileMoving(new Set(pods.flatMap((pod) => (isScheduled(pod) ? (pod.metadata.uid ?? []) : []))));
  }

  newAllocator({ use }: ClaimVariation): DeviceAllocator {
    return new DeviceAllocator({
      pools: this.#pools,
      use,
      usedOn: (nodeName, templates) => {
        const node = this.#starting.get(nodeName);
        return node && this.#usedOn(node, templates);
      },
    });
  }

  /**
   * Returns the use of template devices by the pods that were bound to a node before its initialization. `DaemonDevices` counts
   * the private claims of DaemonSets.
   */
  readonly #usedOn = remembering((node: EngineNode, templates: readonly DevicePool[]): DeviceUse | undefined => {
    const pods = node.pods.filter((pod) => !isTerminal(pod));
    const claims = new Set(
      pods.flatMap((pod) => {
        const own = this.#table.allocatedTo(pod.metadata.uid ?? '');
        return isOwnedByDaemonSet(pod) ? own.filter((claim) => !isOwnedBy(claim, pod)) : own;
      }),
    );
    if (claims.size === 0) return undefined;
    const devices = templates.flatMap((pool) => pool.devices);
    const grants = [...claims].flatMap((claim) =>
      grantsAmong(claim, (result) =>
        devices.filter(({ driver, name }) => driver === result.driver && name === result.device).slice(0, 1),
      ),
    );
    return DeviceUse.of(grants);
  });
}

const isOwnedBy = ({ metadata }: ResourceClaim, pod: EnginePod): boolean =>
  (metadata.ownerReferences ?? []).some(({ uid }) => uid === pod.metadata.uid);

/** Returns the name of a node whose published devices count. */
const includedName = ({ node, initialized, markedForDeletion }: EngineNode): readonly string[] =>
  node !== undefined && initialized && !markedForDeletion ? [node.metadata.name] : [];

/** Returns the names of the nodes that a slice belongs to. */
const nodesOfSlice = ({ metadata, spec }: ResourceSlice): readonly string[] => {
  const owners = (metadata.ownerReferences ?? []).filter(({ kind }) => kind === 'Node').map(({ name }) => name);
  return owners.length > 0 || spec.nodeName === undefined ? owners : [spec.nodeName];
};

const specTextOf = remembering((spec: object): string => JSON.stringify(spec));

/** Private claims that are not allocated are interchangeable if their specs are equal. */
const identityOf = ({ claim, isPrivate }: PodClaim): string => {
  const { metadata, spec, status } = claim;
  if (isPrivate && status?.allocation === undefined) return `private ${specTextOf(spec ?? {})}`;
  return JSON.stringify([metadata.namespace, metadata.name]);
};

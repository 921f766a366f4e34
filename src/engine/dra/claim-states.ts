/** Claims of pods before a solve: allocated, to be allocated, or not usable. */
import type { AllocatedDevice, DeviceClass, NodeSelector, ResourceClaim } from '#api/objects';
import { ClaimError, type CompiledClaim, compileClaim } from './claim-requests.ts';
import { type DeviceGrant, DeviceUse, type UseLayer } from './device-use.ts';
import { amountOf } from './exact-amounts.ts';
import { deviceKey, type PoolDevice } from './pool-device.ts';
import type { PublishedPools } from './published-pools.ts';

/** Maximum number of pods that can use a claim, as in the API. */
const MOST_RESERVATIONS = 256;

/** Claim that a solve can satisfy. */
export interface ClaimState {
  /** Namespace and name. */
  readonly id: string;
  /** True if only one pod can use the claim, so that its allocation does not concern other pods. */
  readonly isPrivate: boolean;
  /** Nodes that reach the allocated devices. Undefined if the claim must be allocated; without terms, every node does. */
  readonly allocated: NodeSelector | undefined;
  /** Requests of the claim, or the reason why no node can satisfy them. */
  readonly compiled: CompiledClaim | ClaimError;
}

export const claimId = ({ metadata }: ResourceClaim): string => `${metadata.namespace ?? 'default'}/${metadata.name}`;

const consumersOf = ({ status }: ResourceClaim): NonNullable<NonNullable<ResourceClaim['status']>['reservedFor']> =>
  status?.reservedFor ?? [];

/** Returns true if no pod besides the consumers can use the claim. */
export const isFull = (claim: ResourceClaim, podUid: string | undefined): boolean => {
  const consumers = consumersOf(claim);
  return consumers.length >= MOST_RESERVATIONS && consumers.every(({ uid }) => uid !== podUid);
};

/** Claims and classes of a cluster. */
export class ClaimTable {
  readonly #claims: ReadonlyMap<string, ResourceClaim>;
  readonly #classes: ReadonlyMap<string, DeviceClass>;
  readonly #compiled = new Map<ResourceClaim, CompiledClaim | ClaimError>();
  readonly #byConsumer = new Map<string, ResourceClaim[]>();
  readonly #pools: PublishedPools;
  readonly #vanished: ReadonlySet<string>;
  readonly #use = new DeviceUse();

  /** @param vanished UIDs of consumers that ended or do not exist */
  constructor(
    claims: readonly ResourceClaim[],
    classes: readonly DeviceClass[],
    { pools, vanished = new Set() }: { readonly pools: PublishedPools; readonly vanished?: ReadonlySet<string> },
  ) {
    this.#claims = new Map(claims.map((claim) => [claimId(claim), claim]));
    this.#classes = new Map(classes.map((each) => [each.metadata.name, each]));
    this.#pools = pools;
    this.#vanished = vanished;
    for (const claim of claims) {
      if (claim.status?.allocation === undefined) continue;
      for (const { uid } of consumersOf(claim)) {
        const own = this.#byConsumer.get(uid);
        if (own === undefined) this.#byConsumer.set(uid, [claim]);
        else own.push(claim);
      }
      if (!this.isMoving(claim, NOBODY)) for (const grant of grantsOf(claim, pools)) this.#use.add(grant);
    }
  }

  get(id: string): ResourceClaim | undefined {
    return this.#claims.get(id);
  }

  /** Returns the allocated claims that are reserved for a pod. */
  allocatedTo(podUid: string): readonly ResourceClaim[] {
    return this.#byConsumer.get(podUid) ?? [];
  }

  /** Returns true if all consumers of a claim are pods that move or have ended, so that its devices become free. */
  isMoving(claim: ResourceClaim, movingPods: ReadonlySet<string>): boolean {
    const consumers = consumersOf(claim);
    const isMoving = (uid: string): boolean => movingPods.has(uid) || this.#vanished.has(uid);
    return (
      consumers.length > 0 &&
      consumers.every(({ apiGroup = '', resource, uid }) => apiGroup === '' && resource === 'pods' && isMoving(uid))
    );
  }

  compiled(claim: ResourceClaim): CompiledClaim | ClaimError {
    let compiled = this.#compiled.get(claim);
    if (compiled === undefined) {
      compiled = compiledOrError(claim, this.#classes);
      this.#compiled.set(claim, compiled);
    }
    return compiled;
  }

  /** Returns the claims while some pods move to other nodes. */
  whileMoving(movingPods: ReadonlySet<string>): ClaimVariation {
    const moved = new DeviceUse();
    const known = new Set<ResourceClaim>();
    for (const uid of movingPods)
      for (const claim of this.#byConsumer.get(uid) ?? []) {
        if (known.has(claim) || this.isMoving(claim, NOBODY) || !this.isMoving(claim, movingPods)) continue;
        known.add(claim);
        for (const grant of grantsOf(claim, this.#pools)) moved.add(grant);
      }
    return new ClaimVariation(this, movingPods, [
      [this.#use, 1],
      [moved, -1],
    ]);
  }
}

const NOBODY: ReadonlySet<string> = new Set();

/** States of claims in one solve. */
export class ClaimVariation {
  /** Published devices that are in use. */
  readonly use: readonly UseLayer[];
  readonly #table: ClaimTable;
  readonly #movingPods: ReadonlySet<string>;
  readonly #states = new Map<ResourceClaim, ClaimState>();

  constructor(table: ClaimTable, movingPods: ReadonlySet<string>, use: readonly UseLayer[]) {
    this.#table = table;
    this.#movingPods = movingPods;
    this.use = use;
  }

  stateOf(claim: ResourceClaim, isPrivate = false): ClaimState {
    let state = this.#states.get(claim);
    if (state === undefined) {
      const { allocation } = claim.status ?? {};
      const isAllocated = allocation !== undefined && !this.#table.isMoving(claim, this.#movingPods);
      state = {
        id: claimId(claim),
        isPrivate,
        allocated: isAllocated ? (allocation.nodeSelector ?? { nodeSelectorTerms: [] }) : undefined,
        compiled: this.#table.compiled(claim),
      };
      this.#states.set(claim, state);
    }
    return state;
  }
}

function compiledOrError(claim: ResourceClaim, classes: ReadonlyMap<string, DeviceClass>): CompiledClaim | ClaimError {
  try {
    return compileClaim(claim, classes);
  } catch (error) {
    if (error instanceof ClaimError) return error;
    throw error;
  }
}

/** Returns the published devices that an allocated claim uses. */
const grantsOf = (claim: ResourceClaim, pools: PublishedPools): readonly DeviceGrant[] =>
  grantsAmong(claim, ({ driver, pool, device }) => {
    const key = deviceKey(driver, pool, device);
    return pools.pool(driver, pool)?.devices.filter((each) => each.key === key) ?? [];
  });

/** Returns the devices that an allocated claim uses. @param find returns the devices of a result */
export const grantsAmong = (
  { status }: ResourceClaim,
  find: (result: AllocatedDevice) => readonly PoolDevice[],
): readonly DeviceGrant[] =>
  (status?.allocation?.devices?.results ?? [])
    .filter(({ adminAccess = false }) => !adminAccess)
    .flatMap((result) => find(result).map((device) => ({ device, consumed: consumedBy(result) })));

function consumedBy({ consumedCapacity, shareID }: AllocatedDevice): DeviceGrant['consumed'] {
  if (consumedCapacity === undefined) return shareID === undefined ? undefined : new Map();
  return new Map(Object.entries(consumedCapacity).map(([name, amount]) => [name, amountOf(amount)]));
}

/** Claims of pods before a solve: allocated, to be allocated, or not usable. */
import type { AllocatedDevice, DeviceClass, NodeSelector, ResourceClaim } from '../../api/dra/objects.ts';
import { ClaimError, type CompiledClaim, compileClaim } from './claim-requests.ts';
import { type DeviceGrant, DeviceUse } from './device-use.ts';
import { amountOf } from './exact-amounts.ts';
import { deviceKey, type PoolDevice, qualifiedName } from './pool-device.ts';
import type { PublishedPools } from './published-pools.ts';

/** Maximum number of pods that can use a claim, as in the API. */
const MOST_RESERVATIONS = 256;

/** Claim that a solve can satisfy. */
export interface ClaimState {
  /** Namespace and name. */
  readonly id: string;
  /** Nodes that reach the allocated devices. Undefined if the claim must be allocated; without terms, every node does. */
  readonly allocated: NodeSelector | undefined;
  /** Requests of the claim, or the reason why no node can satisfy them. */
  readonly compiled: CompiledClaim | ClaimError;
  /** True if no further pod can use the claim. */
  readonly isFull: boolean;
  readonly consumers: ReadonlySet<string>;
}

export const claimId = ({ metadata }: ResourceClaim): string => `${metadata.namespace ?? 'default'}/${metadata.name}`;

const consumersOf = ({ status }: ResourceClaim): NonNullable<NonNullable<ResourceClaim['status']>['reservedFor']> =>
  status?.reservedFor ?? [];

/** Returns true if all consumers of a claim are pods that move to other nodes, so that its devices become free. */
export function isMoving(claim: ResourceClaim, isMovingPod: (uid: string) => boolean): boolean {
  const consumers = consumersOf(claim);
  return (
    consumers.length > 0 &&
    consumers.every(({ apiGroup = '', resource, uid }) => apiGroup === '' && resource === 'pods' && isMovingPod(uid))
  );
}

/** Claims and classes of a cluster. */
export class ClaimTable {
  readonly #claims: ReadonlyMap<string, ResourceClaim>;
  readonly #classes: ReadonlyMap<string, DeviceClass>;
  readonly #states = new WeakMap<ResourceClaim, ClaimState>();
  readonly #isMovingPod: (uid: string) => boolean;

  constructor(
    claims: readonly ResourceClaim[],
    classes: readonly DeviceClass[],
    isMovingPod: (uid: string) => boolean = () => false,
  ) {
    this.#claims = new Map(claims.map((claim) => [claimId(claim), claim]));
    this.#classes = new Map(classes.map((each) => [each.metadata.name, each]));
    this.#isMovingPod = isMovingPod;
  }

  get(id: string): ResourceClaim | undefined {
    return this.#claims.get(id);
  }

  /** Returns the state of a claim that exists. */
  stateOf(claim: ResourceClaim): ClaimState {
    let state = this.#states.get(claim);
    if (state === undefined) {
      const { allocation } = claim.status ?? {};
      const isAllocated = allocation !== undefined && !isMoving(claim, this.#isMovingPod);
      const consumers = consumersOf(claim);
      state = {
        id: claimId(claim),
        allocated: isAllocated ? (allocation.nodeSelector ?? { nodeSelectorTerms: [] }) : undefined,
        compiled: compiledOrError(claim, this.#classes),
        isFull: isAllocated && consumers.length >= MOST_RESERVATIONS,
        consumers: new Set(consumers.map(({ uid }) => uid)),
      };
      this.#states.set(claim, state);
    }
    return state;
  }

  /** Returns the published devices that allocated claims use. Devices of moving claims are free. */
  useOf(pools: PublishedPools): DeviceUse {
    const use = new DeviceUse();
    for (const claim of this.#claims.values()) {
      const { allocation } = claim.status ?? {};
      if (allocation === undefined || isMoving(claim, this.#isMovingPod)) continue;
      for (const result of allocation.devices?.results ?? [])
        for (const grant of grantsOf(result, pools)) use.add(grant);
    }
    return use;
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

function grantsOf(result: AllocatedDevice, pools: PublishedPools): readonly DeviceGrant[] {
  const { driver, pool, device, adminAccess = false } = result;
  if (adminAccess) return [];
  const key = deviceKey(driver, pool, device);
  const devices = pools.pool(driver, pool)?.devices.filter((each) => each.key === key) ?? [];
  return devices.map((each) => ({ device: each, consumed: consumedBy(result, each) }));
}

function consumedBy({ consumedCapacity, shareID }: AllocatedDevice, { driver }: PoolDevice): DeviceGrant['consumed'] {
  if (consumedCapacity === undefined) return shareID === undefined ? undefined : new Map();
  return new Map(
    Object.entries(consumedCapacity).map(([name, amount]) => [qualifiedName(name, driver), amountOf(amount)]),
  );
}

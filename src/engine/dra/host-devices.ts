/** Devices that one node provides for its pods, by instance type. Immutable. */
import { Requirements } from '../requirements.ts';
import type { ClaimState } from './claim-states.ts';
import type { DevicesFound, SearchGrant } from './device-search.ts';
import { type DeviceGrant, DeviceUse } from './device-use.ts';

/** Part of an allocation that belongs to one claim. */
export interface ClaimDevices {
  /** Undefined for a claim that only one pod can use. */
  readonly id: string | undefined;
  readonly name: string;
  readonly grants: readonly SearchGrant[];
  readonly usesTemplates: boolean;
  /** Requirements of devices that only some nodes can reach. */
  readonly requirements: Requirements;
}

export interface TypeDevices {
  readonly use: DeviceUse;
  /** True if some devices are published, so that other nodes could use them. */
  readonly hasPublished: boolean;
  /** Ids of claims that other pods could use. */
  readonly shared: readonly string[];
  readonly claims: readonly ClaimDevices[];
}

export interface HostDevices {
  readonly byType: ReadonlyMap<string, TypeDevices>;
}

export const NO_DEVICES: TypeDevices = { use: new DeviceUse(), hasPublished: false, shared: [], claims: [] };
export const NO_HOST_DEVICES: HostDevices = { byType: new Map() };

/** Returns the devices of a type with those of further claims. */
export function withFound(held: TypeDevices, claims: readonly ClaimState[], { grants }: DevicesFound): TypeDevices {
  const { use, hasPublished } = withReserved(held, { grants });
  const added = claims.map((claim, at) =>
    claimDevices(
      claim,
      grants.filter((grant) => grant.claim === at),
    ),
  );
  return {
    use,
    hasPublished,
    shared: [...held.shared, ...added.flatMap(({ id }) => id ?? [])],
    claims: [...held.claims, ...added],
  };
}

/** Adds devices of a DaemonSet to the devices in use. The node does not wait for the drivers of the DaemonSet. */
export function withReserved(held: TypeDevices, { grants }: Pick<DevicesFound, 'grants'>): TypeDevices {
  const use = new DeviceUse();
  use.addAll(held.use, 1);
  for (const grant of grants) if (!grant.isAdmin) use.add(grant);
  return { ...held, use, hasPublished: held.hasPublished || grants.some(({ device }) => !device.isTemplate) };
}

const claimDevices = ({ id, isPrivate }: ClaimState, grants: readonly SearchGrant[]): ClaimDevices => ({
  id: isPrivate ? undefined : id,
  name: id,
  grants,
  usesTemplates: grants.some(({ device }) => device.isTemplate),
  requirements: grants.reduce(
    (all, { device: { place } }) => (place.kind === 'nodes' ? all.intersect(place.requirements) : all),
    Requirements.EMPTY,
  ),
});

/** Returns true if the node has devices for this claim of several pods. */
export function hasClaim({ byType }: HostDevices, id: string): boolean {
  for (const { shared } of byType.values()) if (shared.includes(id)) return true;
  return false;
}

/** Returns true if some of these claims have devices that no other node can use. */
export const bindsToNode = ({ byType }: HostDevices, ids: readonly string[]): boolean =>
  [...byType.values()].some(({ claims }) =>
    claims.some(
      ({ id, grants }) =>
        id !== undefined &&
        ids.includes(id) &&
        grants.some(({ device }) => device.isTemplate || device.place.kind === 'node'),
    ),
  );

/** Returns the drivers of template devices, sorted. They must publish their devices before the node is initialized. */
export const templateDrivers = ({ byType }: HostDevices, types: ReadonlySet<string>): readonly string[] => {
  const remaining = [...byType].flatMap(([type, own]) => (types.has(type) ? own.claims : []));
  const grants = remaining.flatMap((claim) => claim.grants);
  const drivers = grants.flatMap(({ device }: DeviceGrant) => (device.isTemplate ? [device.driver] : []));
  return [...new Set(drivers)].sort();
};

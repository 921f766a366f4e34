/**
 * Checks the devices that a NodeClaim requested. A node is ready for use after the drivers have published all devices of the
 * node.
 */
import {
  DEVICE_CLASS,
  NODE,
  type Node,
  type NodeClaim,
  REQUESTED_DRA_DRIVERS_ANNOTATION,
  RESOURCE_SLICE,
  type ResourceSlice,
} from '#api/objects';
import type { Informers } from '#kube/client';
import type { Trigger } from '#kube/reconcilers';
import type { Deps } from '../deps.ts';

/** Resource that a Node does not have yet, as a condition shows it. */
export interface MissingDevice {
  readonly reason: string;
  readonly message: string;
}

interface MissingDriver extends MissingDevice {
  readonly driver: string;
}

/** Returns the drivers whose devices a NodeClaim was launched for. */
export const requestedDrivers = ({ metadata }: NodeClaim): readonly string[] =>
  (metadata.annotations?.[REQUESTED_DRA_DRIVERS_ANNOTATION] ?? '')
    .split(',')
    .map((driver) => driver.trim())
    .filter((driver) => driver !== '');

const BY_NODE = 'node';
/** Prefix of the resource that each DeviceClass provides. */
const IMPLICIT_PREFIX = 'deviceclass.resource.kubernetes.io/';

/** Returns the names of the nodes that a slice describes: the node in its spec and the nodes that own it. */
const nodesOf = ({ metadata, spec }: ResourceSlice): readonly string[] => {
  const owners = (metadata.ownerReferences ?? []).filter(({ kind }) => kind === NODE.kind).map(({ name }) => name);
  return [...new Set([...(spec.nodeName ? [spec.nodeName] : []), ...owners])];
};

/** Watches resource slices. If the cluster does not serve slices or denies access, it counts as a cluster without slices. */
export function deviceDrivers(informers: Informers) {
  const slices = informers.store(RESOURCE_SLICE, { [BY_NODE]: nodesOf }, { optional: true });
  const classes = informers.store(DEVICE_CLASS, {}, { optional: true });
  return {
    /** Returns the first driver that the NodeClaim requests and that has not published a complete pool for the node. */
    lack(claim: NodeClaim, { metadata }: Node): MissingDriver | undefined {
      const own = slices.byIndex(BY_NODE, metadata.name);
      const missing = requestedDrivers(claim).find(
        (driver) => !hasCompletePool(own.filter(({ spec }) => spec.driver === driver)),
      );
      if (missing === undefined) return undefined;
      const message = `DRA driver "${missing}" has not published a complete resource pool`;
      return { reason: 'DRADriverPoolsNotPublished', message, driver: missing };
    },
    /**
     * Returns true if a DeviceClass provides a resource, and the node has devices. kube-scheduler then creates a claim for the
     * resource, and the Node never reports it.
     */
    provides(resource: string, { metadata }: Node): boolean {
      const isMapped = classes
        .list()
        .some(
          ({ metadata: { name }, spec }) =>
            resource === spec.extendedResourceName || resource === `${IMPLICIT_PREFIX}${name}`,
        );
      return isMapped && hasCompletePool(slices.byIndex(BY_NODE, metadata.name));
    },
    /** Returns the slices that drivers published for a node. */
    slicesOf: ({ metadata }: Node): readonly ResourceSlice[] => slices.byIndex(BY_NODE, metadata.name),
  };
}

/** Returns true if a pool is complete. A complete pool has as many slices of its latest generation as these slices specify. */
function hasCompletePool(slices: readonly ResourceSlice[]): boolean {
  const pools = Map.groupBy(slices, ({ spec }) => spec.pool.name);
  return [...pools.values()].some((pool) => {
    const generation = Math.max(...pool.map(({ spec }) => spec.pool.generation));
    const latest = pool.filter(({ spec }) => spec.pool.generation === generation);
    const count = latest[0]?.spec.pool.resourceSliceCount ?? 0;
    return count > 0 && latest.length === count;
  });
}

/** Triggers the NodeClaims of the nodes that a slice describes. */
export const claimsOfSlices = ({ cluster }: Pick<Deps, 'cluster'>): Trigger => ({
  kind: RESOURCE_SLICE,
  optional: true,
  keysFor: (slice) =>
    nodesOf(slice as ResourceSlice)
      .flatMap((name) => cluster.stores.nodes.get({ name }) ?? [])
      .flatMap((node) => cluster.claimsOfNode(node))
      .map(({ metadata }) => ({ name: metadata.name })),
});

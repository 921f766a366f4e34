/** Time before the end of a capacity reservation at which its nodes drain and no node is launched in it. */
import {
  CAPACITY_RESERVATION_ID_LABEL,
  CAPACITY_TYPE_LABEL,
  type CapacityReservationStatus,
  type EC2NodeClass,
  type NodeClaim,
  type NodePool,
} from '#api/objects';
import { readDurationOrNever } from '#api/values';
import { type InstanceType, requirementsOf, sharedTypeList } from '#engine/model';
import { poolRequirements } from '../nodepools.ts';

const MINUTE_MS = 60_000;
/** EC2 terminates the instances of a capacity block this long before its end. */
const RECLAIM_MS = 30 * MINUTE_MS;
const SHORTEST_DRAIN_MS = 10 * MINUTE_MS;
/** Limit, so that a long terminationGracePeriod does not leave a large part of a reservation unused. */
const LONGEST_DRAIN_MS = 60 * MINUTE_MS;

/** Returns the time at which the nodes of a reservation must be empty. Undefined if they may stay. */
export function emptyByMs(
  { reservationType, endTime }: CapacityReservationStatus,
  nodePool: NodePool | undefined,
): number | undefined {
  if (endTime === undefined) return undefined;
  if (reservationType === 'capacity-block') return Date.parse(endTime) - RECLAIM_MS;
  // other instances continue as on-demand instances, which this NodePool does not allow
  return nodePool !== undefined && isStaticReserved(nodePool) ? Date.parse(endTime) : undefined;
}

function isStaticReserved(nodePool: NodePool): boolean {
  if (nodePool.spec.replicas === undefined) return false;
  const allowed = poolRequirements(nodePool).get(CAPACITY_TYPE_LABEL);
  return allowed.has('reserved') && !allowed.has('on-demand');
}

interface Leaving {
  readonly nodePool: NodePool | undefined;
  readonly terminationGracePeriod: string | undefined;
}

/** Returns the time at which the drain of the nodes in a reservation starts. Undefined if they may stay. */
export function leaveMs(
  reservation: CapacityReservationStatus,
  { nodePool, terminationGracePeriod }: Leaving,
): number | undefined {
  const emptyMs = emptyByMs(reservation, nodePool);
  const graceMs = (terminationGracePeriod && readDurationOrNever(terminationGracePeriod)) || 0;
  return emptyMs && emptyMs - Math.min(LONGEST_DRAIN_MS, Math.max(SHORTEST_DRAIN_MS, graceMs));
}

/** Makes the offerings of a reservation unavailable from the time at which the nodes of the NodePool leave it. */
export function withoutEnding(
  types: readonly InstanceType[],
  { status }: EC2NodeClass,
  leaving: Leaving,
  nowMs: number,
): readonly InstanceType[] {
  const ending = (status?.capacityReservations ?? [])
    .filter((reservation) => (leaveMs(reservation, leaving) ?? Number.POSITIVE_INFINITY) <= nowMs)
    .map(({ id }) => id);
  return ending.length === 0 ? types : withoutReservations(types, ending.sort());
}

/** Results by list and IDs. Equal inputs have the same list, because solves are cached by list. */
const known = new WeakMap<readonly InstanceType[], Map<string, readonly InstanceType[]>>();

function withoutReservations(types: readonly InstanceType[], ids: readonly string[]): readonly InstanceType[] {
  const lists = known.get(types) ?? new Map<string, readonly InstanceType[]>();
  known.set(types, lists);
  const key = ids.join();
  const found = lists.get(key);
  if (found !== undefined) return found;
  const isOf = (offering: InstanceType['offerings'][number]): boolean => {
    const { values } = requirementsOf(offering).get(CAPACITY_RESERVATION_ID_LABEL);
    return offering.available && ids.some((id) => values.has(id));
  };
  const made = sharedTypeList(
    types.map((type) =>
      type.offerings.some(isOf)
        ? { ...type, offerings: type.offerings.map((each) => (isOf(each) ? { ...each, available: false } : each)) }
        : type,
    ),
  );
  lists.set(key, made);
  return made;
}

/** Returns the terms under which a NodeClaim leaves its reservation. */
export const leavingOf = (claim: NodeClaim, nodePool: NodePool | undefined): Leaving => ({
  nodePool,
  terminationGracePeriod: claim.spec.terminationGracePeriod,
});

/**
 * Changes the capacity type of NodeClaims and Nodes from reserved to on-demand. An instance continues to run if its
 * capacity reservation is canceled or no longer includes it, but costs the on-demand price. The labels must show this
 * for correct prices and consolidation. The reverse change is never made: an instance that uses an open reservation
 * keeps its label.
 */
import {
  CAPACITY_RESERVATION_ID_LABEL,
  CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL,
  CAPACITY_RESERVATION_TYPE_LABEL,
  CAPACITY_TYPE_LABEL,
  EC2_NODE_CLASS,
  type KubeObject,
  NODE,
  NODE_CLAIM,
  NODE_POOL,
  type NodeClaim,
  poolNameOf,
  REGISTERED_LABEL,
  TERMINATION_TIMESTAMP_ANNOTATION,
} from '#api/objects';
import { readDurationOrNever } from '#api/values';
import { deleteExactly, type Informers, type KubeClient, unlessGone, writeChanges } from '#kube/client';
import { after, Requeue, type Singleton } from '#kube/reconcilers';
import { rejections, timestamp } from '#lib';
import type { Timepiece } from '#lib/clock';
import { combineErrors } from '../errors.ts';
import { providerId } from '../instances/instance.ts';
import type { Instances } from '../instances/instances.ts';
import { emptyByMs, leaveMs, leavingOf } from './endings.ts';

const PERIOD_MS = 60_000;

const isReserved = ({ metadata }: KubeObject): boolean =>
  metadata.deletionTimestamp === undefined && metadata.labels?.[CAPACITY_TYPE_LABEL] === 'reserved';

function asOnDemand<T extends KubeObject>(object: T): T {
  const {
    [CAPACITY_RESERVATION_ID_LABEL]: _id,
    [CAPACITY_RESERVATION_TYPE_LABEL]: _type,
    [CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL]: _interruptible,
    ...labels
  } = object.metadata.labels ?? {};
  return {
    ...object,
    metadata: { ...object.metadata, labels: { ...labels, [CAPACITY_TYPE_LABEL]: 'on-demand' } },
  };
}

export const reservedCapacityType = (client: KubeClient, informers: Informers, instances: Instances): Singleton => ({
  name: 'capacityreservation.capacitytype',
  singleton: true,
  backOff: { baseMs: 1000, maxMs: PERIOD_MS },
  async reconcile({ log }) {
    const claims = informers.store(NODE_CLAIM).list().filter(isReserved);
    const nodes = informers
      .store(NODE)
      .list()
      .filter((node) => isReserved(node) && node.metadata.labels?.[REGISTERED_LABEL] === 'true');
    if (claims.length === 0 && nodes.length === 0) return after(PERIOD_MS);

    const found = await instances.list();
    const paid = new Set(found.filter(({ capacityType }) => capacityType === 'on-demand').map(providerId));
    const isPaid = (id: string | undefined): boolean => id !== undefined && paid.has(id);
    const results = await Promise.allSettled([
      ...claims
        .filter(({ status }) => isPaid(status?.providerID))
        .map(async (claim) => {
          await writeChanges(
            client,
            NODE_CLAIM,
            { before: claim, after: asOnDemand(claim) },
            { part: 'object', lock: true },
          );
          log.debug('updated capacity type of a nodeclaim whose capacity reservation was removed', {
            NodeClaim: { name: claim.metadata.name },
          });
        }),
      ...nodes
        .filter(({ spec }) => isPaid(spec?.providerID))
        .map((node) =>
          writeChanges(client, NODE, { before: node, after: asOnDemand(node) }, { part: 'object', lock: true }),
        ),
    ]);
    const failed = rejections(results);
    if (failed.length > 0 && failed.every((error) => error instanceof Requeue)) throw failed[0];
    if (failed.length > 0) throw combineErrors('updating capacity types', failed);
    return after(PERIOD_MS);
  },
});

/**
 * Deletes the NodeClaims of capacity reservations that are about to end, early enough that their nodes are empty when EC2
 * terminates the instances.
 */
export function reservationExpiration(client: KubeClient, informers: Informers, clock: Timepiece): Singleton {
  /** Sets the deadline of the drain, after which the remaining pods are deleted, unless it is earlier already. */
  async function setDeadline(claim: NodeClaim, emptyMs: number): Promise<void> {
    const graceMs = readDurationOrNever(claim.spec.terminationGracePeriod);
    if (graceMs !== undefined && clock.now() + graceMs <= emptyMs) return;
    const annotations = { [TERMINATION_TIMESTAMP_ANNOTATION]: timestamp(emptyMs) };
    await unlessGone(client.patch(NODE_CLAIM, claim.metadata, { metadata: { annotations } }));
  }

  return {
    name: 'capacityreservation.expiration',
    singleton: true,
    backOff: { baseMs: 1000, maxMs: PERIOD_MS },
    async reconcile({ log }) {
      const nowMs = clock.now();
      const reservations = new Map(
        informers
          .store(EC2_NODE_CLASS)
          .list()
          .flatMap(({ status }) => status?.capacityReservations ?? [])
          .map((reservation) => [reservation.id, reservation]),
      );
      const leaving = informers
        .store(NODE_CLAIM)
        .list()
        .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
        .flatMap((claim) => {
          const reservation = reservations.get(claim.metadata.labels?.[CAPACITY_RESERVATION_ID_LABEL] ?? '');
          const nodePool = informers.store(NODE_POOL).get({ name: poolNameOf(claim) });
          const atMs = reservation && leaveMs(reservation, leavingOf(claim, nodePool));
          return reservation === undefined || atMs === undefined
            ? []
            : [{ claim, reservation, atMs, emptyMs: emptyByMs(reservation, nodePool) ?? atMs }];
        });
      const results = await Promise.allSettled(
        leaving
          .filter(({ atMs }) => atMs <= nowMs)
          .map(async ({ claim, reservation: { id, reservationType }, emptyMs }) => {
            const isBlock = reservationType === 'capacity-block';
            if (isBlock) await setDeadline(claim, emptyMs);
            if (!(await deleteExactly(client, NODE_CLAIM, claim))) return;
            log.info(`initiating delete from capacity ${isBlock ? 'block' : 'reservation'} expiration`, {
              NodeClaim: { name: claim.metadata.name },
              'capacity-reservation-id': id,
            });
          }),
      );
      const failed = rejections(results);
      if (failed.length > 0) throw combineErrors('deleting the NodeClaims of expiring capacity reservations', failed);
      const waits = leaving.filter(({ atMs }) => atMs > nowMs).map(({ atMs }) => atMs - nowMs);
      return after(Math.min(PERIOD_MS, ...waits));
    },
  };
}

/** Deletes NodeClaims on a capacity block that is about to end, while there is time to move their pods. */
import { EC2_NODE_CLASS, NODE_CLAIM } from '../../api/kinds.ts';
import { CAPACITY_RESERVATION_ID_LABEL } from '../../api/labels.ts';
import type { Informers, KubeClient } from '../../kube/client.ts';
import { deleteExactly } from '../../kube/patch.ts';
import { after, type Singleton } from '../../kube/reconciler.ts';
import { rejections } from '../../lib/rejections.ts';
import { combineErrors } from '../errors.ts';

const PERIOD_MS = 60_000;

export const reservationExpiration = (client: KubeClient, informers: Informers): Singleton => ({
  name: 'capacityreservation.expiration',
  singleton: true,
  backOff: { baseMs: 1000, maxMs: PERIOD_MS },
  async reconcile({ log }) {
    const expiring = new Set(
      informers
        .store(EC2_NODE_CLASS)
        .list()
        .flatMap(({ status }) => status?.capacityReservations ?? [])
        .filter(({ state }) => state === 'expiring')
        .map(({ id }) => id),
    );
    const ending = informers
      .store(NODE_CLAIM)
      .list()
      .filter(
        ({ metadata: { labels, deletionTimestamp } }) =>
          deletionTimestamp === undefined && expiring.has(labels?.[CAPACITY_RESERVATION_ID_LABEL] ?? ''),
      );
    const results = await Promise.allSettled(
      ending.map(async (claim) => {
        if (!(await deleteExactly(client, NODE_CLAIM, claim))) return;
        log.info('initiating delete from capacity block expiration', {
          NodeClaim: { name: claim.metadata.name },
          'capacity-reservation-id': claim.metadata.labels?.[CAPACITY_RESERVATION_ID_LABEL],
        });
      }),
    );
    const failed = rejections(results);
    if (failed.length > 0) throw combineErrors('deleting the NodeClaims of expiring capacity reservations', failed);
    return after(PERIOD_MS);
  },
});

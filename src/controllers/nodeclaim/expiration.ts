/** Deletes NodeClaims that are older than `spec.expireAfter`. The finalizer drains their nodes. */

import { NODE_CLAIM, type NodeClaim, poolNameOf } from '#api/objects';
import { readDurationOrNever } from '#api/values';
import { isOpenAt, nextTurnMs, openHours } from '#engine/disruption';
import { deleteExactly } from '#kube/client';
import { after, type Reconciler, settled } from '#kube/reconcilers';
import { timeOf, tryRun } from '#lib';
import { EXPIRED } from '#observe/events';
import { PAUSED_RETRY_MS } from '#state';
import { publishDeletion } from '../deletion-events.ts';
import type { Deps } from '../deps.ts';
import { recordDeleted, reschedulablePods } from '../disrupted.ts';
import { reportDeletion } from '../observed.ts';
import { OwnWrites } from '../own-writes.ts';
import { unreadableFields } from './unreadable.ts';

export function expiration(deps: Deps): Reconciler<NodeClaim> {
  const { client, clock, cluster } = deps;
  const writes = new OwnWrites();
  const unreadable = unreadableFields(deps);
  return {
    name: 'nodeclaim.expiration',
    watches: NODE_CLAIM,
    concurrency: 1,
    filter: (claim) => cluster.manages(claim.spec.nodeClassRef),
    removed: ({ name }) => {
      writes.forget(name);
      unreadable.forget(name);
    },

    async reconcile(claim, { log }) {
      const lifeMs = readDurationOrNever(claim.spec.expireAfter);
      if (lifeMs === undefined) {
        unreadable.report(claim, { field: 'expireAfter', consequence: 'the claim does not expire' }, log);
        return settled;
      }
      if (lifeMs === Number.POSITIVE_INFINITY || claim.metadata.deletionTimestamp || writes.isBehind(claim)) {
        return settled;
      }
      const waitMs = timeOf(claim.metadata.creationTimestamp) + lifeMs - clock.now();
      if (waitMs > 0) return after(waitMs);
      if (cluster.pause.of('disruption')) return after(PAUSED_RETRY_MS);
      const closedMs = closedForMs(deps, claim);
      if (closedMs > 0) return after(closedMs);
      if (cluster.observation.of(poolNameOf(claim)) !== undefined) {
        reportDeletion(deps, claim, 'expired');
        return after(PAUSED_RETRY_MS);
      }
      const pods = reschedulablePods(deps, claim);
      log.debug('deleting expired nodeclaim');
      const wasThere = await deleteExactly(client, NODE_CLAIM, claim);
      writes.deleted(claim);
      if (!wasThere) return settled;
      publishDeletion(deps, claim, EXPIRED, EXPIRED.message(claim.spec.expireAfter));
      recordDeleted(deps, claim, { reason: 'expired', pods });
      return settled;
    },
  };
}

/** Longest time between two checks of the windows, because the policy may be changed. */
const WINDOW_CHECK_MS = 60_000;

/** Returns the time to the next check while the windows of the policy for the reason Expired are closed. Otherwise returns 0. */
function closedForMs({ clock, cluster }: Pick<Deps, 'clock' | 'cluster'>, claim: NodeClaim): number {
  const { nodePolicies, nodePools } = cluster.stores;
  const pool = nodePools.get({ name: poolNameOf(claim) });
  const hours = pool && openHours(nodePolicies.list(), pool, 'Expired');
  if (hours === undefined) return 0;
  const nowMs = clock.now();
  // an unknown time zone keeps the node, as for the budgets of voluntary disruption
  const isOpen = tryRun(() => isOpenAt(hours, nowMs)) ?? false;
  if (isOpen) return 0;
  const openMs = tryRun(() => nextTurnMs(hours, nowMs)) ?? Number.POSITIVE_INFINITY;
  return Math.min(openMs - nowMs, WINDOW_CHECK_MS);
}

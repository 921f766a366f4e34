/** Deletes registered claims whose instance the cloud no longer knows. */
import { isTrue } from '../../api/conditions.ts';
import { NODE_CLAIM } from '../../api/kinds.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import { causeOf, NodeClaimNotFound } from '../../cloud/errors.ts';
import { deleteExactly } from '../../kube/patch.ts';
import { after, type Singleton } from '../../kube/reconciler.ts';
import { withBoundedConcurrency } from '../../lib/bounded-concurrency.ts';
import { GARBAGE_COLLECTED } from '../../observe/events/nodeclaims.ts';
import type { Logger } from '../../observe/logger.ts';
import { publishDeletion } from '../deletion-events.ts';
import type { Deps } from '../deps.ts';
import { recordDeleted, reschedulablePods } from '../disrupted.ts';

const INTERVAL_MS = 2 * 60_000;
const AT_ONCE = 20;

export function garbageCollection(deps: Deps): Singleton {
  const { client, cloud, cluster } = deps;

  /** Lists may lag, or be cut short: what one lacks is requested by its id. */
  async function isGone(providerId: string): Promise<boolean> {
    try {
      return (await cloud.get(providerId)).metadata.deletionTimestamp !== undefined;
    } catch (error) {
      if (causeOf(error, NodeClaimNotFound)) return true;
      throw error;
    }
  }

  async function collect(claim: NodeClaim, log: Logger): Promise<void> {
    const [node, ...others] = cluster.nodesOfClaim(claim);
    // A kubelet that still reports knows better than a list that may lag.
    if (node && others.length === 0 && isTrue(node, 'Ready')) return;
    if (!(await isGone(claim.status?.providerID ?? ''))) return;
    const pods = reschedulablePods(deps, claim);
    if (!(await deleteExactly(client, NODE_CLAIM, claim))) return;
    log.debug('garbage collecting nodeclaim with no cloudprovider representation', {
      NodeClaim: { name: claim.metadata.name },
      'provider-id': claim.status?.providerID,
    });
    publishDeletion(deps, claim, GARBAGE_COLLECTED, GARBAGE_COLLECTED.message(claim.status?.providerID));
    recordDeleted(deps, claim, { reason: 'garbage_collected', pods });
  }

  return {
    name: 'nodeclaim.garbagecollection',
    singleton: true,
    backOff: { baseMs: 1000, maxMs: INTERVAL_MS },
    async reconcile({ log }) {
      // Claims before instances: an instance that is bought in between must not look like a claim without one.
      const claims = cluster.stores.nodeClaims.list();
      const alive = (await cloud.list()).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
      const instances = new Set(alive.map(({ status }) => status?.providerID));
      const lost = claims.filter(
        (claim) =>
          cluster.manages(claim.spec.nodeClassRef) &&
          !claim.metadata.deletionTimestamp &&
          isTrue(claim, 'Registered') &&
          !instances.has(claim.status?.providerID),
      );
      await withBoundedConcurrency(lost, AT_ONCE, (claim) => collect(claim, log));
      return after(INTERVAL_MS);
    },
  };
}

/**
 * Forgets claims that this process created and that were deleted before the informers could show them. Without it
 * cluster state would wait for their launch for ever.
 */
const UNSEEN_MS = 15_000;

/**
 * Forgets claims that this process created and that were deleted before the informers could show them. Otherwise cluster
 * state would wait for their launch for ever.
 */
export function stateGarbageCollection({ client, cluster }: Deps): Singleton {
  return {
    name: 'state.nodeclaimgc',
    singleton: true,
    backOff: { baseMs: 1000, maxMs: UNSEEN_MS },
    async reconcile() {
      for (const name of cluster.trackedLongerThan(UNSEEN_MS)) {
        if (!(await client.find(NODE_CLAIM, { name }))) cluster.untrack(name);
      }
      return after(UNSEEN_MS);
    },
  };
}

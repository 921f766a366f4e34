/** Deletes registered NodeClaims if the cloud no longer has their instance. */
import { isTrue, NODE_CLAIM, type NodeClaim } from '#api/objects';
import { causeOf, NodeClaimNotFound } from '#cloud';
import { deleteExactly } from '#kube/client';
import { after, type Singleton } from '#kube/reconcilers';
import { withBoundedConcurrency } from '#lib';
import { GARBAGE_COLLECTED } from '#observe/events';
import type { Logger } from '#observe/logger';
import { publishDeletion } from '../deletion-events.ts';
import type { Deps } from '../deps.ts';
import { recordDeleted, reschedulablePods } from '../disrupted.ts';

const INTERVAL_MS = 2 * 60_000;
const AT_ONCE = 20;

export function garbageCollection(deps: Deps): Singleton {
  const { client, cloud, cluster } = deps;

  /** Returns true if the cloud does not find the instance by its ID. Instance lists may be outdated or truncated. */
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
    // A Ready node is more reliable evidence than a list that may be outdated.
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
      // Reads NodeClaims before instances: an instance that is launched in between must not look like a NodeClaim without an
      // instance.
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

/** Time after which a NodeClaim that the informers have not shown is checked, in milliseconds. */
const UNSEEN_MS = 15_000;

/**
 * Removes NodeClaims that this process created and that were deleted before the informers could show them. Otherwise the
 * cluster state would wait forever for their launch.
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

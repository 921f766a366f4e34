/** Writes the drift hash of a NodePool's template, and updates NodeClaims with the hash of an older version. */
import { NODEPOOL_HASH_VERSION } from '#api/hashes';
import { NODE_CLAIM, NODE_POOL, NODEPOOL_HASH_VERSION_ANNOTATION, type NodeClaim, type NodePool } from '#api/objects';
import { adopted, withHash } from '#engine/model';
import { writeChanges } from '#kube/client';
import { type Reconciler, settled } from '#kube/reconcilers';
import { withBoundedConcurrency } from '#lib';
import { CLAIMS_BY_NODE_POOL } from '#state';
import { concurrency } from '../concurrency.ts';
import type { Deps } from '../deps.ts';

const AT_ONCE = 20;

export function hash({ client, cluster, settings }: Deps): Reconciler<NodePool> {
  async function adopt(claim: NodeClaim, pool: NodePool): Promise<void> {
    await writeChanges(client, NODE_CLAIM, { before: claim, after: adopted(claim, pool) }, { part: 'object' });
  }

  return {
    name: 'nodepool.hash',
    watches: NODE_POOL,
    concurrency: concurrency(settings, { min: 10, max: 1000 }),
    filter: (pool) => cluster.manages(pool.spec.template.spec.nodeClassRef),

    async reconcile(pool) {
      const hashed = withHash(pool);
      if (hashed === undefined) return settled; // `nodepool.validation` reports the value that cannot be parsed
      if (pool.metadata.annotations?.[NODEPOOL_HASH_VERSION_ANNOTATION] !== NODEPOOL_HASH_VERSION) {
        const claims = cluster.stores.nodeClaims.byIndex(CLAIMS_BY_NODE_POOL, pool.metadata.name);
        await withBoundedConcurrency(claims, AT_ONCE, (claim) => adopt(claim, pool));
      }
      await writeChanges(client, NODE_POOL, { before: pool, after: hashed }, { part: 'object' });
      return settled;
    },
  };
}

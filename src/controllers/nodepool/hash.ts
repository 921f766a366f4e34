/** Writes the drift hash of a NodePool's template, and adopts claims whose hash an older version made. */
import { getCondition } from '../../api/conditions.ts';
import { NODEPOOL_HASH_VERSION, nodePoolHash } from '../../api/hash.ts';
import { NODE_CLAIM, NODE_POOL } from '../../api/kinds.ts';
import { NODEPOOL_HASH_ANNOTATION, NODEPOOL_HASH_VERSION_ANNOTATION } from '../../api/labels.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { withBoundedConcurrency } from '../../kube/bounded-concurrency.ts';
import { writeChanges } from '../../kube/patch.ts';
import { type Reconciler, settled } from '../../kube/reconciler.ts';
import { CLAIMS_BY_NODE_POOL } from '../../state/stores.ts';
import { concurrency } from '../concurrency.ts';
import type { Deps } from '../deps.ts';

const AT_ONCE = 20;

export function hash({ client, cluster, settings }: Deps): Reconciler<NodePool> {
  /** A drifted claim keeps its old hash: a new one would hide the drift. */
  async function adopt(claim: NodeClaim, value: string): Promise<void> {
    const annotations = {
      ...claim.metadata.annotations,
      [NODEPOOL_HASH_VERSION_ANNOTATION]: NODEPOOL_HASH_VERSION,
      ...(getCondition(claim, 'Drifted') ? {} : { [NODEPOOL_HASH_ANNOTATION]: value }),
    };
    const versions = { before: claim, after: { ...claim, metadata: { ...claim.metadata, annotations } } };
    await writeChanges(client, NODE_CLAIM, versions, { part: 'object' });
  }

  return {
    name: 'nodepool.hash',
    watches: NODE_POOL,
    concurrency: concurrency(settings, { min: 10, max: 1000 }),
    filter: (pool) => cluster.manages(pool.spec.template.spec.nodeClassRef),

    async reconcile(pool) {
      const value = hashOf(pool);
      if (value === undefined) return settled;
      const { annotations = {} } = pool.metadata;
      if (annotations[NODEPOOL_HASH_VERSION_ANNOTATION] !== NODEPOOL_HASH_VERSION) {
        const old = cluster.stores.nodeClaims
          .byIndex(CLAIMS_BY_NODE_POOL, pool.metadata.name)
          .filter(({ metadata }) => metadata.annotations?.[NODEPOOL_HASH_VERSION_ANNOTATION] !== NODEPOOL_HASH_VERSION);
        await withBoundedConcurrency(old, AT_ONCE, (claim) => adopt(claim, value));
      }
      const hashed = {
        ...annotations,
        [NODEPOOL_HASH_ANNOTATION]: value,
        [NODEPOOL_HASH_VERSION_ANNOTATION]: NODEPOOL_HASH_VERSION,
      };
      const versions = { before: pool, after: { ...pool, metadata: { ...pool.metadata, annotations: hashed } } };
      await writeChanges(client, NODE_POOL, versions, { part: 'object' });
      return settled;
    },
  };
}

/** Undefined for a NodePool with a value that cannot be read, which `nodepool.validation` reports. */
function hashOf(pool: NodePool): string | undefined {
  try {
    return nodePoolHash(pool);
  } catch {
    return undefined;
  }
}

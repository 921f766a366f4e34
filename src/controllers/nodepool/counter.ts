/** Publishes the resources of a NodePool's nodes in its status. */
import { NODE_POOL } from '../../api/kinds.ts';
import type { NodePool } from '../../api/nodepool.ts';
import type { Resources } from '../../engine/model.ts';
import { quantityList } from '../../engine/resources.ts';
import { writeChanges } from '../../kube/patch.ts';
import { after, type Reconciler } from '../../kube/reconciler.ts';
import { remembering } from '../../lib/remembering.ts';
import { concurrency } from '../concurrency.ts';
import type { Deps } from '../deps.ts';

const INTERVAL_MS = 5000;
const UNSYNCED_MS = 1000;
const ALWAYS_SHOWN = { cpu: 0, memory: 0, pods: 0, 'ephemeral-storage': 0, nodes: 0 };

/** Cached, because the totals are the same object until a value changes. */
const shownOf = remembering((held: Resources): Pick<NonNullable<NodePool['status']>, 'resources' | 'nodes'> => {
  const totals = { ...ALWAYS_SHOWN, ...held };
  return { resources: quantityList(totals), nodes: totals.nodes };
});

export function nodePoolCounter({ client, cluster, settings }: Deps): Reconciler<NodePool> {
  return {
    name: 'nodepool.counter',
    watches: NODE_POOL,
    concurrency: concurrency(settings, { min: 10, max: 1000 }),
    filter: (pool, event) => event === 'added' && cluster.manages(pool.spec.template.spec.nodeClassRef),

    async reconcile(pool) {
      if (!cluster.synced()) return after(UNSYNCED_MS);
      const status = { ...pool.status, ...shownOf(cluster.poolTotals(pool.metadata.name)) };
      await writeChanges(client, NODE_POOL, { before: pool, after: { ...pool, status } }, { part: 'status' });
      return after(INTERVAL_MS);
    },
  };
}

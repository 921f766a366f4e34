/** Gauges of NodePools: limits, what is used of them, and what it costs. */
import { NODE_POOL } from '../../api/kinds.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { readableResources } from '../../engine/resources.ts';
import { after, type Reconciler } from '../../kube/reconciler.ts';
import { CLAIMS_BY_NODE_POOL } from '../../state/stores.ts';
import type { Deps } from '../deps.ts';
import { CostTracker } from './cost.ts';
import { inUnits, resourceType } from './nodes.ts';
import { OwnedSeries } from './series.ts';

const INTERVAL_MS = 10_000;

export function nodePoolMetrics({ clock, cloud, cluster, metrics }: Deps): Reconciler<NodePool> {
  const series = (name: string, help: string, labels: readonly string[]): OwnedSeries =>
    new OwnedSeries(metrics.gauge(name, help, labels));
  const limit = series('nodepools_limit', 'Limits of NodePools', ['resource_type', 'nodepool']);
  const usage = series('nodepools_usage', 'Resources of the nodes of NodePools', ['resource_type', 'nodepool']);
  const cost = series('nodepools_cost_total', 'Hourly price of the nodes of NodePools in USD', ['nodepool']);
  const failures = metrics.counter('nodepools_cost_tracker_errors_total', 'Failed look-ups of prices', ['nodepool']);
  const tracker = new CostTracker(cloud, clock);

  const amounts = (nodepool: string, list: Parameters<typeof readableResources>[0]) =>
    Object.entries(readableResources(list)).map(([resource, amount]) => ({
      labels: { nodepool, resource_type: resourceType(resource) },
      value: inUnits(resource, amount),
    }));

  return {
    name: 'metrics.nodepool',
    watches: NODE_POOL,
    concurrency: 1,
    filter: (pool) => cluster.manages(pool.spec.template.spec.nodeClassRef),
    removed: ({ name }) => {
      for (const each of [limit, usage, cost]) each.remove(name);
      tracker.forget(name);
    },

    async reconcile(pool, { log }) {
      const { name } = pool.metadata;
      limit.set(name, amounts(name, pool.spec.limits));
      usage.set(name, amounts(name, pool.status?.resources));
      const claims = cluster.stores.nodeClaims.byIndex(CLAIMS_BY_NODE_POOL, name);
      try {
        cost.set(name, [{ labels: { nodepool: name }, value: await tracker.usdPerHour(pool, claims) }]);
      } catch (error) {
        failures.inc({ nodepool: name });
        log.debug('failed looking up prices', { error });
      }
      return after(INTERVAL_MS);
    },
  };
}

/** Gauges of NodePools: limits, usage and cost. */
import { NODE_POOL, type NodePool } from '#api/objects';
import { readableResources } from '#engine/model';
import { after, type Reconciler } from '#kube/reconcilers';
import {
  type GaugeDeclaration,
  NODEPOOLS_COST,
  NODEPOOLS_COST_TRACKER_ERRORS,
  NODEPOOLS_LIMIT,
  NODEPOOLS_USAGE,
  OwnedSeries,
} from '#observe/metrics';
import { CLAIMS_BY_NODE_POOL } from '#state';
import type { Deps } from '../deps.ts';
import { CostTracker } from './cost.ts';
import { inUnits, resourceType } from './nodes.ts';

const INTERVAL_MS = 10_000;

export function nodePoolMetrics(deps: Deps): Reconciler<NodePool> {
  const { cluster, metrics } = deps;
  const series = (declaration: GaugeDeclaration): OwnedSeries => new OwnedSeries(metrics, declaration);
  const limit = series(NODEPOOLS_LIMIT);
  const usage = series(NODEPOOLS_USAGE);
  const cost = series(NODEPOOLS_COST);
  const failures = metrics.counter(NODEPOOLS_COST_TRACKER_ERRORS);
  const tracker = new CostTracker(deps);

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
        cost.set(name, [{ labels: { nodepool: name }, value: await tracker.offeringsUsdPerHour(pool, claims) }]);
      } catch (error) {
        failures.inc({ nodepool: name });
        log.debug('failed looking up prices', { error });
      }
      return after(INTERVAL_MS);
    },
  };
}

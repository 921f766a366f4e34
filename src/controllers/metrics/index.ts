/** Controllers for metrics: cluster state, and the conditions of every kind. */
import { NODECLAIM_CONDITIONS, NODEPOOL_CONDITIONS } from '../../api/conditions.ts';
import { CAPACITY_BUFFER, NODE, NODE_CLAIM, NODE_POOL } from '../../api/kinds.ts';
import { INITIALIZED_LABEL, NODEPOOL_LABEL } from '../../api/labels.ts';
import type { Controller } from '../../kube/reconciler.ts';
import type { Deps } from '../deps.ts';
import { nodeClassConditions, nodeClassKinds, nodeClassLabel } from '../node-classes.ts';
import { endedSeries } from './ended-series.ts';
import { nodePoolMetrics } from './nodepools.ts';
import { NodeMetrics } from './nodes.ts';
import { podMetrics } from './pods.ts';
import { StatusMetrics } from './status.ts';

/** Returns the controllers. Excludes cluster state if the settings disable its observability. */
export function metricsControllers(deps: Deps): readonly Controller[] {
  if (deps.settings.disableClusterStateObservability) return [endedSeries(deps)];
  const nodeClasses = nodeClassKinds(deps.cloud);
  const ownership = [...nodeClasses.map(nodeClassLabel), NODEPOOL_LABEL];
  return [
    podMetrics(deps),
    new NodeMetrics(deps),
    nodePoolMetrics(deps),
    endedSeries(deps),
    new StatusMetrics(deps, NODE_CLAIM, {
      ...{ conditions: NODECLAIM_CONDITIONS, labels: ownership },
      ...{ older: true, many: true },
    }),
    new StatusMetrics(deps, NODE_POOL, { conditions: NODEPOOL_CONDITIONS, older: true }),
    ...(deps.settings.featureGates.capacityBuffer ? [new StatusMetrics(deps, CAPACITY_BUFFER, { older: true })] : []),
    new StatusMetrics(deps, NODE, { labels: [...ownership, INITIALIZED_LABEL], many: true }),
    ...nodeClasses.map(
      (kind) =>
        new StatusMetrics(deps, kind, { conditions: nodeClassConditions(kind), older: true, buckets: 'library' }),
    ),
  ];
}

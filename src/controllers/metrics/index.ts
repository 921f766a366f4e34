/** The controllers that measure: cluster state, and the conditions of every kind. */
import { CAPACITY_BUFFER, NODE, NODE_CLAIM, NODE_POOL } from '../../api/kinds.ts';
import { INITIALIZED_LABEL, NODEPOOL_LABEL } from '../../api/labels.ts';
import type { Controller } from '../../kube/reconciler.ts';
import type { Deps } from '../deps.ts';
import { nodeClassKinds, nodeClassLabel } from '../node-classes.ts';
import { nodePoolMetrics } from './nodepools.ts';
import { NodeMetrics } from './nodes.ts';
import { podMetrics } from './pods.ts';
import { StatusMetrics } from './status.ts';

/** None when the settings leave out the observation of cluster state. */
export function metricsControllers(deps: Deps): readonly Controller[] {
  if (deps.settings.disableClusterStateObservability) return [];
  const nodeClasses = nodeClassKinds(deps.cloud);
  const ownership = [...nodeClasses.map(nodeClassLabel), NODEPOOL_LABEL];
  return [
    podMetrics(deps),
    new NodeMetrics(deps),
    nodePoolMetrics(deps),
    new StatusMetrics(deps, NODE_CLAIM, { labels: ownership, older: true, many: true }),
    new StatusMetrics(deps, NODE_POOL, { older: true }),
    ...(deps.settings.featureGates.capacityBuffer ? [new StatusMetrics(deps, CAPACITY_BUFFER, { older: true })] : []),
    new StatusMetrics(deps, NODE, { labels: [...ownership, INITIALIZED_LABEL], many: true }),
    ...nodeClasses.map((kind) => new StatusMetrics(deps, kind, { older: true, buckets: 'library' })),
  ];
}

/** Controllers of Nodes. */
import type { Controller } from '../../kube/reconciler.ts';
import { NODECLAIMS_UNHEALTHY_DISRUPTED } from '../../observe/metrics/nodeclaims.ts';
import type { Deps } from '../deps.ts';
import { EvictionQueue, Evictions } from './eviction-queue.ts';
import { NodeHealth } from './health.ts';
import { nodeHydration } from './hydration.ts';
import { NodeTermination } from './node-termination.ts';

export function nodeControllers(deps: Deps): readonly Controller[] {
  const evictions = new Evictions(deps.clock);
  // Registers the counter even if repairs are disabled, because alerts refer to it.
  deps.metrics.counter(NODECLAIMS_UNHEALTHY_DISRUPTED);
  const canRepair = deps.settings.featureGates.nodeRepair && deps.cloud.repairPolicies.length > 0;
  return [
    new NodeTermination(deps, evictions),
    new EvictionQueue(deps, evictions),
    nodeHydration(deps),
    ...(canRepair ? [new NodeHealth(deps)] : []),
  ];
}

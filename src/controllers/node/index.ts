/** Controllers of Nodes. */

import { NODE, NODE_CLAIM } from '../../api/kinds.ts';
import type { Node } from '../../api/kubernetes.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import { writeChanges } from '../../kube/patch.ts';
import { type Controller, type Reconciler, settled } from '../../kube/reconciler.ts';
import { NODECLAIMS_UNHEALTHY_DISRUPTED } from '../../observe/metrics/nodeclaims.ts';
import { concurrency } from '../concurrency.ts';
import type { Deps } from '../deps.ts';
import { nodeClassLabel } from '../node-classes.ts';
import { EvictionQueue, Evictions } from './eviction-queue.ts';
import { NodeHealth } from './health.ts';
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

/** Adds the label with the name of the NodeClass to Nodes of older versions. */
function nodeHydration({ client, cluster, settings }: Deps): Reconciler<Node> {
  return {
    name: 'node.hydration',
    watches: NODE,
    concurrency: concurrency(settings, { min: 1_000, max: 5_000 }),
    backOff: { baseMs: 100, maxMs: 60_000 },
    filter: (_, event) => event !== 'deleted',
    triggers: [
      {
        kind: NODE_CLAIM,
        keysFor: (claim, event) =>
          event === 'deleted' ? [] : cluster.nodesOfClaim(claim as NodeClaim).map(({ metadata }) => metadata),
      },
    ],

    async reconcile(node) {
      const [claim, ...others] = cluster.claimsOfNode(node);
      if (claim === undefined || others.length > 0) return settled;
      const { nodeClassRef } = claim.spec;
      const labels = { ...node.metadata.labels, [nodeClassLabel(nodeClassRef)]: nodeClassRef.name };
      const hydrated = { ...node, metadata: { ...node.metadata, labels } };
      await writeChanges(client, NODE, { before: node, after: hydrated }, { part: 'object' });
      return settled;
    },
  };
}

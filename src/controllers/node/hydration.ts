/** Adds the label with the name of the NodeClass to Nodes of older versions. */
import { NODE, NODE_CLAIM } from '../../api/kinds.ts';
import type { Node } from '../../api/kubernetes.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import { writeChanges } from '../../kube/patch.ts';
import { type Reconciler, settled } from '../../kube/reconciler.ts';
import { concurrency } from '../concurrency.ts';
import type { Deps } from '../deps.ts';
import { nodeClassLabel } from '../node-classes.ts';

export function nodeHydration({ client, cluster, settings }: Deps): Reconciler<Node> {
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

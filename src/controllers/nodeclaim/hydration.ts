/** Adds the label with the name of the NodeClass to NodeClaims and Nodes that older versions created. */
import { NODE, NODE_CLAIM, type Node, type NodeClaim } from '#api/objects';
import { writeChanges } from '#kube/client';
import { type Reconciler, settled } from '#kube/reconcilers';
import { concurrency } from '../concurrency.ts';
import type { Deps } from '../deps.ts';
import { nodeClassLabel } from '../node-classes.ts';

export function nodeClaimHydration({ client, cluster, settings }: Deps): Reconciler<NodeClaim> {
  return {
    name: 'nodeclaim.hydration',
    watches: NODE_CLAIM,
    concurrency: concurrency(settings, { min: 1000, max: 5000 }),
    backOff: { baseMs: 100, maxMs: 60_000 },
    filter: (claim) => cluster.manages(claim.spec.nodeClassRef),

    async reconcile(claim) {
      const { name } = claim.spec.nodeClassRef;
      const labels = { ...claim.metadata.labels, [nodeClassLabel(claim.spec.nodeClassRef)]: name };
      const versions = { before: claim, after: { ...claim, metadata: { ...claim.metadata, labels } } };
      await writeChanges(client, NODE_CLAIM, versions, { part: 'object' });
      return settled;
    },
  };
}

/** Adds the label with the name of the NodeClass to Nodes of older versions. */
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

/** Adds the label with the name of the NodeClass to NodeClaims that older versions created. */
import { NODE_CLAIM } from '../../api/kinds.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import { writeChanges } from '../../kube/patch.ts';
import { type Reconciler, settled } from '../../kube/reconciler.ts';
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

/** Triggers the NodePools that refer to a changed NodeClass. */
import type { Trigger } from '../../kube/reconciler.ts';
import type { Deps } from '../deps.ts';
import { isSame, nodeClassKinds } from '../node-classes.ts';

export function nodeClassesOfPools({ cloud, cluster }: Deps): readonly Trigger[] {
  return nodeClassKinds(cloud).map((kind) => ({
    kind,
    keysFor: ({ metadata }) =>
      cluster.stores.nodePools
        .list()
        .filter((pool) => {
          const reference = pool.spec.template.spec.nodeClassRef;
          return isSame(reference, kind) && reference.name === metadata.name;
        })
        .map((pool) => ({ name: pool.metadata.name })),
  }));
}

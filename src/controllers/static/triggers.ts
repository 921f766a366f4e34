/** Triggers a static NodePool if its NodeClaims are added, deleted or changed. */
import { NODE_CLAIM } from '../../api/kinds.ts';
import { poolNameOf } from '../../api/object-fields.ts';
import type { Trigger } from '../../kube/reconciler.ts';
import type { Deps } from '../deps.ts';

export const claimsOfStaticPools = ({ cluster }: Pick<Deps, 'cluster'>): readonly Trigger[] => [
  {
    kind: NODE_CLAIM,
    keysFor: ({ metadata }) => {
      const name = poolNameOf({ metadata });
      return cluster.stores.nodePools.get({ name })?.spec.replicas === undefined ? [] : [{ name }];
    },
  },
];

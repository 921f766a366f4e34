/** Wakes a static NodePool when its claims come and go. */
import { NODE_CLAIM } from '../../api/kinds.ts';
import { NODEPOOL_LABEL } from '../../api/labels.ts';
import type { Trigger } from '../../kube/reconciler.ts';

export const CLAIMS_OF_STATIC_POOLS: readonly Trigger[] = [
  {
    kind: NODE_CLAIM,
    keysFor: ({ metadata }) => {
      const name = metadata.labels?.[NODEPOOL_LABEL];
      return name === undefined ? [] : [{ name }];
    },
  },
];

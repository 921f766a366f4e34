/** Keeps the capacities that nodes reported over restarts, also if no such node exists any more. */
import { ConfigMapDocument, DocumentKeeper, type DocumentOptions } from '#kube/reconcilers';
import type { NodeCapacities } from './node-capacities.ts';

/** Name of the ConfigMap, in the namespace of the operator. */
export const NODE_CAPACITIES_NAME = 'karpenter-node-capacities';
const MOST_BYTES = 256 * 1024;

/** Returns undefined if the namespace is unknown. */
export function capacityKeeper(
  { client, log, namespace }: Pick<DocumentOptions, 'client' | 'log'> & { readonly namespace?: string | undefined },
  capacities: NodeCapacities,
): DocumentKeeper | undefined {
  if (!namespace) return undefined;
  const document = new ConfigMapDocument({ client, log, namespace, name: NODE_CAPACITIES_NAME, mostBytes: MOST_BYTES });
  return new DocumentKeeper('instancetype.capacity.memory', capacities, document);
}

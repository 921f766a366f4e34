/** Verdicts on pods with a place, for the operator and the command line. */

import type { PodVerdict } from '#engine/explanations';
import { joinProgress, type StateNode } from '#engine/model';

type Place = Pick<StateNode, 'name'> & Partial<Pick<StateNode, 'nodeClaim' | 'initialized'>>;

/** Returns the verdict on a pod that fits on a node. */
export function placedVerdict(pod: string, { name, nodeClaim, initialized = false }: Place, nowMs: number): PodVerdict {
  const progress = nodeClaim && !initialized ? joinProgress(nodeClaim, nowMs) : undefined;
  return progress === undefined
    ? { pod, code: 'fits', text: `the pod fits on node ${name}` }
    : { pod, code: 'joining', text: `the pod waits for NodeClaim ${nodeClaim?.metadata.name}: ${progress.text}` };
}

/** @param more number of further pods of the same node */
export const launchText = (nodePool: string, more: number): string =>
  `NodePool ${nodePool} launches a node for the pod${more > 0 ? ` and ${more} more` : ''}`;

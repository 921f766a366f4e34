/** Events on Nodes that more than one step publishes. */
import type { Node } from '../../api/kubernetes.ts';
import type { EventNote } from '../../kube/events.ts';

export const failedDraining = (node: Node, obstacle: string): EventNote => ({
  object: node,
  type: 'Warning',
  reason: 'FailedDraining',
  message: `Failed to drain node, ${obstacle}`,
  dedupe: [node.metadata.name],
});

/** Events on Nodes that several steps publish. */
import type { Node } from '../../api/kubernetes.ts';
import type { EventNote } from '../../kube/events.ts';
import { eventOf } from '../../observe/events/declaration.ts';
import { FAILED_DRAINING } from '../../observe/events/nodes.ts';

/**
 * Creates an event for a drain that takes long. The number of waiting pods and the obstacle of one pod are separate events: the
 * number is published every second and would otherwise suppress the obstacle.
 */
export const failedDraining = (node: Node, about: 'waiting' | 'budget', obstacle: string): EventNote =>
  eventOf(FAILED_DRAINING, node, {
    message: FAILED_DRAINING.message(obstacle),
    dedupe: [node.metadata.name, about],
  });

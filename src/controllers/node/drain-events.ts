/** Events on Nodes that more than one step publishes. */
import type { Node } from '../../api/kubernetes.ts';
import type { EventNote } from '../../kube/events.ts';
import { eventOf } from '../../observe/events/declaration.ts';
import { FAILED_DRAINING } from '../../observe/events/nodes.ts';

/**
 * A drain that goes on for a while. The number of pods that wait and what holds one of them back are separate events: the
 * number is known first, each second, and would otherwise keep the reason from ever being published.
 */
export const failedDraining = (node: Node, about: 'waiting' | 'budget', obstacle: string): EventNote =>
  eventOf(FAILED_DRAINING, node, {
    message: FAILED_DRAINING.message(obstacle),
    dedupe: [node.metadata.name, about],
  });

/**
 * Shares equal parts of received objects. Each message contains its own copies of its objects, including parts that are equal to
 * parts of earlier objects.
 */
import type { Pod } from '../api/kubernetes.ts';
import type { StateNode } from '../engine/model.ts';
import { sharedFields, withSharedParts } from '../kube/shared-parts.ts';
import { internStrings } from '../lib/interned-strings.ts';
import type { CopiedName } from './protocol.ts';

const NODES: CopiedName = 'nodes';
const PODS: ReadonlySet<string> = new Set<CopiedName>(['pendingPods', 'daemonPods']);

/** Returns an equal item whose parts are shared with all other items that have equal parts. */
export function keptOnce(list: string, item: object): object {
  // each item has the type of its list
  if (list === NODES) return keptNode(item as StateNode);
  return PODS.has(list) ? withSharedParts(item as Pod) : internStrings(item);
}

function keptNode({ pods, ...node }: StateNode): StateNode {
  return {
    ...sharedFields(internStrings(node), ['capacity', 'allocatable', 'taints', 'annotations']),
    pods: pods.map(withSharedParts),
  };
}

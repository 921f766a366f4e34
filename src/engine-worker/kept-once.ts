/**
 * What a worker holds of the objects that come: each message brings copies of its own, also of what its objects have in
 * common with those that came before.
 */
import type { Pod } from '../api/kubernetes.ts';
import type { StateNode } from '../engine/model.ts';
import { sharedFields, withSharedParts } from '../kube/shared-parts.ts';
import { internStrings } from '../lib/interned-strings.ts';
import type { CopiedName } from './protocol.ts';

const NODES: CopiedName = 'nodes';
const PODS: ReadonlySet<string> = new Set<CopiedName>(['pendingPods', 'daemonPods']);

/** An equal item, of which each part is there once for all that have it. */
export function keptOnce(list: string, item: object): object {
  // what was sent under a name has the type of its list
  if (list === NODES) return keptNode(item as StateNode);
  return PODS.has(list) ? withSharedParts(item as Pod) : internStrings(item);
}

function keptNode({ pods, ...node }: StateNode): StateNode {
  return {
    ...sharedFields(internStrings(node), ['capacity', 'allocatable', 'taints', 'annotations']),
    pods: pods.map(withSharedParts),
  };
}

/** Gangs: sets of pods with a minimum number of pods that must run together. */
import { own, timeOf } from '#lib';
import { isVirtual } from '../capacity-buffers.ts';
import type { EnginePod } from '../input.ts';
import { compareText } from '../instance-types.ts';
import type { EngineNode, EngineSnapshot } from '../model.ts';
import { isActive, isScheduled, podKey } from '../pods.ts';
import { requestTriedBy } from '../provisioning-requests.ts';
import { type GangMark, gangMarkOf } from './gang-mark.ts';

export interface Gang {
  readonly id: string;
  readonly name: string;
  /** Pods to place, in any order. */
  readonly pods: readonly EnginePod[];
  /** Number of pods of the gang that must run. */
  readonly minimum: number;
  /** Number of pods of the gang that are bound to a node. */
  readonly bound: number;
  readonly topologyKey: string | undefined;
  /** Values of the topology key on the nodes of the bound pods. */
  readonly boundDomains: readonly string[];
  /** True if the gang fits into the limits of the NodePools only with the smallest instance types. */
  readonly isSmall?: boolean;
  /** Reason why the gang is not tried. */
  readonly problem: string | undefined;
}

/** Number of pods that must find a place. Not positive if enough pods of the gang run. */
export const missingPods = ({ minimum, bound }: Gang): number => minimum - bound;

/** Returns the gangs of pods that wait for a node, in order of trial: by priority, then by waiting time. */
export function gangsAmong(
  pods: readonly EnginePod[],
  { nodes, gangGroups, gangHolds }: Pick<EngineSnapshot, 'nodes' | 'gangGroups' | 'gangHolds'>,
): readonly Gang[] {
  const members = new Map<string, { readonly mark: GangMark; readonly pods: EnginePod[] }>();
  for (const pod of pods) {
    // pods of nodes that are removed still run
    if (isScheduled(pod) || (isVirtual(pod) && requestTriedBy(pod) === undefined)) continue;
    const mark = gangMarkOf(pod);
    if (mark === undefined) continue;
    const known = members.get(mark.id);
    if (known === undefined) members.set(mark.id, { mark, pods: [pod] });
    else known.pods.push(pod);
  }
  if (members.size === 0) return [];
  const bound = boundMembers(nodes, members);
  const gangs = [...members].map(([id, { mark, pods: own }]) => {
    const group = gangGroups?.get(mark.groupId);
    const on = bound.get(id) ?? [];
    const { minimum = group?.minimum ?? own.length + on.length, topologyKey = group?.topologyKey } = mark;
    return {
      id,
      name: mark.name,
      pods: own,
      minimum,
      bound: on.length,
      topologyKey,
      boundDomains: topologyKey === undefined ? [] : domainsOf(on, topologyKey),
      problem: own.map((pod) => gangMarkOf(pod)?.problem).find(Boolean) ?? gangHolds?.get(id),
    };
  });
  return inOrder(gangs);
}

function boundMembers(
  nodes: readonly EngineNode[],
  members: ReadonlyMap<string, unknown>,
): ReadonlyMap<string, readonly EngineNode[]> {
  const bound = new Map<string, EngineNode[]>();
  for (const node of nodes) {
    for (const pod of node.pods) {
      const id = isActive(pod) ? gangMarkOf(pod)?.id : undefined;
      if (id === undefined || !members.has(id)) continue;
      const known = bound.get(id);
      if (known === undefined) bound.set(id, [node]);
      else known.push(node);
    }
  }
  return bound;
}

/** Returns the values of a label on some nodes, the most frequent value first. */
function domainsOf(nodes: readonly EngineNode[], key: string): readonly string[] {
  const counts = Map.groupBy(
    nodes.flatMap(({ labels }) => own(labels, key) ?? []),
    (value) => value,
  );
  return [...counts]
    .sort(([a, one], [b, other]) => other.length - one.length || compareText(a, b))
    .map(([value]) => value);
}

function inOrder(gangs: readonly Gang[]): readonly Gang[] {
  const keys = new Map(gangs.map((gang) => [gang, sortKeysOf(gang)]));
  const ranked = [...keys].sort(
    ([a, one], [b, other]) =>
      other.priority - one.priority || one.createdMs - other.createdMs || compareText(a.id, b.id),
  );
  return ranked.map(([gang]) => gang);
}

const sortKeysOf = ({ pods }: Gang): { readonly priority: number; readonly createdMs: number } => ({
  priority: pods.reduce((most, { spec }) => Math.max(most, spec.priority ?? 0), Number.NEGATIVE_INFINITY),
  createdMs: pods.reduce((least, { metadata }) => Math.min(least, timeOf(metadata.creationTimestamp) || 0), Infinity),
});

/** Returns `namespace/name` of the pods of a gang. */
export const keysOf = ({ pods }: Pick<Gang, 'pods'>): readonly string[] => pods.map(podKey);

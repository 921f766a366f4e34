/** Units of disruption: nodes that run pods of the same gangs, so that only a command for all of them moves whole gangs. */
import { GANG_DISRUPTION_ANNOTATION } from '#api/objects';
import { own, remembering } from '#lib';
import type { EnginePod } from '../input.ts';
import { compareText } from '../instance-types.ts';
import type { EngineNode, EngineSnapshot } from '../model.ts';
import { isActive, isReschedulable } from '../pods.ts';
import { losesWork } from '../workloads.ts';
import { type GangMark, gangMarkOf } from './gang-mark.ts';

export interface GangUnit {
  /** Names of the gangs with their size, for reasons. */
  readonly text: string;
  /** The nodes, sorted. */
  readonly providerIds: readonly string[];
  /** True if the pods stay until a gang has finished. */
  readonly waitsForEnd: boolean;
}

type Members = ReadonlyMap<string, readonly EnginePod[]>;
const NO_MEMBERS: Members = new Map();

/** Returns the pods of gangs that a disruption of their node would move, by id of the gang. */
const membersAmong = remembering((pods: readonly EnginePod[]): Members => {
  const members = Map.groupBy(pods, (pod) =>
    isActive(pod) && isReschedulable(pod) ? (gangMarkOf(pod)?.id ?? '') : '',
  );
  members.delete('');
  return members.size === 0 ? NO_MEMBERS : members;
});

interface RunningGang {
  readonly mark: GangMark;
  readonly topologyKey: string | undefined;
  readonly pods: EnginePod[];
  readonly nodes: string[];
}

/** Returns the unit of each node that runs a pod of a running gang, by provider id. */
export function gangUnits(
  nodes: readonly EngineNode[],
  gangGroups: EngineSnapshot['gangGroups'],
): ReadonlyMap<string, GangUnit> {
  const running = runningGangs(nodes, gangGroups);
  if (running.length === 0) return NO_UNITS;
  const groups = new Map<string, { readonly nodes: Set<string>; readonly gangs: RunningGang[] }>();
  for (const gang of running) {
    const joined = { nodes: new Set(gang.nodes), gangs: [gang] };
    for (const group of new Set(gang.nodes.flatMap((id) => groups.get(id) ?? []))) {
      for (const id of group.nodes) joined.nodes.add(id);
      joined.gangs.push(...group.gangs);
    }
    for (const id of joined.nodes) groups.set(id, joined);
  }
  const units = new Map([...new Set(groups.values())].map((group) => [group, unitOf(group)]));
  return new Map([...groups].flatMap(([id, group]) => [[id, units.get(group)] as const]).filter(isKnown));
}

const NO_UNITS: ReadonlyMap<string, GangUnit> = new Map();

const isKnown = <T>(entry: readonly [string, T | undefined]): entry is readonly [string, T] => entry[1] !== undefined;

/** A gang with the minimum 1 and a single pod are like ordinary pods. */
function runningGangs(nodes: readonly EngineNode[], gangGroups: EngineSnapshot['gangGroups']): readonly RunningGang[] {
  const gangs = new Map<string, RunningGang>();
  for (const { providerId, pods } of nodes) {
    for (const [id, members] of membersAmong(pods)) {
      const [first] = members;
      const mark = first && gangMarkOf(first);
      if (mark === undefined) continue;
      const { minimum, topologyKey } = gangGroups?.get(mark.groupId) ?? {};
      if ((mark.minimum ?? minimum) === 1) continue;
      const known = gangs.get(id);
      if (known === undefined)
        gangs.set(id, { mark, topologyKey: mark.topologyKey ?? topologyKey, pods: [...members], nodes: [providerId] });
      else {
        known.pods.push(...members);
        known.nodes.push(providerId);
      }
    }
  }
  return [...gangs.values()].filter(({ pods }) => pods.length > 1);
}

function unitOf({
  nodes,
  gangs,
}: {
  readonly nodes: ReadonlySet<string>;
  readonly gangs: readonly RunningGang[];
}): GangUnit {
  const sorted = gangs.toSorted((a, b) => compareText(a.mark.id, b.mark.id));
  const waiting = sorted.find(waitsForEnd);
  const { mark: { name = '' } = {}, pods = [] } = waiting ?? sorted[0] ?? {};
  const size = `${pods.length} pods on ${nodes.size} node${nodes.size === 1 ? '' : 's'}`;
  const others = sorted.length === 1 ? '' : ` with ${sorted.length - 1} more`;
  return {
    text: `gang ${name}${others} (${size})`,
    providerIds: [...nodes].sort(compareText),
    waitsForEnd: waiting !== undefined,
  };
}

/**
 * Returns true if the pods stay until the gang has finished: on request, by default if an eviction loses work, and always if the
 * nodes of the gang share a domain, because replacements may be in several domains.
 */
const waitsForEnd = ({ pods, topologyKey }: RunningGang): boolean =>
  topologyKey !== undefined ||
  pods.some((pod) => {
    const requested = own(pod.metadata.annotations ?? {}, GANG_DISRUPTION_ANNOTATION);
    return requested === undefined ? losesWork(pod) : requested !== 'Together';
  });

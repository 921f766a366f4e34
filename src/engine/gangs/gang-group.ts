/** Minimum and topology of a gang in the object that declares it, such as a PodGroup. */
import type { GangObject, Kind } from '#api/objects';

export interface GangGroup {
  readonly minimum: number;
  /** Label that must have the same value on all nodes of the gang. */
  readonly topologyKey?: string;
}

/** Returns the gangs that an object declares, by id. A minimum that is not valid is left out. */
export function groupsOf(
  { group, kind }: Pick<Kind, 'group' | 'kind'>,
  { metadata: { name, namespace = 'default' }, spec }: GangObject,
): readonly (readonly [id: string, group: GangGroup])[] {
  const id = `${kind}.${group} ${namespace}/${name}`;
  const { schedulingPolicy, schedulingConstraints, minMember, podGroups } = spec ?? {};
  if (podGroups)
    return podGroups.flatMap((each) => entryOf(`${id}/${each.name}`, each.policy && (each.policy.gang?.minCount ?? 1)));
  const [constraint] = schedulingConstraints?.topology ?? [];
  // without `gang`, each pod runs by itself
  const minimum = schedulingPolicy ? (schedulingPolicy.gang?.minCount ?? 1) : minMember;
  return entryOf(id, minimum, constraint?.key);
}

function entryOf(id: string, minimum: unknown, topologyKey?: string): readonly (readonly [string, GangGroup])[] {
  if (typeof minimum !== 'number' || !Number.isInteger(minimum) || minimum < 1) return [];
  return [[id, { minimum, ...(topologyKey && { topologyKey }) }]];
}

/** Determines the only possible zone of pending pods from their requirements, their volumes and their spread. */

import { ZONE_LABEL } from '#api/objects';
import type { EnginePod } from './input.ts';
import { requirementsOf } from './instance-types.ts';
import type { EngineSnapshot } from './model.ts';
import type { PodClass } from './solver/pod-class.ts';
import type { Topology } from './topology/topology.ts';
import { ValueSet } from './value-set.ts';

/** For pods with more than one possible zone. */
const FLEXIBLE = 'flexible';
/** For pods without a possible zone. */
const NOWHERE = 'none';

/** Returns the zones that have offerings or nodes. */
export function zonesOf({ pools, nodes }: EngineSnapshot): readonly string[] {
  const zones = new Set<string>();
  const lists = new Set(pools.map(({ instanceTypes }) => instanceTypes));
  for (const types of lists)
    for (const type of types) for (const zone of requirementsOf(type).get(ZONE_LABEL).values) zones.add(zone);
  for (const { labels } of nodes) if (labels[ZONE_LABEL] !== undefined) zones.add(labels[ZONE_LABEL]);
  return [...zones].sort();
}

/**
 * Returns the number of pods in phase Pending by their only possible zone, `flexible` or `none`. Returns undefined if the time is
 * over.
 */
export function effectiveZones(
  entries: readonly { readonly pod: EnginePod; readonly podClass: PodClass }[],
  topology: Topology,
  zones: readonly string[],
  isLate: () => boolean = () => false,
): ReadonlyMap<string, number> | undefined {
  const known = new Map<PodClass, string>();
  const counts = new Map<string, number>();
  for (const { pod, podClass } of entries) {
    if (pod.status?.phase !== 'Pending') continue;
    if (!known.has(podClass) && isLate()) return undefined;
    const zone = known.get(podClass) ?? zoneOf(podClass, topology, zones);
    known.set(podClass, zone);
    counts.set(zone, (counts.get(zone) ?? 0) + 1);
  }
  return counts;
}

function zoneOf(podClass: PodClass, topology: Topology, zones: readonly string[]): string {
  const sources = [requiredZones(podClass), ofVolumes(podClass)].filter((source) => source !== undefined);
  const [first = new Set(zones), ...others] = sources;
  const possible = [...first].filter((zone) => others.every((source) => source.has(zone)));
  const isSpread = !topology.isFreeOfDomains(podClass);
  if (sources.length === 0 && !isSpread) return FLEXIBLE;
  const left = isSpread ? possible.filter((zone) => isLeftIn(zone, podClass, topology)) : possible;
  return left.length > 1 ? FLEXIBLE : (left[0] ?? NOWHERE);
}

function requiredZones({ strict }: PodClass): ReadonlySet<string> | undefined {
  const zones = strict.get(ZONE_LABEL);
  return zones.operator === 'In' ? zones.values : undefined;
}

/** Returns undefined unless every possible place of the volumes specifies zones. */
function ofVolumes({ volumes }: PodClass): ReadonlySet<string> | undefined {
  const places = volumes.alternatives.map((alternative) => alternative.get(ZONE_LABEL));
  return places.every(({ operator }) => operator === 'In')
    ? new Set(places.flatMap(({ values }) => [...values]))
    : undefined;
}

/** Returns true if rules between pods allow one more pod in the zone. */
function isLeftIn(zone: string, podClass: PodClass, topology: Topology): boolean {
  const requirements = podClass.strict.and(ZONE_LABEL, ValueSet.in([zone]));
  const verdict = topology.narrowDomains(podClass, { hostname: '', requirements, taints: [] }, (_, [domain]) => domain);
  return !('misfit' in verdict);
}

/** Order in which the pods of a solve are tried. */
import { interleave } from '#lib';
import type { EnginePod } from '../input.ts';
import { namespaceOf, podKey } from '../pods.ts';
import { isBooked } from '../provisioning-requests.ts';
import type { Topology } from '../topology/topology.ts';
import type { Entry } from './admission.ts';

/** Moves heavy pods to the end, so that they take time only from each other. Their namespaces take turns. */
export function heavyLast<T extends Entry>(entries: readonly T[]): readonly T[] {
  const heavy = entries.filter((entry) => entry.isHeavy);
  if (heavy.length === 0) return entries;
  const byNamespace = Map.groupBy(heavy, ({ pod }) => namespaceOf(pod));
  return [...entries.filter((entry) => !entry.isHeavy), ...interleave([...byNamespace.values()])];
}

/** Moves virtual pods of booked capacity to the front, because other pods must not take their room. */
export function putBookedFirst<T extends Entry>(entries: readonly T[]): readonly T[] {
  const booked = entries.filter(({ pod }) => isBooked(pod));
  return booked.length === 0 ? entries : [...booked, ...entries.filter(({ pod }) => !isBooked(pod))];
}

/** Moves pods to the end that need on-demand capacity, so that other pods get spot nodes first. */
export const onDemandLast = <T extends Entry>(entries: readonly T[], onDemand: ReadonlySet<string>): readonly T[] =>
  onDemand.size === 0
    ? entries
    : [
        ...entries.filter(({ pod }) => !onDemand.has(podKey(pod))),
        ...entries.filter(({ pod }) => onDemand.has(podKey(pod))),
      ];

/** Moves the pods of gangs to the end, in the order of the gangs, because they must not take room from ordinary pods. */
export function gangsLast<T extends Entry>(entries: readonly T[], gangOf: ReadonlyMap<string, number>): readonly T[] {
  if (gangOf.size === 0) return entries;
  const turnOf = ({ pod }: T): number => gangOf.get(podKey(pod)) ?? -1;
  return entries.toSorted((a, b) => turnOf(a) - turnOf(b));
}

/** Moves pods to the end whose domain other new nodes can make impossible, because DaemonSets start pods on these nodes. */
export function afterDaemons(entries: readonly Entry[], topology: Topology): readonly Entry[] {
  const yielding = entries.filter(({ podClass }) => topology.yieldsToDaemons(podClass));
  if (yielding.length === 0) return entries;
  const later = new Set(yielding);
  return [...entries.filter((entry) => !later.has(entry)), ...yielding];
}

/** Moves pods that an earlier solve did not reach to the front, so that they do not starve in a large cluster. */
export function leftOverFirst<T extends { readonly pod: EnginePod }>(
  sorted: readonly T[],
  first: readonly string[],
): readonly T[] {
  if (first.length === 0) return sorted;
  const leftOver = new Set(first);
  const goesFirst = ({ pod }: T): boolean => leftOver.has(podKey(pod));
  return [...sorted.filter(goesFirst), ...sorted.filter((entry) => !goesFirst(entry))];
}

/**
 * Pods that share claims without an allocation. If the devices of a claim belong to one node, all its pods must run there. So the
 * pods are placed one after the other, and the first pod takes a node only if the other pods fit on the same node.
 */
import { connected } from '#lib';
import type { ClaimVariation } from '../dra/claim-states.ts';
import type { Entry } from './admission.ts';
import type { PodClass } from './pod-class.ts';

/** Maximum number of pods that are considered together. This is the maximum number of consumers of a claim. */
const MOST_MATES = 256;

const NONE: readonly PodClass[] = [];

/** Returns the ids of the claims of a pod that are not allocated and that other pods can use. */
export function sharedClaims({ devices }: PodClass, variation: ClaimVariation): readonly string[] {
  const shared = (devices?.claims ?? []).filter(({ isPrivate }) => !isPrivate);
  return shared.map(({ claim }) => variation.stateOf(claim)).flatMap((state) => (state.allocated ? [] : state.id));
}

export class ClaimUnits {
  readonly #units = new Map<Entry['pod'], readonly Entry[]>();

  constructor(entries: readonly Entry[], variation: ClaimVariation | undefined) {
    if (variation === undefined) return;
    const ids = new Map<Entry, readonly string[]>();
    for (const entry of entries) {
      const own = sharedClaims(entry.podClass, variation);
      if (own.length > 0) ids.set(entry, own);
    }
    const unitOf = new Map(connected([...ids.values()]).flatMap((unit) => unit.map((id) => [id, unit] as const)));
    for (const unit of Map.groupBy(ids.keys(), (entry) => unitOf.get(ids.get(entry)?.[0] ?? '')).values())
      if (unit.length > 1) for (const { pod } of unit) this.#units.set(pod, unit);
  }

  /** Returns the entries with the pods of each unit next to each other. */
  ordered<T extends Entry>(entries: readonly T[]): readonly T[] {
    if (this.#units.size === 0) return entries;
    const byUnit = Map.groupBy(entries, (entry) => this.#units.get(entry.pod) ?? entry);
    return [...byUnit.values()].flat();
  }

  /** Returns the classes of the pods that follow a pod in its unit. */
  matesOf(pod: Entry['pod']): readonly PodClass[] {
    const unit = this.#units.get(pod);
    if (unit === undefined) return NONE;
    const at = unit.findIndex((entry) => entry.pod === pod);
    return unit.slice(at + 1, at + MOST_MATES).map(({ podClass }) => podClass);
  }
}

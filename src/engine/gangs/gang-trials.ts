/** Tries the gangs of a solve one after the other, and removes the pods of gangs that find no room. */
import type { EnginePod } from '../input.ts';
import type { PodRefusal } from '../model.ts';
import type { Entry } from '../solver/admission.ts';
import type { Scheduler } from '../solver/scheduler.ts';
import { type Gang, keysOf, missingPods } from './gang.ts';
import { type GangTrial, gangRefusal, shortageOf } from './gang-plan.ts';

/** Pods of a gang in one domain. */
export interface GangEntries {
  readonly pods: readonly EnginePod[];
  /** Pods that can be placed, in order of trial. */
  readonly entries: readonly Entry[];
  /** Number of other pods that have room on nodes that were launched for them. */
  readonly launched: number;
  /** Refusal of a pod that cannot be placed anywhere. */
  readonly refusal: PodRefusal | undefined;
}

interface TrialParts {
  readonly scheduler: Scheduler;
  /** Pods that get nodes of the smallest types. */
  readonly smallest: Set<string>;
  readonly place: (entry: Entry) => PodRefusal | 'late' | undefined;
  readonly isLate: () => boolean;
  /** Adds the cause to the refusal of a pod. Called before the placed pods of its gang are removed. */
  readonly explained: (pod: EnginePod, refusal: PodRefusal) => PodRefusal;
}

/** Maximum number of refusals with a cause. */
const MOST_EXPLAINED = 10;

interface Attempt {
  readonly placed: number;
  readonly isComplete: boolean;
  readonly refusal: PodRefusal | undefined;
  readonly usdPerHour: number;
}

export class GangTrials {
  readonly #parts: TrialParts;
  /** Results of gangs without room. Room only shrinks, so equal gangs are refused as well. */
  readonly #refused = new Map<string, Attempt>();
  #lastRefused: Attempt | undefined;
  #explained = 0;

  constructor(parts: TrialParts) {
    this.#parts = parts;
  }

  /** @param alternatives pods of the gang in each of its domains */
  try(gang: Gang, alternatives: readonly GangEntries[]): GangTrial {
    if (this.#parts.isLate()) return { gang };
    if (alternatives.length === 0) {
      const text = `gang ${gang.name}: no node or NodePool has the label ${gang.topologyKey}`;
      return { gang, refusal: { code: 'gang', text } };
    }
    const identity = JSON.stringify([
      missingPods(gang),
      alternatives.map(({ entries, launched }) => [launched, identityOf(entries)]),
    ]);
    const known = this.#refused.get(identity);
    if (known !== undefined) return refusedTrial(gang, known);
    // nodes of any size come first, because they cost less
    const found = this.#tryIn(gang, alternatives) ?? this.#trySmallest(gang, alternatives);
    if (found !== undefined) return found;
    const attempt = this.#lastRefused;
    if (attempt === undefined) return { gang };
    this.#refused.set(identity, attempt);
    return refusedTrial(gang, attempt);
  }

  #tryIn(gang: Gang, alternatives: readonly GangEntries[]): GangTrial | undefined {
    const [only, ...others] = alternatives;
    const best = others.length === 0 ? only : this.#cheapest(gang, alternatives);
    if (best === undefined) return undefined;
    const attempt = this.#attempt(gang, best, true);
    if (attempt.isComplete) return { gang, pods: best.pods };
    this.#lastRefused = attempt;
    return undefined;
  }

  /** Tries the gang on nodes of the smallest types, because limits count the largest type of each planned node. */
  #trySmallest(gang: Gang, alternatives: readonly GangEntries[]): GangTrial | undefined {
    const { scheduler, smallest } = this.#parts;
    if (!scheduler.hasLimits) return undefined;
    for (const key of keysOf(gang)) smallest.add(key);
    const found = this.#tryIn(gang, alternatives);
    if (found !== undefined) return { ...found, isSmall: true };
    for (const key of keysOf(gang)) smallest.delete(key);
    return undefined;
  }

  /** Returns the domain with the lowest price that holds the gang, or the domain with the most room. */
  #cheapest(gang: Gang, alternatives: readonly GangEntries[]): GangEntries | undefined {
    const attempts = alternatives.map((each) => ({ each, ...this.#attempt(gang, each, false) }));
    const [best] = attempts.toSorted(
      (a, b) =>
        Number(b.isComplete) - Number(a.isComplete) ||
        (a.isComplete ? a.usdPerHour - b.usdPerHour : b.placed - a.placed),
    );
    return best?.each;
  }

  /** Places the pods of a gang. They stay placed only if the gang is complete and is meant to stay. */
  #attempt(gang: Gang, { entries, launched, refusal: first }: GangEntries, stays: boolean): Attempt {
    const { scheduler, explained } = this.#parts;
    let attempt: Attempt = { placed: 0, isComplete: false, refusal: first, usdPerHour: 0 };
    scheduler.attempt(() => {
      const { placed: found, refused: pod, refusal } = this.#placeAll(entries);
      const placed = found + launched;
      const isComplete = placed >= missingPods(gang);
      const isExplained = !isComplete && stays && pod !== undefined && this.#explained++ < MOST_EXPLAINED;
      attempt = {
        placed,
        isComplete,
        refusal: refusal && isExplained ? explained(pod, refusal) : (refusal ?? first),
        usdPerHour: scheduler.usdPerHour,
      };
      return isComplete && stays;
    });
    return attempt;
  }

  /** Tries refused pods again while other pods find a place, because pods of a gang can depend on each other. */
  #placeAll(entries: readonly Entry[]): {
    readonly placed: number;
    readonly refused: EnginePod | undefined;
    readonly refusal: PodRefusal | undefined;
  } {
    let placed = 0;
    let last: { readonly pod: EnginePod; readonly refusal: PodRefusal } | undefined;
    for (let open = entries; open.length > 0; ) {
      const refusedClasses = new Set<Entry['podClass']>();
      const again: Entry[] = [];
      for (const entry of open) {
        const refusal = refusedClasses.has(entry.podClass) ? 'alike' : this.#parts.place(entry);
        if (refusal === undefined) {
          placed++;
          continue;
        }
        again.push(entry);
        if (refusal === 'late' || refusal === 'alike') continue;
        refusedClasses.add(entry.podClass);
        last = { pod: entry.pod, refusal };
      }
      if (again.length === open.length) break;
      open = again;
    }
    return { placed, refused: last?.pod, refusal: last?.refusal };
  }
}

const identityOf = (entries: readonly Entry[]): string => {
  const counts = Map.groupBy(entries, ({ podClass }) => podClass.id);
  return [...counts].map(([id, { length }]) => `${id}:${length}`).join();
};

const refusedTrial = (gang: Gang, { placed, refusal }: Attempt): GangTrial =>
  refusal === undefined ? { gang } : { gang, refusal: gangRefusal(refusal, shortageOf(gang, placed)) };

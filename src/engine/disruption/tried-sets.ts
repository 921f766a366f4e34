/**
 * Sets of nodes that a search recently evaluated without success. The search skips them instead of evaluating them again every
 * ten seconds.
 */

import { remembering } from '#lib';
import type { EnginePod } from '../input.ts';
import type { Candidate } from './command.ts';

/**
 * Maximum age of an entry. Prices and the rest of the cluster change, so a set may become worthwhile although its nodes did not
 * change.
 */
const KNOWN_FOR_MS = 5 * 60_000;

const MOST_SETS = 10_000;

interface Tried {
  /** Pods that ran on the nodes. */
  readonly pods: string;
  readonly untilMs: number;
}

export class TriedSets {
  readonly #knownForMs: number;
  readonly #sets = new Map<string, Tried>();

  constructor(knownForMs = KNOWN_FOR_MS) {
    this.#knownForMs = knownForMs;
  }

  /** Returns true if the set was recently evaluated without success and still has the same pods. */
  has(candidates: readonly Candidate[], nowMs: number): boolean {
    const tried = this.#sets.get(nameOf(candidates));
    return tried !== undefined && nowMs < tried.untilMs && tried.pods === podsOf(candidates);
  }

  add(candidates: readonly Candidate[], nowMs: number): void {
    if (this.#sets.size >= MOST_SETS) this.#forget(nowMs);
    this.#sets.set(nameOf(candidates), { pods: podsOf(candidates), untilMs: nowMs + this.#knownForMs });
  }

  #forget(nowMs: number): void {
    for (const [name, { untilMs }] of this.#sets) if (untilMs <= nowMs) this.#sets.delete(name);
    if (this.#sets.size >= MOST_SETS) this.#sets.clear();
  }
}

const nameOf = (candidates: readonly Candidate[]): string => candidates.map(({ providerId }) => providerId).join(' ');

const podsOf = (candidates: readonly Candidate[]): string =>
  candidates.map(({ reschedulablePods }) => uidsOf(reschedulablePods)).join(' ');

const uidsOf = remembering((pods: readonly EnginePod[]): string => pods.map(({ metadata }) => metadata.uid).join());

/** Choice among NodePools of equal weight. */
import type { PodClass } from './pod-class.ts';

/** NodePools of one weight that accept a pod: the cheapest ones, or the more expensive ones. */
export interface PoolGroup {
  /** Positions in the order of trial. The more expensive NodePools are sorted by price. */
  readonly pools: readonly number[];
  readonly isMoreExpensive: boolean;
}

export interface PoolPreference {
  /** Returns the NodePools in groups, highest weight first. Returns undefined if the order of trial applies. */
  of(podClass: PodClass): readonly PoolGroup[] | undefined;
}

/** Uses the order of trial, by weight and then by name. */
export const BY_NAME: PoolPreference = { of: () => undefined };

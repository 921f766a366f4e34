/** What all scores have in common. */
import type { Pod } from '../../../../api/kubernetes.ts';
import type { ClusterView, NodeView } from '../view.ts';

/** Rates nodes from 0 to 100, in whole numbers; undefined if all nodes are rated the same. */
export type Score = (pod: Pod, cluster: ClusterView, nodes: readonly NodeView[]) => readonly number[] | undefined;

export const BEST = 100;

/** Scales ratings from 0 to their maximum to 0 to 100. */
export function normalized(raw: readonly number[]): readonly number[] {
  const most = maximum(raw);
  return most === 0 ? raw : raw.map((one) => Math.floor((BEST * one) / most));
}

/** A loop, because a call with one argument per node of a large cluster would exceed the stack. */
export const maximum = (numbers: readonly number[]): number =>
  numbers.reduce((most, one) => (one > most ? one : most), 0);

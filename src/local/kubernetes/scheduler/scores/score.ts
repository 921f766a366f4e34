/** Common parts of all scores. */
import type { Pod } from '#api/objects';
import type { ClusterView, NodeView } from '../view.ts';

/** Scores nodes from 0 to 100, as integers. Returns undefined if all nodes have the same score. */
export type Score = (pod: Pod, cluster: ClusterView, nodes: readonly NodeView[]) => readonly number[] | undefined;

export const BEST = 100;

/** Scales scores so that their maximum is 100. */
export function normalizeScores(raw: readonly number[]): readonly number[] {
  const most = maximum(raw);
  return most === 0 ? raw : raw.map((one) => Math.floor((BEST * one) / most));
}

/** Uses a loop, because a call with one argument per node of a large cluster would exceed the stack. */
export const maximum = (numbers: readonly number[]): number =>
  numbers.reduce((most, one) => (one > most ? one : most), 0);

/** What goes between the operator and its solver's thread. All of it can be cloned. */
import type { Plan, SolveOptions } from '../engine/model.ts';
import type { SnapshotFrame } from './enginemessages.ts';

/** To be solved: the snapshot that the lists come to now. */
export interface SolveMessage {
  readonly kind: 'solve';
  readonly job: number;
  readonly frame: SnapshotFrame;
  readonly options: Omit<SolveOptions, 'elapsedMs' | 'working'>;
}

export interface SolveAnswer {
  readonly job: number;
  readonly plan: Plan;
}

/** What goes to and from every thread of the engine's, whatever it is asked. All of it can be cloned. */
import type { NodePool } from '../api/nodepool.ts';
import type { Snapshot } from '../engine/model.ts';
import type { CopyMessage } from './copies.ts';
import type { TypesMessage } from './instance-type-lists.ts';

/** The lists of a snapshot of which a thread keeps copies. */
export const COPIED = [
  'nodes',
  'pendingPods',
  'daemonPods',
  'namespaces',
  'podDisruptionBudgets',
  'persistentVolumeClaims',
  'persistentVolumes',
  'storageClasses',
] as const;
export type CopiedName = (typeof COPIED)[number];

/** A NodePool with the number that its list of instance types goes by. */
export interface NumberedPool {
  readonly nodePool: NodePool;
  readonly types: number;
}

/** What of a snapshot is small enough to go over each time. */
export interface SnapshotFrame {
  readonly rest: Omit<Snapshot, CopiedName | 'pools'>;
  readonly pools: readonly NumberedPool[];
}

/** What a thread is to hold from now on. */
export type HoldMessage = CopyMessage | TypesMessage;

/** An answer instead of what was asked for. */
export interface Failure {
  readonly job: number;
  readonly error: string;
}

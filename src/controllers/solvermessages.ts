/** What goes between the operator and its solver's thread. All of it can be cloned. */
import type { NodePool } from '../api/nodepool.ts';
import type { InstanceType, Plan, Snapshot, SolveOptions } from '../engine/model.ts';
import type { CopyMessage } from './copies.ts';

/** The lists of a snapshot of which the thread keeps copies. */
export const COPIED = [
  'nodes',
  'pendingPods',
  'daemonPods',
  'namespaces',
  'persistentVolumeClaims',
  'persistentVolumes',
  'storageClasses',
] as const;
export type CopiedName = (typeof COPIED)[number];

/** To be solved: the snapshot that the lists come to now. */
export interface SolveRequest {
  readonly kind: 'solve';
  readonly job: number;
  /** The snapshot without what is copied. */
  readonly rest: Omit<Snapshot, CopiedName | 'pools'>;
  readonly pools: readonly { readonly nodePool: NodePool; readonly types: number }[];
  readonly options: Omit<SolveOptions, 'elapsedMs'>;
}

export type Message =
  | CopyMessage
  | { readonly kind: 'types'; readonly id: number; readonly types: readonly InstanceType[] }
  | { readonly kind: 'forget'; readonly id: number }
  | SolveRequest;

export type Answer = { readonly job: number; readonly plan: Plan } | { readonly job: number; readonly error: string };

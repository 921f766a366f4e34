/** What goes between the operator and its solver's thread. All of it can be cloned. */
import type { NodePool } from '../api/nodepool.ts';
import type { InstanceType, Plan, Snapshot, SolveOptions } from '../engine/model.ts';

export interface SolveRequest {
  readonly kind: 'solve';
  readonly job: number;
  /** The snapshot without what went ahead in parts. */
  readonly rest: Omit<Snapshot, 'pools' | 'nodes' | 'pendingPods'>;
  readonly pools: readonly { readonly nodePool: NodePool; readonly types: number }[];
  readonly options: Omit<SolveOptions, 'elapsedMs'>;
}

export type Part =
  | { readonly kind: 'types'; readonly id: number; readonly types: readonly InstanceType[] }
  | { readonly kind: 'forget'; readonly id: number }
  | { readonly kind: 'pods'; readonly job: number; readonly pods: Snapshot['pendingPods'] }
  | { readonly kind: 'nodes'; readonly job: number; readonly nodes: Snapshot['nodes'] }
  | SolveRequest;

export type Answer = { readonly job: number; readonly plan: Plan } | { readonly job: number; readonly error: string };

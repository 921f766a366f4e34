/** Result of a simulated removal of nodes for the pods. */
import type { Plan, PlannedClaim, PoolInput, SolveOptions } from '../../model.ts';
import type { DeclineCode, Reason } from '../reasons.ts';

export interface SimulationOptions {
  /** If true, pods do not move to nodes within the `consolidateAfter` window of their NodePool. */
  readonly sparesQuietNodes: boolean;
  /**
   * Stops the simulation if more new nodes than this are needed. In this case, `claims` has more entries, and the rest of the
   * result is meaningless.
   */
  readonly mostClaims?: number;
  /** Packing of new nodes. Default: as in Karpenter. */
  readonly packing?: SolveOptions['packing'];
  readonly packingWork?: number;
  readonly packingLimit?: SolveOptions['packingLimit'];
}

export interface Simulation {
  /** Nodes that must be launched. */
  readonly claims: readonly PlannedClaim[];
  readonly plan: Plan;
  /** NodePools that can launch nodes. */
  readonly pools: readonly PoolInput[];
  /** Running pods that would not find a node, with the reason. */
  readonly stranded: ReadonlyMap<string, string>;
}

/** Returns the reason why a node must stay for its running pods. */
export function strandedReason(stranded: ReadonlyMap<string, string>): Reason<DeclineCode> {
  const [first] = [...stranded.keys()];
  const [namespace = '', name = ''] = (first ?? '').split('/');
  return {
    code: 'pods-stranded',
    text: strandedText(stranded),
    object: { kind: 'Pod', namespace, name },
    nearestMiss: `${stranded.size} pod(s) could not be scheduled`,
  };
}

const SHOWN = 5;

/** Returns the first few stranded pods, for events. */
export function strandedText(stranded: ReadonlyMap<string, string>): string {
  const shown = [...stranded].slice(0, SHOWN).map(([key, text]) => `${key} => ${text}`);
  const more = stranded.size > SHOWN ? ` and ${stranded.size - SHOWN} other(s)` : '';
  return `not all pods would schedule, ${shown.join('; ')}${more}`;
}

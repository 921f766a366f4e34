/** What would happen to the pods if some nodes were gone. */
import type { Plan, PlannedClaim, PoolInput, SolveOptions } from '../../model.ts';
import type { DeclineCode, Reason } from '../reasons.ts';

export interface SimulationOptions {
  /** Keep pods from being moved onto nodes that are within their pool's `consolidateAfter` window. */
  readonly sparesQuietNodes: boolean;
  /** Stop when more new nodes than these would be needed: `claims` then has more, and says nothing else. */
  readonly mostClaims?: number;
  /** How new nodes are filled; as Karpenter does when left out. */
  readonly packing?: SolveOptions['packing'];
  readonly packingWork?: number;
  readonly packingLimit?: SolveOptions['packingLimit'];
}

export interface Simulation {
  /** The nodes that would have to be bought. */
  readonly claims: readonly PlannedClaim[];
  readonly plan: Plan;
  /** What could be bought. */
  readonly pools: readonly PoolInput[];
  /** Pods that run now and would not find a place, with the reason. */
  readonly stranded: ReadonlyMap<string, string>;
}

/** Why a node must stay for the pods that run now. */
export function strandedReason(stranded: ReadonlyMap<string, string>): Reason<DeclineCode> {
  const [first] = [...stranded.keys()];
  const [namespace = '', name = ''] = (first ?? '').split('/');
  return {
    code: 'pods-stranded',
    text: strandedText(stranded),
    object: { kind: 'Pod', namespace, name },
    nearestMiss: `${stranded.size} pod(s) would find no place`,
  };
}

const SHOWN = 5;

/** For events: the first few pods that would be stranded. */
export function strandedText(stranded: ReadonlyMap<string, string>): string {
  const shown = [...stranded].slice(0, SHOWN).map(([key, text]) => `${key} => ${text}`);
  const more = stranded.size > SHOWN ? ` and ${stranded.size - SHOWN} other(s)` : '';
  return `not all pods would schedule, ${shown.join('; ')}${more}`;
}

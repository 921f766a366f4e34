/** Replaces nodes that have drifted from their NodePool or NodeClass, one at a time. */
import { getCondition, isTrue } from '#api/objects';
import { timeOf } from '#lib';
import { awaitsMaintenance } from '../../maintenance.ts';
import type { Candidate } from '../command.ts';
import { fitsBudgets, unitOf, withGang } from '../gang-nodes.ts';
import {
  type DisruptionEvent,
  declined,
  type Method,
  type MethodInput,
  type MethodResult,
  overBudget,
  refusalBy,
} from '../method.ts';
import type { DeclineCode, Reason } from '../reasons.ts';
import { rolloutRoom } from '../rollout/rollout.ts';
import { strandedReason } from '../simulations/simulation.ts';

export const drift: Method = {
  name: 'drift',
  reason: 'Drifted',
  class: 'eventual',
  consolidationType: '',
  evaluates: 'nodes',
  isSearch: true,
  filter: ({ nodePool, nodeClaim }) =>
    refusalBy([
      [nodePool.spec.replicas === undefined, declined('static-pool', 'its NodePool has a fixed number of nodes')],
      [isTrue(nodeClaim, 'Drifted'), declined('not-drifted', 'the node matches its NodePool and NodeClass')],
    ]),
  decide,
};

const driftedMs = ({ nodeClaim }: Candidate): number =>
  timeOf(getCondition(nodeClaim, 'Drifted')?.lastTransitionTime) || 0;

/** Sorts nodes before maintenance first, then nodes without pods to move, then by time of drift, earliest first. */
function inOrder(candidates: readonly Candidate[]): readonly Candidate[] {
  const rank = ({ node, reschedulablePods }: Candidate): number =>
    (awaitsMaintenance(node) ? 0 : 2) + (reschedulablePods.length === 0 ? 0 : 1);
  return [...candidates].sort((a, b) => rank(a) - rank(b) || driftedMs(a) - driftedMs(b) || (a.name < b.name ? -1 : 1));
}

/** Returns the budgets within the rooms of the rollouts. */
const withinRollouts = (candidates: readonly Candidate[], budgets: MethodInput['budgets']): MethodInput['budgets'] =>
  new Map([
    ...budgets,
    ...candidates.map(({ nodePool }) => {
      const { name } = nodePool.metadata;
      return [name, Math.min(budgets.get(name) ?? 0, rolloutRoom(nodePool, 'Drifted'))] as const;
    }),
  ]);

async function decide({ candidates, budgets, gangs, simulate }: MethodInput): Promise<MethodResult> {
  const events: DisruptionEvent[] = [];
  const reasons = new Map<string, Reason<DeclineCode>>();
  const allowed = withinRollouts(candidates, budgets);
  for (const candidate of inOrder(candidates)) {
    const unit = unitOf(candidate, gangs);
    const fixed = unit.length === 1 ? undefined : unit.find(({ nodePool }) => nodePool.spec.replicas !== undefined);
    if (fixed !== undefined) {
      const why = `a part of it runs in NodePool ${fixed.nodePool.metadata.name}, which has a fixed number of nodes`;
      reasons.set(candidate.providerId, withGang(candidate, gangs, why));
      continue;
    }
    if (!fitsBudgets(unit, allowed)) {
      reasons.set(candidate.providerId, overBudget(candidate, 'Drifted', gangs));
      continue;
    }
    const simulation = await simulate(unit, { sparesQuietNodes: false });
    if (simulation === undefined) continue;
    if (simulation.stranded.size > 0) {
      const reason = strandedReason(simulation.stranded);
      reasons.set(candidate.providerId, reason);
      events.push({ kind: 'DisruptionBlocked', candidate, message: reason.text });
      continue;
    }
    const { claims, plan } = simulation;
    return {
      commands: [{ reason: 'Drifted', candidates: unit, replacements: claims, plan }],
      exhausted: false,
      events,
      reasons,
    };
  }
  return { commands: [], exhausted: false, events, reasons };
}

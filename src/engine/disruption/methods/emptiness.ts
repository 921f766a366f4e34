/** Removes nodes without pods that need another node. */
import { isTrue } from '#api/objects';
import { NEVER } from '#api/values';
import { consolidateAfterOf } from '../candidates/consolidate-after.ts';
import { bySavings, type Candidate, type Command, isEmpty } from '../command.ts';
import {
  declined,
  type Method,
  type MethodInput,
  type MethodResult,
  overBudgets,
  refusalBy,
  unconsolidatable,
  VALIDATION_DELAY_MS,
  type Validated,
  withinBudgets,
} from '../method.ts';

export const emptiness: Method = {
  name: 'emptiness',
  reason: 'Empty',
  class: 'graceful',
  consolidationType: 'empty',
  evaluates: 'nodes',
  validateAfterMs: VALIDATION_DELAY_MS,
  abandoned: 'abandoning empty node consolidation attempt due to pod churn, command is no longer valid',
  filter,
  decide,
  validate,
};

function filter(candidate: Candidate): ReturnType<Method['filter']> {
  const { nodePool, nodeClaim, stateNode, name } = candidate;
  const { replicas } = nodePool.spec;
  const disabled = `NodePool "${nodePool.metadata.name}" has consolidation disabled`;
  return refusalBy([
    [replicas === undefined, declined('static-pool', 'its NodePool has a fixed number of nodes')],
    [consolidateAfterOf(nodePool) !== NEVER, unconsolidatable('consolidation-disabled', disabled)],
    [stateNode.bufferPods === 0, unconsolidatable('buffer-pods', `Node "${name}" has buffer pods`)],
    [isEmpty(candidate), declined('not-empty', 'the node has pods that must be rescheduled')],
    [isTrue(nodeClaim, 'Consolidatable'), declined('not-consolidatable', 'its NodeClaim is not Consolidatable yet')],
  ]);
}

async function decide({ candidates, budgets, gangs }: MethodInput): Promise<MethodResult> {
  const { taken, skipped, constrained } = withinBudgets(bySavings(candidates), budgets, gangs);
  const reasons = overBudgets(skipped, 'Empty', gangs);
  if (taken.length === 0) return { commands: [], exhausted: !constrained, events: [], reasons };
  const command: Command = { reason: 'Empty', candidates: taken, replacements: [] };
  return { commands: [command], exhausted: false, events: [], reasons };
}

/** Keeps the candidates that are still empty, are not nominated, and are within the current budgets. */
async function validate(command: Command, { candidates, budgets, gangs, nowMs }: MethodInput): Promise<Validated> {
  const proposed = new Set(command.candidates.map(({ name }) => name));
  const still = candidates.filter(({ name }) => proposed.has(name));
  if (still.length === 0) {
    const text = `${proposed.size} candidates are no longer valid`;
    return { failure: { category: 'churn', text, failed: proposed.size }, dropped: 0 };
  }
  const quiet = still.filter(({ stateNode }) => stateNode.nominatedUntilMs <= nowMs);
  const { taken } = withinBudgets(quiet, budgets, gangs);
  const dropped = still.length - taken.length;
  if (taken.length > 0) return { command: { ...command, candidates: taken }, dropped };
  const text = 'a candidate can no longer be disrupted without violating budgets';
  return { failure: { category: 'budget', text, failed: 0 }, dropped };
}

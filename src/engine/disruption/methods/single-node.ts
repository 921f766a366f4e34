/** Removes or replaces one node at a time. */

import { messageOf } from '#lib';
import { bySavings, type Candidate, type Command, savingsText, shortText } from '../command.ts';
import { unitOf, withGang } from '../gang-nodes.ts';
import {
  type DisruptionEvent,
  type Method,
  type MethodInput,
  type MethodResult,
  overBudget,
  VALIDATION_DELAY_MS,
  type Validated,
} from '../method.ts';
import { couldPass, deletionScore, type Evaluation, evaluate, isApproved, THRESHOLD } from '../pricing/balance.ts';
import { withWorth } from '../pricing/move-price.ts';
import type { DeclineCode, Reason } from '../reasons.ts';
import { type Consolidation, consolidate, consolidationFilter, validateConsolidation } from './consolidation.ts';

type Failures = { readonly node: string; readonly error: string }[];

const TIMEOUT_MS = 3 * 60_000;

export const singleNode: Method = {
  name: 'single-node consolidation',
  reason: 'Underutilized',
  class: 'graceful',
  consolidationType: 'single',
  evaluates: 'nodes',
  isSearch: true,
  validateAfterMs: VALIDATION_DELAY_MS,
  filter: consolidationFilter,
  decide,
  validate,
};

/**
 * Returns the candidates best first, but alternates between NodePools, so that a large NodePool does not starve smaller ones.
 * NodePools that an earlier search did not reach in time come first.
 */
function interleaved({ candidates, unseenPools: unseen, committed }: MethodInput): readonly Candidate[] {
  const groups = Map.groupBy(bySavings(candidates, committed), ({ nodePool }) => nodePool.metadata.name);
  const names = [...groups.keys()].sort();
  const order = [...names.filter((name) => unseen.has(name)), ...names.filter((name) => !unseen.has(name))];
  const longest = Math.max(0, ...[...groups.values()].map(({ length }) => length));
  return Array.from({ length: longest }, (_, at) => order.flatMap((name) => groups.get(name)?.[at] ?? [])).flat();
}

async function decide(input: MethodInput): Promise<MethodResult> {
  const { candidates, budgets, elapsedMs, gangs } = input;
  const events: DisruptionEvent[] = [];
  const evaluations: Evaluation[] = [];
  const reasons = new Map<string, Reason<DeclineCode>>();
  const failures: Failures = [];
  const unseen = new Set(candidates.map(({ nodePool }) => nodePool.metadata.name));
  let constrained = false;
  let evaluated = 0;
  for (const candidate of interleaved(input)) {
    if (elapsedMs() > TIMEOUT_MS) {
      const message = 'abandoning single-node consolidation due to timeout';
      const timeout = { message, fields: { candidates_evaluated: evaluated } };
      return { commands: [], exhausted: false, timeout, unseenPools: unseen, events, evaluations, reasons, failures };
    }
    unseen.delete(candidate.nodePool.metadata.name);
    if ((budgets.get(candidate.nodePool.metadata.name) ?? 0) === 0) {
      constrained = true;
      reasons.set(candidate.providerId, overBudget(candidate, 'Underutilized'));
      continue;
    }
    if (unitOf(candidate, gangs).length > 1) {
      reasons.set(candidate.providerId, withGang(candidate, gangs, 'a command for one node does not move it'));
      continue;
    }
    if (!couldPass(candidate, input)) {
      reasons.set(candidate.providerId, unbalanced(deletionScore(candidate, input)));
      continue;
    }
    evaluated += 1;
    const { command, reason, events: more } = await attempt(candidate, input, failures);
    events.push(...more);
    if (reason !== undefined) reasons.set(candidate.providerId, reason);
    if (command === undefined) continue;
    const views = evaluate(command, input);
    evaluations.push(...views);
    if (!isApproved(views)) {
      reasons.set(candidate.providerId, unbalanced(views[0]?.score));
      continue;
    }
    const priced = withWorth(command, input);
    if ('code' in priced) {
      reasons.set(candidate.providerId, priced);
      continue;
    }
    events.push(...approvals(views, candidate));
    return { commands: [priced], exhausted: false, unseenPools: unseen, events, evaluations, reasons, failures };
  }
  return { commands: [], exhausted: !constrained, unseenPools: new Set(), events, evaluations, reasons, failures };
}

/** Evaluates one node. An error for one node must not prevent the evaluation of the remaining nodes. */
async function attempt(candidate: Candidate, input: MethodInput, failures: Failures): Promise<Consolidation> {
  try {
    return await consolidate([candidate], input);
  } catch (error) {
    failures.push({ node: candidate.name, error: messageOf(error) });
    return {
      reason: { code: 'failed', text: 'the evaluation of the node failed; see the error in the log' },
      events: [],
    };
  }
}

const unbalanced = (score = 0): Reason<DeclineCode> => ({
  code: 'unbalanced',
  text: 'the savings are too small for the disruption under the Balanced policy of its NodePool',
  nearestMiss: `score ${score.toFixed(2)}, at least ${THRESHOLD.toFixed(2)} needed`,
});

const approvals = (views: readonly Evaluation[], candidate: Candidate): readonly DisruptionEvent[] =>
  views
    .filter(({ score }) => score !== undefined)
    .map(({ text }) => ({ kind: 'ConsolidationApproved', candidate, message: text }));

async function validate(command: Command, later: MethodInput): Promise<Validated> {
  const validated = await validateConsolidation(command, later);
  const { failure } = validated;
  if (failure === undefined) return validated;
  const text = shortText(command);
  const message = `Consolidation rejected: ${text}, reason: ${failure.category} ${savingsText(command)}`;
  const events = command.candidates.map(
    (candidate): DisruptionEvent => ({
      kind: 'ConsolidationRejected',
      candidate,
      message,
      dedupe: [text, failure.category],
    }),
  );
  return { ...validated, events };
}

/** Metrics of voluntary disruption. */

import type { Allowance } from '../../engine/disruption/budgets/budgets.ts';
import { type Command, decisionOf } from '../../engine/disruption/command.ts';
import type { Method, MethodResult } from '../../engine/disruption/method.ts';
import { isApproved } from '../../engine/disruption/pricing/balance.ts';
import type { DisruptionReason } from '../../engine/disruption/reasons.ts';
import type { Metrics } from '../../observe/metrics.ts';
import type { Move } from './moves.ts';

const REASONS: readonly DisruptionReason[] = ['Underutilized', 'Empty', 'Drifted'];
const PREFIX = 'voluntary_disruption';
const SCORES = [0.1, 0.25, 0.33, 0.5, 1, 2, 5, 10];

export function observeEvaluation(metrics: Metrics, method: Method, seconds: number): void {
  metrics
    .histogram(`${PREFIX}_decision_evaluation_duration_seconds`, 'Duration of one run of a disruption method', [
      'reason',
      'consolidation_type',
    ])
    .observe({ reason: method.reason.toLowerCase(), consolidation_type: method.consolidationType }, seconds);
}

export function setEligible(metrics: Metrics, method: Method, count: number): void {
  metrics
    .gauge(`${PREFIX}_eligible_nodes`, 'Nodes that a disruption method may take', ['reason'])
    .set({ reason: method.reason.toLowerCase() }, count);
}

const allowed = (metrics: Metrics) =>
  metrics.gauge('nodepools_allowed_disruptions', 'Nodes that the budgets of a NodePool let go at a time', [
    'nodepool',
    'reason',
  ]);

const consuming = (metrics: Metrics) =>
  metrics.gauge(
    'nodepools_nodes_consuming_budgets',
    'Nodes of a NodePool that are away and count against its budgets',
    ['nodepool', 'reason'],
  );

export function setAllowance(metrics: Metrics, nodepool: string, reason: DisruptionReason, allowance: Allowance): void {
  allowed(metrics).set({ nodepool, reason }, allowance.allowed);
  consuming(metrics).set({ nodepool, reason }, allowance.disrupting);
}

/** Takes back what is shown of a NodePool that is gone. */
export function forgetAllowances(metrics: Metrics, nodepool: string): void {
  for (const reason of REASONS) {
    allowed(metrics).remove({ nodepool, reason });
    consuming(metrics).remove({ nodepool, reason });
  }
}

export function countDecision(metrics: Metrics, command: Command, method: Method): void {
  const labels = {
    decision: decisionOf(command),
    reason: command.reason.toLowerCase(),
    consolidation_type: method.consolidationType,
  };
  const names = ['decision', 'reason', 'consolidation_type'];
  metrics.counter(`${PREFIX}_decisions_total`, 'Disruption commands started', names).inc(labels);
  const byPool = metrics.counter(
    `${PREFIX}_decisions_by_nodepool_total`,
    'Disruption commands started, once for each NodePool that they touch',
    ['nodepool', ...names],
  );
  for (const nodepool of new Set(command.candidates.map(({ nodePool }) => nodePool.metadata.name))) {
    byPool.inc({ nodepool, ...labels });
  }
}

export function countFailedValidations(metrics: Metrics, method: Method, count: number): void {
  if (count === 0) return;
  metrics
    .counter(`${PREFIX}_failed_validations_total`, 'Candidates of commands that no longer held when checked again', [
      'consolidation_type',
    ])
    .inc({ consolidation_type: method.consolidationType }, count);
}

/** Moves whose watch is over. */
export function countMove(metrics: Metrics, { decision, reason }: Move, outcome: 'kept' | 'undone'): void {
  metrics
    .counter(`${PREFIX}_moves_total`, 'Consolidations carried out, by whether they lasted for 30 minutes', [
      'decision',
      'reason',
      'outcome',
    ])
    .inc({ decision, reason: reason.toLowerCase(), outcome });
}

/** A gauge because what was realised may be negative. */
export function recordSavings(
  metrics: Metrics,
  { reason }: Move,
  savings: { readonly predicted: number; readonly realised: number },
): void {
  const usd = metrics.gauge(
    `${PREFIX}_savings_usd`,
    'Savings of consolidations in their first 30 minutes in USD, summed over those whose 30 minutes are over',
    ['kind', 'reason'],
  );
  for (const kind of ['predicted', 'realised'] as const) usd.inc({ kind, reason: reason.toLowerCase() }, savings[kind]);
}

const timeouts = (metrics: Metrics) =>
  metrics.counter(`${PREFIX}_consolidation_timeouts_total`, 'Consolidation searches that ran out of time', [
    'consolidation_type',
  ]);

export const countTimeout = (metrics: Metrics, { consolidationType }: Method): void =>
  timeouts(metrics).inc({ consolidation_type: consolidationType });

/** Series that exist from the start, so that their first increase shows. */
export function initTimeouts(metrics: Metrics): void {
  for (const consolidationType of ['multi', 'single'])
    timeouts(metrics).inc({ consolidation_type: consolidationType }, 0);
}

/**
 * Each pool's view of each move; scores exist under the Balanced policy alone. Single nodes are weighed one by one; what
 * other methods weigh is one move of several pools, which counts as rejected when one of them rejects it.
 */
export function observeEvaluations(metrics: Metrics, method: Method, { evaluations = [] }: MethodResult): void {
  const isOneMove = method.consolidationType !== 'single';
  const isRejected = isOneMove && !isApproved(evaluations);
  const names = ['decision', 'nodepool', 'policy'];
  const moves = metrics.counter('consolidation_moves_total', 'Consolidations weighed', names);
  const scores = metrics.histogram(
    'consolidation_score',
    'Savings for disruption under the Balanced policy',
    names,
    SCORES,
  );
  for (const { nodePool, policy, approved, score } of evaluations) {
    const labels = { decision: approved ? 'approved' : 'rejected', nodepool: nodePool.metadata.name, policy };
    moves.inc(isRejected ? { ...labels, decision: 'rejected' } : labels);
    if (score !== undefined) scores.observe(labels, score);
  }
}

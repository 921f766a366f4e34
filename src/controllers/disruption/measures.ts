/** Metrics of voluntary disruption. */

import {
  type Allowance,
  type Command,
  type DisruptionReason,
  decisionOf,
  isApproved,
  type Method,
  type MethodResult,
} from '#engine/disruption';
import {
  CONSOLIDATION_MOVES,
  CONSOLIDATION_SCORE,
  type Metrics,
  NODEPOOLS_ALLOWED_DISRUPTIONS,
  NODEPOOLS_NODES_CONSUMING_BUDGETS,
  VOLUNTARY_DISRUPTION_CONSOLIDATION_TIMEOUTS,
  VOLUNTARY_DISRUPTION_DECISION_EVALUATION_DURATION_SECONDS,
  VOLUNTARY_DISRUPTION_DECISIONS,
  VOLUNTARY_DISRUPTION_DECISIONS_BY_NODEPOOL,
  VOLUNTARY_DISRUPTION_ELIGIBLE_NODES,
  VOLUNTARY_DISRUPTION_FAILED_VALIDATIONS,
  VOLUNTARY_DISRUPTION_MOVES,
  VOLUNTARY_DISRUPTION_QUEUE_FAILURES,
  VOLUNTARY_DISRUPTION_SAVINGS_USD,
} from '#observe/metrics';
import { snakeCase } from '../text.ts';
import type { Move } from './moves.ts';

const REASONS: readonly DisruptionReason[] = ['Underutilized', 'Empty', 'Drifted'];

export function observeEvaluation(metrics: Metrics, method: Method, seconds: number): void {
  metrics
    .histogram(VOLUNTARY_DISRUPTION_DECISION_EVALUATION_DURATION_SECONDS)
    .observe({ reason: method.reason.toLowerCase(), consolidation_type: method.consolidationType }, seconds);
}

export function setEligible(metrics: Metrics, method: Method, count: number): void {
  metrics.gauge(VOLUNTARY_DISRUPTION_ELIGIBLE_NODES).set({ reason: method.reason.toLowerCase() }, count);
}

const allowedGauge = (metrics: Metrics) => metrics.gauge(NODEPOOLS_ALLOWED_DISRUPTIONS);

const consuming = (metrics: Metrics) => metrics.gauge(NODEPOOLS_NODES_CONSUMING_BUDGETS);

export function setAllowance(metrics: Metrics, nodepool: string, reason: DisruptionReason, allowance: Allowance): void {
  allowedGauge(metrics).set({ nodepool, reason }, allowance.allowed);
  consuming(metrics).set({ nodepool, reason }, allowance.disrupting);
}

/** Removes the series of a NodePool that no longer exists. */
export function forgetAllowances(metrics: Metrics, nodepool: string): void {
  for (const reason of REASONS) {
    allowedGauge(metrics).remove({ nodepool, reason });
    consuming(metrics).remove({ nodepool, reason });
  }
}

export function countDecision(metrics: Metrics, command: Command, method: Method): void {
  const labels = {
    decision: decisionOf(command),
    reason: command.reason.toLowerCase(),
    consolidation_type: method.consolidationType,
  };
  metrics.counter(VOLUNTARY_DISRUPTION_DECISIONS).inc(labels);
  const byPool = metrics.counter(VOLUNTARY_DISRUPTION_DECISIONS_BY_NODEPOOL);
  for (const nodepool of new Set(command.candidates.map(({ nodePool }) => nodePool.metadata.name))) {
    byPool.inc({ nodepool, ...labels });
  }
}

const failedValidations = (metrics: Metrics) => metrics.counter(VOLUNTARY_DISRUPTION_FAILED_VALIDATIONS);

export function countFailedValidations(metrics: Metrics, method: Method, count: number): void {
  if (count === 0) return;
  failedValidations(metrics).inc({ consolidation_type: method.consolidationType }, count);
}

const queueFailures = (metrics: Metrics) => metrics.counter(VOLUNTARY_DISRUPTION_QUEUE_FAILURES);

/**
 * Counts the replacements of a command that was rolled back. As in Karpenter, the label `consolidation_type` contains the
 * decision.
 */
export function countQueueFailures(metrics: Metrics, command: Command, count: number): void {
  const decision = decisionOf(command);
  queueFailures(metrics).inc({ decision, reason: snakeCase(command.reason), consolidation_type: decision }, count);
}

/** Counts a move at the end of its observation period. */
export function countMove(metrics: Metrics, { decision, reason }: Move, outcome: 'kept' | 'undone'): void {
  metrics.counter(VOLUNTARY_DISRUPTION_MOVES).inc({ decision, reason: reason.toLowerCase(), outcome });
}

/** Records savings in a gauge, because realised savings may be negative. */
export function recordSavings(
  metrics: Metrics,
  { reason }: Move,
  savings: { readonly predicted: number; readonly realised: number },
): void {
  const usd = metrics.gauge(VOLUNTARY_DISRUPTION_SAVINGS_USD);
  for (const kind of ['predicted', 'realised'] as const) usd.inc({ kind, reason: reason.toLowerCase() }, savings[kind]);
}

const timeouts = (metrics: Metrics) => metrics.counter(VOLUNTARY_DISRUPTION_CONSOLIDATION_TIMEOUTS);

export const countTimeout = (metrics: Metrics, { consolidationType }: Method): void =>
  timeouts(metrics).inc({ consolidation_type: consolidationType });

/** Creates the series at the start, so that their first increase is visible. */
export function initDisruptionCounters(metrics: Metrics, methods: readonly Method[]): void {
  for (const consolidation_type of ['multi', 'single']) timeouts(metrics).inc({ consolidation_type }, 0);
  for (const { consolidationType } of methods)
    if (consolidationType !== '') failedValidations(metrics).inc({ consolidation_type: consolidationType }, 0);
  for (const decision of ['delete', 'replace'])
    for (const reason of REASONS)
      queueFailures(metrics).inc({ decision, reason: snakeCase(reason), consolidation_type: decision }, 0);
}

/**
 * Records the evaluation of each move by each NodePool. Only the Balanced policy computes scores. Single-node consolidation
 * evaluates each node separately. The other methods evaluate one move of several NodePools, which counts as rejected if one of
 * these NodePools rejects it.
 */
export function observeEvaluations(metrics: Metrics, method: Method, { evaluations = [] }: MethodResult): void {
  const isOneMove = method.consolidationType !== 'single';
  const isRejected = isOneMove && !isApproved(evaluations);
  const moves = metrics.counter(CONSOLIDATION_MOVES);
  const scores = metrics.histogram(CONSOLIDATION_SCORE);
  for (const { nodePool, policy, approved, score } of evaluations) {
    const labels = { decision: approved ? 'approved' : 'rejected', nodepool: nodePool.metadata.name, policy };
    moves.inc(isRejected ? { ...labels, decision: 'rejected' } : labels);
    if (score !== undefined) scores.observe(labels, score);
  }
}

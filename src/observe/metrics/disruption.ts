/** Metrics of voluntary disruption and consolidation. */
import { counter, gauge, histogram } from './declaration.ts';

export const VOLUNTARY_DISRUPTION_DECISION_EVALUATION_DURATION_SECONDS = histogram({
  name: 'karpenter_voluntary_disruption_decision_evaluation_duration_seconds',
  help: 'Duration of one run of a disruption method',
  labels: ['reason', 'consolidation_type'],
  share: { kind: 'buckets', buckets: [0.1, 1, 5, 10, 60] },
});

export const VOLUNTARY_DISRUPTION_ELIGIBLE_NODES = gauge({
  name: 'karpenter_voluntary_disruption_eligible_nodes',
  help: 'Nodes that a disruption method can disrupt',
  labels: ['reason'],
});

export const VOLUNTARY_DISRUPTION_EMPTYING_NODES = gauge({
  name: 'karpenter_voluntary_disruption_emptying_nodes',
  help: 'Nodes that kube-scheduler fills last, because their pods fit elsewhere',
});

export const VOLUNTARY_DISRUPTION_EMPTYING_PODS = gauge({
  name: 'karpenter_voluntary_disruption_emptying_pods',
  help: 'Pods that scale-downs delete first, because their nodes can become empty',
});

export const VOLUNTARY_DISRUPTION_DECISIONS = counter({
  name: 'karpenter_voluntary_disruption_decisions_total',
  help: 'Disruption commands started',
  labels: ['decision', 'reason', 'consolidation_type'],
});

export const VOLUNTARY_DISRUPTION_DECISIONS_BY_NODEPOOL = counter({
  name: 'karpenter_voluntary_disruption_decisions_by_nodepool_total',
  help: 'Disruption commands started, counted once for each affected NodePool',
  labels: ['nodepool', 'decision', 'reason', 'consolidation_type'],
});

export const VOLUNTARY_DISRUPTION_FAILED_VALIDATIONS = counter({
  name: 'karpenter_voluntary_disruption_failed_validations_total',
  help: 'Candidates of commands that were not valid any more when they were checked again',
  labels: ['consolidation_type'],
});

export const VOLUNTARY_DISRUPTION_MOVES = counter({
  name: 'karpenter_voluntary_disruption_moves_total',
  help: 'Consolidations, by outcome after 30 minutes',
  labels: ['decision', 'reason', 'outcome'],
});

export const VOLUNTARY_DISRUPTION_SAVINGS_USD = gauge({
  name: 'karpenter_voluntary_disruption_savings_usd',
  help: 'Total savings of consolidations in their first 30 minutes, in USD',
  labels: ['kind', 'reason'],
});

export const VOLUNTARY_DISRUPTION_CONSOLIDATION_TIMEOUTS = counter({
  name: 'karpenter_voluntary_disruption_consolidation_timeouts_total',
  help: 'Consolidation searches that timed out',
  labels: ['consolidation_type'],
});

export const CONSOLIDATION_MOVES = counter({
  name: 'karpenter_consolidation_moves_total',
  help: 'Consolidations that were evaluated',
  labels: ['decision', 'nodepool', 'policy'],
});

export const CONSOLIDATION_SCORE = histogram({
  name: 'karpenter_consolidation_score',
  help: 'Savings for disruption under the Balanced policy',
  labels: ['decision', 'nodepool', 'policy'],
  buckets: [0.1, 0.25, 0.33, 0.5, 1, 2, 5, 10],
});

export const VOLUNTARY_DISRUPTION_QUEUE_FAILURES = counter({
  name: 'karpenter_voluntary_disruption_queue_failures_total',
  help: 'Replacements of commands that were rolled back',
  labels: ['decision', 'reason', 'consolidation_type'],
});

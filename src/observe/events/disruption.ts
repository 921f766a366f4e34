/** Events of voluntary disruption. */
import { event, MINUTE } from './declaration.ts';

const NODE = ['Node', 'NodeClaim'] as const;

export const DISRUPTION_BLOCKED = event({
  reason: 'DisruptionBlocked',
  type: 'Normal',
  isLasting: true,
  about: NODE,
  meaning: 'The node cannot be disrupted now, for example because of one of its pods.',
  key: 'uid of the object; separately for abandoned commands',
});

export const DISRUPTION_BLOCKED_OF_NODEPOOL = event({
  reason: 'DisruptionBlocked',
  type: 'Normal',
  isLasting: true,
  about: ['NodePool'],
  meaning: 'The budgets of the NodePool do not allow further disruptions for this reason now.',
  key: 'uid of the NodePool and the disruption reason',
  windowMs: MINUTE,
  message: (reason: string) => `No allowed disruptions for disruption reason ${reason} due to blocking budget`,
});

export const UNCONSOLIDATABLE = event({
  reason: 'Unconsolidatable',
  type: 'Normal',
  isLasting: true,
  about: NODE,
  meaning: 'Consolidation does not disrupt the node. The message has the reason.',
  key: 'uid of the object',
  windowMs: 15 * MINUTE,
});

export const CONSOLIDATION_CANDIDATE = event({
  reason: 'ConsolidationCandidate',
  type: 'Normal',
  about: NODE,
  meaning: 'Consolidation of the node is being evaluated. The message has the command and its savings.',
  key: 'uid of the object and the command',
});

export const CONSOLIDATION_APPROVED = event({
  reason: 'ConsolidationApproved',
  type: 'Normal',
  about: [...NODE, 'NodePool'],
  meaning: 'Under the Balanced policy, the savings of the consolidation justify its disruption.',
  key: 'uid of the object',
});

export const CONSOLIDATION_REJECTED = event({
  reason: 'ConsolidationRejected',
  type: 'Normal',
  about: NODE,
  meaning: 'A consolidation of the node was no longer valid when it was checked again.',
  key: 'uid of the object, the command and the change',
});

export const DISRUPTION_VERDICT = event({
  reason: 'DisruptionVerdict',
  type: 'Normal',
  about: NODE,
  meaning:
    'Reason why the node is not disrupted, with its code at the end. Published if the reason has changed and persists, and no other event reports it.',
});

export const EMPTYING = event({
  reason: 'Emptying',
  type: 'Normal',
  about: ['Node'],
  meaning: 'The node got a soft taint, so that it becomes empty without evictions.',
  key: 'uid of the object',
  message: () => 'Filled last by kube-scheduler, because its pods fit on other nodes',
});

export const EMPTYING_ENDED = event({
  reason: 'EmptyingEnded',
  type: 'Normal',
  about: ['Node'],
  meaning: 'The node has lost its soft taint, because its room is needed or it must stay.',
  key: 'uid of the object',
  message: () => 'Filled like other nodes by kube-scheduler, because its pods do not fit elsewhere or it must stay',
});

export const DISRUPTION_LAUNCHING = event({
  reason: 'DisruptionLaunching',
  type: 'Normal',
  about: ['NodeClaim'],
  meaning: 'The NodeClaim is the replacement of nodes that will be disrupted.',
  key: 'uid of the NodeClaim and the disruption reason',
  message: (reason: string) => `Launching NodeClaim: ${reason}`,
});

export const DISRUPTION_WAITING_READINESS = event({
  reason: 'DisruptionWaitingReadiness',
  type: 'Normal',
  about: ['NodeClaim'],
  meaning: 'The nodes that the NodeClaim replaces are kept until it is initialized.',
  key: 'uid of the NodeClaim',
  message: () => 'Waiting on readiness to continue disruption',
});

export const DISRUPTION_TERMINATING = event({
  reason: 'DisruptionTerminating',
  type: 'Normal',
  about: NODE,
  meaning: 'The node is disrupted. Its replacements, if there are any, are ready.',
  key: 'uid of the object and the disruption reason',
  message: (kind: 'Node' | 'NodeClaim', reason: string) => `Disrupting ${kind}: ${reason}`,
});

export const DISRUPTION_UNDONE = event({
  reason: 'DisruptionUndone',
  type: 'Normal',
  about: ['NodePool'],
  meaning: 'A consolidation did not last. A node for its pods was launched again, or its replacement was removed.',
  key: 'id of the consolidation',
});

export const DISRUPTION_SAVINGS = event({
  reason: 'DisruptionSavings',
  type: 'Normal',
  about: ['NodePool'],
  meaning: 'Realised and predicted savings of a consolidation in its first 30 minutes.',
  key: 'id of the consolidation',
  message: (realised: string, within: string, predicted: string, command: string) =>
    `Saved ${realised} in ${within} of ${predicted} predicted: ${command}`,
});

/** Events of several kinds of objects, and events of the Lease. */
import { event, MINUTE } from './declaration.ts';

const KINDS = ['NodeClaim', 'NodePool', 'Node', 'NodeClass', 'CapacityBuffer', 'CapacityQuota', 'NodePolicy'] as const;

/** Declares the event for a type of condition. The reason of the event is the type. */
export const conditionChanged = (type: string) =>
  event({
    reason: type,
    type: 'Normal',
    about: KINDS,
    meaning: 'The status of a condition has changed. The reason is the type of the condition.',
  });

export const FINALIZED = event({
  reason: 'Finalized',
  type: 'Normal',
  about: KINDS,
  meaning: 'A finalizer of a deleted object was removed.',
  message: (finalizer: string) => `Finalized ${finalizer}`,
});

export const BUFFER_INFEASIBLE = event({
  reason: 'Infeasible',
  type: 'Warning',
  about: ['CapacityBuffer'],
  meaning:
    'No NodePool can launch a node for the pods of the CapacityBuffer. The message has the cause and its remedy.',
  key: 'uid of the CapacityBuffer',
  windowMs: 5 * MINUTE,
  message: (text: string) => `Cannot reserve capacity: ${text}`,
});

export const LEADER_ELECTION = event({
  reason: 'LeaderElection',
  type: 'Normal',
  about: ['Lease'],
  meaning: 'A replica of the operator has become the leader, or has stopped leading.',
});

export const OPERATOR_PAUSED = event({
  reason: 'OperatorPaused',
  type: 'Warning',
  about: ['ConfigMap'],
  meaning: 'A pause has started or was changed. The message has the scope, the end and the reason.',
  message: (text: string) => `${text}; interruptions, deletions by users and drains in progress go on`,
});

export const OPERATOR_RESUMED = event({
  reason: 'OperatorResumed',
  type: 'Normal',
  about: ['ConfigMap'],
  meaning: 'A pause has ended, because its time is over or the operator was resumed.',
  message: (scope: string) => `The pause of ${scope === 'all' ? 'launches and disruption' : scope} has ended`,
});

export const CLOCK_SKEWED = event({
  reason: 'ClockSkewed',
  type: 'Warning',
  about: ['Lease'],
  meaning: "The clock of the operator's machine differs from the API server's clock by more than five seconds.",
});

export const MEMORY_SHORT = event({
  reason: 'MemoryShort',
  type: 'Warning',
  about: ['Lease'],
  meaning: 'A replica of the operator has little free memory, so that it works with less memory and more slowly.',
  key: 'stage of pressure',
  windowMs: 10 * MINUTE,
  message: (effects: string, remedy: string) =>
    `The memory of the operator is short, so it works more slowly (${effects}); ${remedy}`,
});

export const WINDOWS_OPENED = event({
  reason: 'DisruptionWindowsOpened',
  type: 'Normal',
  about: ['NodePool'],
  meaning: 'The windows of a NodePolicy have opened for reasons of disruption that nodes of the NodePool have.',
  message: (policy: string, reasons: string, until: string) =>
    `Windows of NodePolicy ${policy} opened for ${reasons}${until}`,
});

export const WINDOWS_CLOSED = event({
  reason: 'DisruptionWindowsClosed',
  type: 'Normal',
  about: ['NodePool'],
  meaning: 'The windows of a NodePolicy have closed while nodes of the NodePool have the reasons of disruption.',
  message: (policy: string, reasons: string, until: string) =>
    `Windows of NodePolicy ${policy} closed for ${reasons}${until}`,
});

/** Events of several kinds of objects, and events of the Lease. */
import { event, MINUTE } from './declaration.ts';

const KINDS = ['NodeClaim', 'NodePool', 'Node', 'EC2NodeClass', 'CapacityBuffer'] as const;

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

export const LEADER_ELECTION = event({
  reason: 'LeaderElection',
  type: 'Normal',
  about: ['Lease'],
  meaning: 'A replica of the operator has become the leader, or has stopped leading.',
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

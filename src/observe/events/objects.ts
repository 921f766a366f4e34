/** Events of several kinds of objects, and events of the Lease. */
import { event } from './declaration.ts';

const KINDS = ['NodeClaim', 'NodePool', 'Node', 'EC2NodeClass', 'CapacityBuffer'] as const;

/** Declares the event for a type of condition. The reason of the event is the type. */
export const conditionChanged = (type: string) =>
  event({
    reason: type,
    type: 'Normal',
    about: KINDS,
    meaning: 'A status condition of the object has changed its status; the reason is the type of the condition.',
  });

export const FINALIZED = event({
  reason: 'Finalized',
  type: 'Normal',
  about: KINDS,
  meaning: 'A finalizer of an object that is being deleted is gone.',
  message: (finalizer: string) => `Finalized ${finalizer}`,
});

export const LEADER_ELECTION = event({
  reason: 'LeaderElection',
  type: 'Normal',
  about: ['Lease'],
  meaning: 'A process of the operator has become leader, or is no longer.',
});

export const CLOCK_SKEWED = event({
  reason: 'ClockSkewed',
  type: 'Warning',
  about: ['Lease'],
  meaning: "The clock of the operator's machine differs from the API server's clock by more than five seconds.",
});

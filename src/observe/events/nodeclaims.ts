/** Events of NodeClaims and of their Nodes. */
import { event, MINUTE } from './declaration.ts';

/** Published once per NodeClaim in the period. */
const OF_CLAIM = { about: ['NodeClaim'], key: 'uid of the NodeClaim' } as const;

/** Published once per NodeClaim and once per Node in the period. */
const OF_CLAIM_AND_NODE = { about: ['NodeClaim', 'Node'], key: 'uid of the object' } as const;

export const INSUFFICIENT_CAPACITY_ERROR = event({
  reason: 'InsufficientCapacityError',
  type: 'Warning',
  ...OF_CLAIM,
  meaning: 'No instance can be launched for the NodeClaim now. It is deleted, and its pods are scheduled again.',
  message: (name: string, error: string) => `NodeClaim ${name} event: ${error}`,
});

export const NODE_CLASS_NOT_READY = event({
  reason: 'NodeClassNotReady',
  type: 'Warning',
  ...OF_CLAIM,
  meaning: "The NodeClaim's NodeClass is not ready. The NodeClaim is deleted, and its pods are scheduled again.",
  message: (name: string, error: string) => `NodeClaim ${name} event: ${error}`,
});

export const LAUNCH_NOT_NEEDED = event({
  reason: 'LaunchNotNeeded',
  type: 'Normal',
  ...OF_CLAIM,
  meaning:
    'The pods of the NodeClaim were deleted or bound to other nodes before its Node joined. The NodeClaim is deleted.',
  message: () =>
    'Deleting the NodeClaim before its node joins: its pods are gone or bound to other nodes, and no pod needs it',
});

export const GANG_LAUNCH_ENDED = event({
  reason: 'GangLaunchEnded',
  type: 'Warning',
  ...OF_CLAIM,
  meaning: 'A part of the nodes of a gang could not be launched in time. The NodeClaims of the gang are deleted.',
  message: (text: string) => `Deleting the NodeClaim, because its gang cannot be completed: ${text}`,
});

export const NOT_JOINED = event({
  reason: 'NotJoined',
  type: 'Warning',
  ...OF_CLAIM,
  meaning: 'The instance was launched two minutes ago, and its Node has not registered.',
  windowMs: 5 * MINUTE,
  message: (progress: string, name: string, first: string, command: string) =>
    `${progress}. Most probable cause: ${first}; check it with: ${command}. karpenter explain nodeclaim ${name} lists all causes`,
});

export const UNREGISTERED_TAINT_MISSING = event({
  reason: 'UnregisteredTaintMissing',
  type: 'Warning',
  ...OF_CLAIM,
  meaning: 'The Node joined without the taint that prevents scheduling until it is registered.',
  message: (taint: string) =>
    `Missing ${taint} taint which prevents registration related race conditions on Karpenter-managed nodes`,
});

export const FAILED_CONSISTENCY_CHECK = event({
  reason: 'FailedConsistencyCheck',
  type: 'Warning',
  about: ['NodeClaim'],
  meaning: 'The Node has significantly less capacity than expected for its instance type.',
  key: 'uid of the NodeClaim and the message',
});

export const UNREADABLE_FIELD = event({
  reason: 'UnreadableField',
  type: 'Warning',
  about: ['NodeClaim'],
  meaning: 'A duration of the NodeClaim is invalid. The message has the effect.',
  key: 'uid of the NodeClaim and the field; once for each NodeClaim',
  message: (field: string, consequence: string, reason: string) =>
    `Cannot use spec.${field} of the NodeClaim, so ${consequence}: ${reason}; ` +
    'correct it in the NodePool, or delete the NodeClaim',
});

export const TERMINATION_GRACE_PERIOD_EXPIRING = event({
  reason: 'TerminationGracePeriodExpiring',
  type: 'Warning',
  about: ['NodeClaim', 'Node'],
  meaning: 'The NodeClaim has a terminationGracePeriod. The remaining pods are deleted at its end.',
  key: 'name of the object',
  message: (deadline: string | undefined) => `All pods will be deleted by ${deadline}`,
});

export const EXPIRED = event({
  reason: 'Expired',
  type: 'Normal',
  ...OF_CLAIM_AND_NODE,
  meaning: 'The NodeClaim is deleted because it has reached its expireAfter.',
  message: (expireAfter: string | undefined) =>
    `Deleting the NodeClaim: it has reached its expireAfter of ${expireAfter}`,
});

export const LAUNCH_TIMEOUT = event({
  reason: 'LaunchTimeout',
  type: 'Warning',
  ...OF_CLAIM_AND_NODE,
  meaning: 'The NodeClaim is deleted because no instance could be launched for it in time.',
  message: (within: string) => `Deleting the NodeClaim: no instance was launched within ${within}`,
});

export const REGISTRATION_TIMEOUT = event({
  reason: 'RegistrationTimeout',
  type: 'Warning',
  ...OF_CLAIM_AND_NODE,
  meaning: 'The NodeClaim is deleted because its instance did not join the cluster in time.',
  message: (within: string) => `Deleting the NodeClaim: no node joined the cluster within ${within}`,
});

export const GARBAGE_COLLECTED = event({
  reason: 'GarbageCollected',
  type: 'Warning',
  ...OF_CLAIM_AND_NODE,
  meaning: 'The NodeClaim is deleted because its instance no longer exists.',
  message: (providerID: string | undefined) => `Deleting the NodeClaim: its instance ${providerID} is gone`,
});

export const NODE_LOST = event({
  reason: 'NodeLost',
  type: 'Warning',
  ...OF_CLAIM,
  meaning: 'The NodeClaim is deleted because its Node was removed without a drain and did not register again.',
  message: (node: string, within: string) =>
    `Deleting the NodeClaim: its Node ${node} was removed and did not register again within ${within}`,
});

export const UNHEALTHY = event({
  reason: 'Unhealthy',
  type: 'Warning',
  ...OF_CLAIM_AND_NODE,
  meaning: 'The NodeClaim is deleted because its Node has been unhealthy for too long (feature gate NodeRepair).',
  message: (type: string, status: string, since: string | undefined) =>
    `Deleting the NodeClaim: condition ${type} of its node has been ${status} since ${since}`,
});

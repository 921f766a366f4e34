/** Events of NodePools. */
import { event, MINUTE } from './declaration.ts';

/** Published once per NodePool in the period. */
const OF_POOL = { about: ['NodePool'], key: 'uid of the NodePool' } as const;

export const WOULD_ACT = event({
  reason: 'WouldAct',
  type: 'Normal',
  about: ['NodePool'],
  meaning: 'A decision on nodes of an observed NodePool, which is not carried out.',
  key: 'decision',
  windowMs: 10 * MINUTE,
  message: (text: string) => `Observed, not carried out: ${text}`,
});

export const ROLLOUT_STAGE = event({
  reason: 'RolloutStage',
  type: 'Normal',
  about: ['NodePool'],
  meaning: 'The replacement of drifted nodes of the NodePool has reached another stage.',
  key: 'uid of the NodePool and the stage',
  windowMs: 2 * MINUTE,
  message: (text: string) => text,
});

export const ROLLOUT_HALTED = event({
  reason: 'RolloutHalted',
  type: 'Warning',
  isLasting: true,
  about: ['NodePool'],
  meaning:
    'New nodes of the NodePool are not in order, so its drifted nodes are not replaced. The message has the remedy.',
  key: 'uid of the NodePool and the cause',
  windowMs: 10 * MINUTE,
  message: (text: string) => text,
});

export const NO_COMPATIBLE_INSTANCE_TYPES = event({
  reason: 'NoCompatibleInstanceTypes',
  type: 'Warning',
  isLasting: true,
  ...OF_POOL,
  meaning: 'No available instance type matches the requirements of the NodePool.',
  windowMs: MINUTE,
  message: (dueToMinValues: boolean) =>
    `NodePool requirements filtered out all compatible available instance types${
      dueToMinValues ? ' due to minValues incompatibility' : ''
    }`,
});

export const REQUIREMENTS_NOT_OFFERED = event({
  reason: 'RequirementsNotOffered',
  type: 'Warning',
  ...OF_POOL,
  meaning: 'No instance type or zone can satisfy the requirements of the NodePool. The message names the requirement.',
  windowMs: 10 * MINUTE,
  message: (text: string) => text,
});

export const LIMIT_REACHED = event({
  reason: 'LimitReached',
  type: 'Warning',
  ...OF_POOL,
  meaning:
    'The limits of the NodePool stop the launch of nodes for pending pods. The message has the usage and the limits.',
  windowMs: 10 * MINUTE,
  message: (text: string) => text,
});

export const LAUNCHES_UNPRODUCTIVE = event({
  reason: 'LaunchesUnproductive',
  type: 'Warning',
  about: ['NodePool'],
  meaning: 'Launches of the NodePool were unproductive, and further launches for affected pods wait.',
  key: 'uid of the NodePool, the cause and the number of back-offs',
  windowMs: 10 * MINUTE,
  message: (nodes: number, usd: number, text: string, next: string) =>
    `${nodes} launched node(s) were not used and cost $${usd.toFixed(4)}: ${text}. Next attempt for affected pods at ${next}`,
});

export const LAUNCHES_ABANDONED = event({
  reason: 'LaunchesAbandoned',
  type: 'Warning',
  about: ['NodePool'],
  meaning:
    'Pods of a namespace were deleted before they were bound to the nodes that were launched for them, and further launches wait.',
  key: 'uid of the NodePool and the namespace',
  windowMs: 10 * MINUTE,
  message: (nodes: number, namespace: string, next: string) =>
    `${nodes} node(s) were launched for pods of namespace ${namespace} that were deleted before a pod was bound. Next launch for the namespace at ${next}`,
});

export const STATIC_CAPACITY_DISABLED = event({
  reason: 'StaticCapacityDisabled',
  type: 'Warning',
  ...OF_POOL,
  meaning: 'The NodePool has spec.replicas, but the feature gate StaticCapacity is disabled.',
  message: () => 'spec.replicas has no effect: the operator runs without the feature gate StaticCapacity',
});

export const OFFERINGS_UNAVAILABLE = event({
  reason: 'OfferingsUnavailable',
  type: 'Warning',
  ...OF_POOL,
  meaning: 'No offering of the NodePool is available. The message has the reason.',
  message: (why: string, offerings: string) => `${why}: ${offerings}`,
});

export const OFFERINGS_AVAILABLE = event({
  reason: 'OfferingsAvailable',
  type: 'Normal',
  ...OF_POOL,
  meaning: 'Offerings are available again after OfferingsUnavailable.',
  message: (available: number) => `${available} offerings that this NodePool allows are available again`,
});

export const OFFERINGS_SHORT = event({
  reason: 'OfferingsShort',
  type: 'Normal',
  ...OF_POOL,
  meaning: 'Some offerings of the NodePool are not available.',
  message: (available: number, all: number, missing: string) =>
    `${available} of ${all} offerings that this NodePool allows are available now: ${missing}`,
});

export const ZONAL_SHIFT_ACTIVE = event({
  reason: 'ZonalShiftActive',
  type: 'Warning',
  about: ['NodePool'],
  meaning: 'AWS shifts traffic away from a zone. No instances are launched there.',
  key: 'uid of the NodePool and id of the zone',
  message: (zone: string, zoneId: string) =>
    `Zonal shift detected: offerings in zone ${zone} (${zoneId}) are unavailable for this NodePool`,
});

export const ZONAL_SHIFT_CLEARED = event({
  reason: 'ZonalShiftCleared',
  type: 'Normal',
  about: ['NodePool'],
  meaning: 'A zonal shift has ended.',
  key: 'uid of the NodePool and id of the zone',
  message: (zone: string, zoneId: string) =>
    `Zonal shift cleared: offerings in zone ${zone} (${zoneId}) are restored for this NodePool`,
});

export const FAILED_RESOLVING_NODE_CLASS = event({
  reason: 'FailedResolvingNodeClass',
  type: 'Warning',
  about: ['NodePool', 'NodeClaim'],
  meaning: 'The NodeClass that the object refers to does not exist or is being deleted.',
  key: 'uid of the object',
  message: () => 'Failed resolving NodeClass',
});

/** Events of EC2: interruptions, launches, EC2NodeClasses. */
import { event } from '#observe/events';

const MINUTE = 60_000;

/** Published once per NodeClaim and once per Node in the period. */
const OF_NODE = { about: ['NodeClaim', 'Node'], key: 'uid of the object' } as const;

export const SPOT_INTERRUPTED = event({
  reason: 'SpotInterrupted',
  type: 'Warning',
  ...OF_NODE,
  meaning: 'EC2 interrupts the spot instance in two minutes. Its NodeClaim is deleted.',
  message: () => 'Spot interruption warning was triggered',
});

export const CAPACITY_RESERVATION_INSTANCE_INTERRUPTED = event({
  reason: 'CapacityReservationInstanceInterrupted',
  type: 'Warning',
  ...OF_NODE,
  meaning: 'EC2 reclaims the instance of an interruptible capacity reservation. Its NodeClaim is deleted.',
  message: () => 'Capacity Reservation interruption warning was triggered',
});

export const SPOT_REBALANCE_RECOMMENDATION = event({
  reason: 'SpotRebalanceRecommendation',
  type: 'Normal',
  ...OF_NODE,
  meaning: 'EC2 reports a high risk of an interruption of the spot instance. No action is taken.',
  message: () => 'Spot rebalance recommendation was triggered',
});

export const INSTANCE_UNHEALTHY = event({
  reason: 'InstanceUnhealthy',
  type: 'Warning',
  ...OF_NODE,
  meaning: 'EC2 reports that the instance is impaired, or schedules maintenance. Its NodeClaim is deleted.',
  message: () => 'An unhealthy warning was triggered for the instance',
});

export const MAINTENANCE_SCHEDULED = event({
  reason: 'MaintenanceScheduled',
  type: 'Normal',
  about: ['NodeClaim', 'Node'],
  key: 'uid of the object, and time',
  meaning: 'EC2 has scheduled an event of the instance. The node is replaced before it, within budgets.',
  message: (notBefore: string) => `EC2 has scheduled maintenance of the instance, not before ${notBefore}`,
});

export const INSTANCE_STOPPING = event({
  reason: 'InstanceStopping',
  type: 'Warning',
  ...OF_NODE,
  meaning: 'The instance is being stopped. Its NodeClaim is deleted.',
  message: () => 'Instance is stopping',
});

export const INSTANCE_TERMINATING = event({
  reason: 'InstanceTerminating',
  type: 'Warning',
  ...OF_NODE,
  meaning: 'The instance is being terminated by another client. Its NodeClaim is deleted.',
  message: () => 'Instance is terminating',
});

export const TERMINATING_ON_INTERRUPTION = event({
  reason: 'TerminatingOnInterruption',
  type: 'Warning',
  ...OF_NODE,
  meaning: 'The NodeClaim was deleted because of a message of EC2 about its instance.',
  message: (kind: 'NodeClaim' | 'Node') => `Interruption triggered termination for the ${kind}`,
});

export const SPOT_SLR_CREATION_FAILED = event({
  reason: 'SpotSLRCreationFailed',
  type: 'Warning',
  about: ['NodeClaim'],
  meaning: 'The account has no service-linked role for spot instances, and the operator is not allowed to create it.',
  key: 'uid of the NodeClaim',
  message: () =>
    'Attempted to launch a spot instance but failed due to "AuthFailure.ServiceLinkedRoleCreationNotPermitted"',
});

export const NODE_CLASS_UNRESOLVED = event({
  reason: 'FailedResolution',
  type: 'Warning',
  about: ['EC2NodeClass'],
  meaning: 'A condition of the EC2NodeClass is not True because of a failure that you must correct.',
  key: 'uid of the EC2NodeClass and text',
  windowMs: 10 * MINUTE,
  message: (condition: string, reason: string, text: string) => `${condition}: ${reason}: ${text}`,
});

export const SUBNET_ADDRESSES_SCARCE = event({
  reason: 'SubnetAddressesScarce',
  type: 'Warning',
  isLasting: true,
  about: ['EC2NodeClass'],
  meaning: 'Subnets of the EC2NodeClass have less than a tenth of their IPv4 addresses left.',
  key: 'uid of the EC2NodeClass and IDs of the subnets',
  windowMs: 15 * MINUTE,
  message: (subnets: string) => `Launches will soon fail for lack of addresses: ${subnets}`,
});

export const WAITING_ON_NODECLAIM_TERMINATION = event({
  reason: 'WaitingOnNodeClaimTermination',
  type: 'Normal',
  about: ['EC2NodeClass'],
  meaning: 'The EC2NodeClass is deleted when the NodeClaims that use it are deleted.',
  key: 'uid of the EC2NodeClass',
  message: (names: string) => `Waiting on NodeClaim termination for ${names}`,
});

interface HeldCollection {
  readonly count: number;
  readonly total: number;
  readonly plural: string;
  /** RFC 3339 timestamp. */
  readonly until: string;
  readonly ids: string;
}

export const GARBAGE_COLLECTION_HELD = event({
  reason: 'GarbageCollectionHeld',
  type: 'Warning',
  about: ['Namespace'],
  meaning:
    'More than max(2, 10 %) of the instances have no NodeClaim. They are not terminated before the time in the message.',
  key: 'the kind of resource',
  windowMs: 10 * MINUTE,
  message: ({ count, total, plural, until, ids }: HeldCollection) =>
    `Delaying garbage collection: ${count} of ${total} ${plural} have no NodeClaim (${ids}); none is deleted before ${until}`,
});

export const GARBAGE_COLLECTION_REFUSED = event({
  reason: 'GarbageCollectionRefused',
  type: 'Warning',
  about: ['Namespace'],
  meaning:
    'AWS refused to delete an instance or an instance profile without an owner. Other objects are deleted first.',
  key: 'the object',
  windowMs: 10 * MINUTE,
  message: (plural: string, id: string, answer: string, again: string) =>
    `AWS refused to delete ${id}, one of the ${plural} without a NodeClaim: ${answer}; the next attempt is at ${again}`,
});

export const INSTANCES_OF_ANOTHER_CLUSTER = event({
  reason: 'InstancesOfAnotherCluster',
  type: 'Warning',
  about: ['Namespace'],
  meaning:
    'Instances or instance profiles have the name of this cluster and the UID of another cluster. They are ignored.',
  key: 'the kind of resource',
  windowMs: 10 * MINUTE,
  message: (count: number, plural: string, ids: string) =>
    `Ignoring ${count} ${plural} of another cluster with the same name (${ids})`,
});

export const CAPACITY_RESERVATION_SCHEDULED = event({
  reason: 'CapacityReservationScheduled',
  type: 'Normal',
  isLasting: true,
  about: ['NodePool'],
  meaning: 'A capacity reservation that the NodePool can use starts later. Nodes are launched in it from its start on.',
  key: 'message and name of the NodePool',
  windowMs: 60 * MINUTE,
  message: (reservation: string) => `Waiting for ${reservation}`,
});

export const CAPACITY_RESERVATION_IDLE = event({
  reason: 'CapacityReservationIdle',
  type: 'Warning',
  isLasting: true,
  about: ['NodePool'],
  meaning:
    'An open capacity reservation that the NodePool could use is paid and not used, because no EC2NodeClass selects it.',
  key: 'ID of the reservation',
  windowMs: 60 * MINUTE,
  message: (id: string, facts: string, nodeClass: string) =>
    `Capacity reservation ${id} ${facts}; select it in spec.capacityReservationSelectorTerms of EC2NodeClass ${nodeClass}, or cancel it`,
});

export const INVALID_GPU_SHARING = event({
  reason: 'InvalidConsumableCapacity',
  type: 'Warning',
  about: ['EC2NodeClass'],
  meaning: 'The annotation that lets several claims share a GPU is not valid. GPUs of new nodes are not shared.',
  key: 'uid of the EC2NodeClass and text',
  windowMs: 60 * MINUTE,
  message: (annotation: string, value: string) =>
    `Annotation ${annotation}: ${value} is not one of "disabled", "memory", "unlimited", or a positive integer share count`,
});

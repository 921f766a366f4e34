export { amountsOf, sumOf, type Term, type Terms, type TypeTerms } from '../capacity-terms.ts';
export { MOST_COMING } from '../coming-pods.ts';
export type { DefaultSpread, SpreadWorkload } from '../default-spread.ts';
export { adopted, type DriftChecks, driftReason, lostItsType, withDrifted, withHash } from '../drift.ts';
export { type GangGroup, groupsOf } from '../gangs/gang-group.ts';
export { gangMarkOf } from '../gangs/gang-mark.ts';
export { type HostPort, hostPortsOf, portConflict } from '../host-ports.ts';
export { awaitsReadiness, idleMisfit } from '../idle-pools.ts';
export {
  CLAIM_CONDITION,
  CLAIM_METADATA,
  CLAIM_SPEC,
  type EngineClaim,
  type EngineNodeObject,
  type EnginePod,
  NODE_METADATA,
  POD_CONDITION,
  POD_METADATA,
} from '../input.ts';
export { unitsOf } from '../instance-sizes.ts';
export {
  allocatable,
  cheapestPrice,
  compareText,
  compatibleOfferings,
  minValuesText,
  offeringOf,
  orderByPrice,
  preferredOffering,
  requirementsOf,
  satisfiesMinValues,
  weighedUsdPerHour,
} from '../instance-types.ts';
export { awaitsMaintenance, MAINTENANCE_PLANNED, MAINTENANCE_TAINT, refusesPods } from '../maintenance.ts';
export type {
  Ceiling,
  EngineNode,
  EngineSnapshot,
  IdlePool,
  InstanceType,
  InstanceTypeOverhead,
  LeftOut,
  Offering,
  Plan,
  PlannedClaim,
  PodRefusal,
  PoolInput,
  PreferenceDecision,
  Requirement,
  Resources,
  Snapshot,
  SolveOptions,
  SpotRule,
  SpotTerms,
  StateNode,
  UnpackedPool,
} from '../model.ts';
export {
  joinProgress,
  LAUNCH_TIMEOUT_MS,
  type LaunchFailure,
  REGISTRATION_TIMEOUT_MS,
  USUAL_JOIN_MS,
} from '../node-join.ts';
export { templateRequirements } from '../node-template.ts';
export { readableRequests } from '../placement-requests.ts';
export { isHeavy, measuresOf } from '../pod-bounds.ts';
export {
  isActive,
  isEverEvictable,
  isEvictable,
  isOwnedByDaemonSet,
  isReschedulable,
  isScheduled,
  isTerminal,
  isTerminating,
  isUnschedulable,
  isWaitingForEviction,
  namespaceOf,
  podKey,
} from '../pods.ts';
export {
  countsTowardLimits,
  isUnlaunched,
  largestCapacity,
  NODES,
  nodeCapacities,
  unlaunchedProviderId,
} from '../pool-usage.ts';
export { maySelect } from '../possible-labels.ts';
export { isJustRefused, type Preemption, preemptionFor } from '../preemption.ts';
export { DEFAULT_PREFERENCE_TERMS } from '../preferences/worth-terms.ts';
export { pseudoRandom } from '../pseudo-random.ts';
export { LOOSE, Requirements, STRICT } from '../requirements.ts';
export {
  addResources,
  amountIn,
  amountOf,
  defaultRequests,
  fits,
  isBytes,
  maxResources,
  podLimits,
  podRequests,
  quantityList,
  quantityOf,
  readableResources,
  resourcesOf,
  sameResources,
  subtractResources,
} from '../resources.ts';
export { holds, selects } from '../selectors.ts';
export { sharedRequirements, sharedType, sharedTypeList } from '../shared-types.ts';
export { withinSpotPrice } from '../spot-price.ts';
export { hasOtherSuccessor, type ResourceTemplate, resourceTemplateOf, withSuccessor } from '../successors.ts';
export { formatTaint, sameTaint, tolerates, untolerated } from '../taints.ts';
export { ValueSet } from '../value-set.ts';
export type { AttachedVolume, VolumeLimits } from '../volume-limits.ts';
export { limitsOn, VolumeSlots } from '../volume-slots.ts';
export { Volumes } from '../volumes.ts';
export { jobOf, workloadOf, workloadsOf } from '../workloads.ts';

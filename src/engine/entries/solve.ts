export { type BufferRules, bufferPrices, bufferRules, clusterShare, consumersOf, countTaken } from '../buffer-rules.ts';
export {
  type BufferProblem,
  type BufferTarget,
  bufferSource,
  isProblem,
  sourceNotFound,
  templateTarget,
  workloadTarget,
} from '../buffer-target.ts';
export {
  ACTIVE_CAPACITY,
  type BufferOutcome,
  bufferKey,
  bufferOutcomes,
  desiredReplicas,
  expectRoomBeside,
  hasRoomBeside,
  INFEASIBLE,
  isActiveBuffer,
  isVirtual,
  provisioningCondition,
  READY_FOR_PROVISIONING,
  virtualPods,
} from '../capacity-buffers.ts';
export type { LaunchCause, LaunchCauseCode, WithheldLaunch } from '../launch-causes.ts';
export { labelsOfPool, requiredKeys } from '../overlay-matching.ts';
export {
  evaluateOverlays,
  evaluationSteps,
  MOST_OVERLAYS,
  type OverlayEvaluation,
  overlaid,
  overlaidSteps,
} from '../overlays.ts';
export {
  acceptance,
  bookingFailure,
  CHECK_CAPACITY,
  dueChange,
  isHandled,
  isProvidedBy,
  lossOfBooking,
  nextDueMs,
  outcomeCondition,
  type PodSet,
  PROVISIONED,
  phaseOf,
  podsFailure,
  requestGang,
  requestKey,
  requestPods,
  requestTriedBy,
  requestUsedBy,
} from '../provisioning-requests.ts';
export { LAUNCH_CAUSES } from '../reason-codes.ts';
export { checkRemedies, provePodRemedy } from '../remedy-check.ts';
export { solve } from '../solve.ts';
export type { RankedNode } from '../solver/emptiable.ts';
export { misfitText } from '../solver/misfits.ts';
export { launchableNodes, type StaticClaim, surplus, templateClaim } from '../static-pools.ts';
export {
  affinityTerms,
  causeKey,
  isAffected,
  isSatisfied,
  mergeCauses,
  selectorRequirements,
} from '../withheld-launches.ts';

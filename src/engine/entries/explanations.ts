export { type Cause, causeText, ONE_MORE_NODE, withDetails } from '../causes/cause.ts';
export { instanceTypeCause } from '../causes/instance-type-cause.ts';
export type { LaunchAnswer, OfferingPrice } from '../causes/launch-alternatives.ts';
export { explainNodeClaim, type NodeClaimExplanation } from '../causes/nodeclaim-explanation.ts';
export {
  type PodVerdict,
  refusalMessage,
  refusalNote,
  refusedVerdict,
  runningText,
  type WaitingPod,
  waitingText,
  withoutCommand,
} from '../causes/pod-verdict.ts';
export { endsByItself } from '../causes/pool-cause.ts';
export type { RemedyProof } from '../causes/remedy-proof.ts';
export { causeKey, withoutDetails, withoutRequests } from '../causes/same-cause.ts';
export {
  type ExplainedResource,
  type ExplainedStep,
  explainInstanceType,
  type InstanceTypeExplanation,
} from '../instance-type-explanation.ts';
export {
  type InstanceTypeEntry,
  type InstanceTypeReport,
  instanceTypeOf,
  instanceTypeReport,
} from '../instance-type-report.ts';
export { annotationNotes, annotationProblems } from '../pod-annotations.ts';
export { groupText, preferencesText, preferenceTexts } from '../preferences/decision-text.ts';
export { explainRequest, type RequestExplanation } from '../request-explanation.ts';
export { type PoolSpot, poolSpots, poolSpotText } from '../spot-price.ts';
export { spotGroupText, spotTexts } from '../spot-use.ts';
export { zonesText } from '../zone-balance.ts';

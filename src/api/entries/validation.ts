export { readQuota } from '../capacity-quota.ts';
export { nodeOverlayErrors } from '../nodeoverlay.ts';
export { nodePolicyErrors } from '../nodepolicy.ts';
export {
  NODE_CLASS_READY,
  unreadyText,
  VALIDATION_SUCCEEDED,
  withNodeClassReadiness,
  withValidation,
} from '../nodepool-readiness.ts';
export { limitErrors, nodePoolErrors, requirementProblems } from '../nodepool-validation.ts';

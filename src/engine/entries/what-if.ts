export { applyChange, ChangeError, type ClusterObjects, type ObjectChanges } from '../what-if/apply.ts';
export { CHANGE_FORMS, CHANGE_VERBS, type Change, parseChange, workloadKindOf } from '../what-if/change.ts';
export {
  type ChangeEffect,
  type ClusterTotals,
  type DrainPlan,
  drainPlanOf,
  effectOf,
  type NewNode,
  type NodeDrain,
  podsToSolve,
  type Situation,
  totalsOf,
  withFewerPods,
} from '../what-if/effect.ts';

export { type Allowance, addWindows, budgetErrors, UNLIMITED } from '../disruption/budgets/budgets.ts';
export { calendarOf, type PoolBudgets, type PoolCalendar, poolBudgets } from '../disruption/budgets/calendar.ts';
export { isOpenAt, nextTurnMs, openHours } from '../disruption/budgets/windows.ts';
export { consolidatableIn, withConsolidatable } from '../disruption/candidates/consolidate-after.ts';
export { BASE_COST, nodePrice, reportedSurplus, rescheduleCost } from '../disruption/candidates/disruption-cost.ts';
export { emptyingSinceMs, isEmptying } from '../disruption/candidates/emptying.ts';
export { budgetsOf } from '../disruption/candidates/pdb-index.ts';
export { podBlock, podsOfLeavingNodes } from '../disruption/candidates/pod-blocks.ts';
export { annotatedPods, protectionOf } from '../disruption/candidates/protection.ts';
export {
  billedSavingsOf,
  bothSavings,
  type Candidate,
  type Command,
  type Decision,
  decisionOf,
  longText,
  shortText,
} from '../disruption/command.ts';
export { hasCostMark, hasForeignCost, hasOwnCost, OWN_COST, podsToDeleteFirst } from '../disruption/deletion-costs.ts';
export type { DisruptionEvent, Method, MethodInput, MethodResult, Validated } from '../disruption/method.ts';
export { limitOfNodes } from '../disruption/methods/static-drift.ts';
export { calculationOf, type MoveWorth, roundWorth } from '../disruption/move-worth.ts';
export { nextChangeMs } from '../disruption/next-change.ts';
export {
  committedUse,
  currentBlock,
  described,
  type PassInput,
  passCluster,
  passInput,
  prepare,
  simulateOn,
} from '../disruption/pass.ts';
export { type Evaluation, isApproved } from '../disruption/pricing/balance.ts';
export type { ForecastOptions } from '../disruption/pricing/forecast.ts';
export type { DeclineCode, DisruptionReason, ObjectName } from '../disruption/reasons.ts';
export { enabledMethods, methodsOf, review } from '../disruption/review.ts';
export type { RolloutNode } from '../disruption/rollout/health.ts';
export { isStaged, type RolloutRecord, readRollout, withRollout } from '../disruption/rollout/record.ts';
export {
  addRollout,
  nextRecord,
  type Rollout,
  rolloutOf,
  rolloutRemedy,
  rolloutText,
  startOfRollout,
} from '../disruption/rollout/rollout.ts';
export type { Simulation, SimulationOptions } from '../disruption/simulations/simulation.ts';
export { Simulator } from '../disruption/simulations/simulator.ts';
export { worstFirst } from '../disruption/steering.ts';
export { TriedSets } from '../disruption/tried-sets.ts';
export {
  type MethodReview,
  type Verdict,
  type VerdictCode,
  VerdictHistory,
  verdictsOf,
} from '../disruption/verdicts.ts';
export {
  type Ailment,
  ailmentOf,
  budgetObstacle,
  type HealthSurvey,
  healthObstacle,
  type NodeRepair,
  type OnsetOf,
  type RepairObstacle,
  type RepairRule,
  type RepairSettings,
  repairSettings,
  repairsIn,
  repairText,
  surveyHealth,
  withRepairs,
} from '../repair.ts';

export { type CostHour, hoursIn, type PoolCost } from '../history/cost-hours.ts';
export {
  type Bought,
  DecisionLog,
  type Deleted,
  type Disrupted,
  type Interrupted,
  type LoggedDecision,
  MOST_NAMES,
  namespacesOf,
  type Observed,
  type Refused,
} from '../history/decision-log.ts';
export { HISTORY_NAME, historyTexts, newHistory, type OperatorHistory, restoreHistory } from '../history/document.ts';
export type { FleetChange } from '../history/fleet.ts';
export { FAILED_LAUNCHES, LOG_KINDS, type LogLine, logLines, NewLines } from '../history/log-lines.ts';

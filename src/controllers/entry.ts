export { CoveredPrices } from './cost/covered-prices.ts';
export { openHistory } from './cost/index.ts';
export type { Deps } from './deps.ts';
export { DecisionMemo } from './disruption/snapshots.ts';
export { CostTracker } from './metrics/cost.ts';
export { createOperator, type OperatorCore, type OperatorParts } from './operator.ts';
export { viewedPoolInputs } from './pool-inputs.ts';
export { NodeTraces } from './traces/node-traces.ts';

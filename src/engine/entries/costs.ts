export { billedUsdPerHour } from '../billed-price.ts';
export {
  ceilingAmount,
  ceilingText,
  claimRequirements,
  largestClaimAmounts,
  nodeAmounts,
  USD,
  usdLimit,
} from '../ceilings.ts';
export { billedPriceOf, CostAccount, IDLE, idleShare, type NodePrice } from '../cost/account.ts';
export {
  type EfficiencyDimension,
  type EfficiencyGroup,
  efficiencyGroups,
  type PodUse,
  type RightRequests,
  rightRequests,
  type Use,
} from '../cost/efficiency.ts';
export { nodePrices } from '../cost/node-prices.ts';
export {
  type CostDimension,
  type CostGroup,
  type CostReport,
  type CostSums,
  HOURS_PER_MONTH,
  type NodeCost,
} from '../cost/report.ts';
export { type CpuBurst, surplusUsdPerHour } from '../cpu-burst.ts';
export { countedTypes, withCpuUtilization } from '../expected-costs.ts';
export { chargesUsdPerHour, NO_CHARGES, type NodeCharges, type NodeExtras } from '../node-extras.ts';
export { type Commitment, type CommitmentRate, unitsOfType } from '../price-book/commitment.ts';

export { parseCron } from '../cron.ts';
export { Semver } from '../dra/semver.ts';
export { durationOrNever, formatDuration, NEVER, parseDuration, readDurationOrNever } from '../duration.ts';
export { cpuUtilizationError, DEFAULT_CPU_UTILIZATION } from '../expected-cpu-utilization.ts';
export { driverOfProvisioner, EBS_DRIVER, inTreeVolume } from '../in-tree-volumes.ts';
export { labelValueErrors, qualifiedNameErrors, subdomainErrors } from '../names.ts';
export { DEFAULT_NODE_HOURLY_FEE, nodeHourlyFee, nodeHourlyFeeError } from '../node-hourly-fee.ts';
export {
  type ConsolidationMode,
  type CostPolicy,
  consolidationPolicy,
  defaultPreferencePolicy,
  type PackingMode,
  type PackingPolicy,
  PREFERENCE_POLICIES,
  type PreferencePolicy,
  packingPolicy,
} from '../policy.ts';
export { spotWaitMs } from '../policy-spot.ts';
export {
  compareQuantities,
  formatQuantity,
  isQuantity,
  milliValue,
  parseQuantity,
  printQuantity,
  readQuantity,
} from '../quantity.ts';
export { shareOf } from '../shares.ts';

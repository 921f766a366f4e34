/**
 * Estimates the interruption rate of a spot pool (an instance type in a zone), and the expected cost of interruptions
 * as part of the price.
 *
 * Interruptions are modeled as events of a Poisson process with an unknown rate. The prior distribution of the rate is
 * a gamma distribution with shape a and rate b. After n interruptions in t instance-hours, the posterior is a gamma
 * distribution with a + n and b + t. Its mean is (a + n) / (b + t) (the conjugate prior of Poisson counts: Gelman et
 * al., Bayesian Data Analysis, 3rd edition, section 2.6). A pool without history has the mean of the prior. One
 * interruption in a thousand hours has a small effect, three in the first hour have a large effect.
 */

/** History of a pool. Older events and hours have a lower weight, so the counts are fractions. */
export interface PoolCounts {
  /** Interruptions. A rebalance recommendation counts as part of an interruption. */
  readonly interruptions: number;
  /** Launches for which AWS had no capacity. */
  readonly capacityErrors: number;
  /** Total running time of instances. */
  readonly instanceHours: number;
}

/**
 * Mean rate of a pool without history. AWS reports that on average fewer than 5 % are interrupted in a month of 730
 * hours.
 */
const PRIOR_PER_HOUR = 0.05 / 730;
/**
 * Weight of the prior, in instance-hours. Interruptions occur in clusters, so one day of an instance outweighs the
 * prior.
 */
const PRIOR_HOURS = 24;
/**
 * Weight of a capacity error. A lack of capacity makes interruptions more likely, and ten errors count as one
 * interruption.
 */
const INTERRUPTIONS_PER_CAPACITY_ERROR = 0.1;

/** Returns the expected interruptions of an instance per hour: the posterior mean. */
export const interruptionsPerHour = ({ interruptions, capacityErrors, instanceHours }: PoolCounts): number =>
  (PRIOR_PER_HOUR * PRIOR_HOURS + interruptions + INTERRUPTIONS_PER_CAPACITY_ERROR * capacityErrors) /
  (PRIOR_HOURS + instanceHours);

/**
 * Cost of an interruption, in hours of the node's price. About ten minutes are paid twice while the replacement boots,
 * pulls images and warms up. The remaining cost is for work that is lost and repeated.
 */
const MOVE_HOURS = 1;
/** Limit of the added part. This limit at most doubles the price. */
const MOST = 1;

/**
 * Returns the expected cost of interruptions as part of the price, above the cost for a pool without history.
 * @param weight factor of the cost, 0 to disable it
 */
export const expectedPart = (counts: PoolCounts, weight: number): number =>
  Math.min(MOST, weight * MOVE_HOURS * Math.max(0, interruptionsPerHour(counts) - PRIOR_PER_HOUR));

/** Step of the effective parts. If prices changed every minute, all derived values would be computed again. */
const STEP = 0.05;
/** Minimum difference from the current part, in steps. It prevents alternation between two steps. */
const FAR_OFF = 0.8;

/**
 * Returns the effective part.
 * @param before the previous effective part
 */
export function steppedPart(part: number, before: number): number {
  if (Math.abs(part - before) < FAR_OFF * STEP) return before;
  return Number((Math.round(part / STEP) * STEP).toFixed(2));
}

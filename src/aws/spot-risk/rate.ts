/**
 * How often the instances of a spot pool (an instance type in a zone) are interrupted, and which part of their price that is
 * expected to cost.
 *
 * Interruptions are taken for events of a Poisson process whose rate nobody knows. Where the rate is believed to be
 * gamma-distributed with shape a and rate b before anything is seen, it is so with a + n and b + t after n interruptions in t
 * instance-hours, and its mean is (a + n) / (b + t) (the conjugate prior of Poisson counts: Gelman et al., Bayesian Data
 * Analysis, 3rd edition, section 2.6). A pool of which nothing is known has the prior's mean; little is made of one
 * interruption in a thousand hours, and much of three in the first.
 */

/** What is remembered of a pool. Older events and hours count less, so that none of the amounts is whole. */
export interface PoolCounts {
  /** Interruptions, and recommendations to leave as parts of one. */
  readonly interruptions: number;
  /** Launches that AWS had no capacity for. */
  readonly capacityErrors: number;
  /** How long instances ran in all. */
  readonly instanceHours: number;
}

/** Mean rate that a pool has without history: AWS reports that on average fewer than 5 % are interrupted in a month of 730 hours. */
const PRIOR_PER_HOUR = 0.05 / 730;
/** Instance-hours that the prior is worth: interruptions come close together, so one day of an instance outweighs it. */
const PRIOR_HOURS = 24;
/** AWS has nothing to sell: what runs there is more likely to be taken back, ten such answers count as one interruption. */
const INTERRUPTIONS_PER_CAPACITY_ERROR = 0.1;

/** Expected interruptions of an instance per hour: the posterior mean. */
export const interruptionsPerHour = ({ interruptions, capacityErrors, instanceHours }: PoolCounts): number =>
  (PRIOR_PER_HOUR * PRIOR_HOURS + interruptions + INTERRUPTIONS_PER_CAPACITY_ERROR * capacityErrors) /
  (PRIOR_HOURS + instanceHours);

/**
 * Hours of a node's own price that it costs to have its pods moved by an interruption: some ten minutes are paid twice, while
 * another node boots, pulls images and warms up; the rest is for work that is lost and done again.
 */
const MOVE_HOURS = 1;
/** However bad a pool is, it counts as no more than twice as dear. */
const MOST = 1;

/**
 * What interruptions are expected to cost beyond those of a pool without history, as part of the price; 0 for such a pool.
 * @param weight 1 counts it as it is, 0 not at all
 */
export const expectedPart = (counts: PoolCounts, weight: number): number =>
  Math.min(MOST, weight * MOVE_HOURS * Math.max(0, interruptionsPerHour(counts) - PRIOR_PER_HOUR));

/** Parts that count differ by this: prices that changed by the minute would have everything compiled again. */
const STEP = 0.05;
/** A part has to be this far off, in steps, to count as another: one between two steps would go back and forth. */
const FAR_OFF = 0.8;

/** The part that counts, given the one that counted until now. */
export function steppedPart(part: number, before: number): number {
  if (Math.abs(part - before) < FAR_OFF * STEP) return before;
  return Number((Math.round(part / STEP) * STEP).toFixed(2));
}

/** The weight with which interruptions of spot instances count where prices are compared. */

/** As they are expected to cost; docs/decisions/0044 derives it. */
export const DEFAULT_SPOT_RISK = 1;
/** Whoever weighs interruptions more than this wants on-demand instances. */
const MOST = 100;

/** What is wrong with a weight. */
export const spotRiskError = (weight: number): string | undefined =>
  weight >= 0 && weight <= MOST ? undefined : `must be a weight from 0 to ${MOST}`;

/** Student's t distribution, for confidence intervals of means of few values. */

/**
 * Returns the probability that a value of the t distribution is between −t and t. This is the finite series of
 * Abramowitz and Stegun, Handbook of Mathematical Functions, formulas 26.7.3 and 26.7.4. This series is exact for whole
 * degrees of freedom.
 */
function probabilityWithin(t: number, degrees: number): number {
  const angle = Math.atan(t / Math.sqrt(degrees));
  const [sine, cosine] = [Math.sin(angle), Math.cos(angle)];
  const isOdd = degrees % 2 === 1;
  if (degrees === 1) return (2 * angle) / Math.PI;
  let term = isOdd ? cosine : 1;
  let sum = term;
  for (let power = isOdd ? 3 : 2; power <= degrees - 2; power += 2) {
    term *= ((power - 1) / power) * cosine * cosine;
    sum += term;
  }
  return isOdd ? (2 / Math.PI) * (angle + sine * sum) : sine * sum;
}

/** Upper bound of the quantile: for one degree of freedom, 0.999 of all values are below 637. */
const MOST = 1_000;

/** Returns the number of standard errors on each side of the mean in a confidence interval. */
export function studentT(confidence: number, degrees: number): number {
  let [low, high] = [0, MOST];
  for (let step = 0; step < 60; step += 1) {
    const middle = (low + high) / 2;
    if (probabilityWithin(middle, degrees) < confidence) low = middle;
    else high = middle;
  }
  return high;
}

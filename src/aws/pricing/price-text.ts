import { type Check, text } from '../answers/checks.ts';

/** USD per hour, far above any price. */
const HIGHEST = 1e6;

/**
 * Accepts a price as AWS writes it. A price of zero or below would always be preferred, and an implausibly high price
 * never.
 */
export const priceText: Check = (field) => {
  const price = Number(text(field));
  if (!(price > 0 && price <= HIGHEST)) field.fail('is not a price');
};

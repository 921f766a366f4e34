import { type Check, text } from '../answers/checks.ts';

/** Dollars an hour, far above any price. */
const HIGHEST = 1e6;

/** A price as AWS writes it. What costs nothing, less, or more than anything could would be bought first, or never. */
export const priceText: Check = (field) => {
  const price = Number(text(field));
  if (!(price > 0 && price <= HIGHEST)) field.fail('is no price');
};

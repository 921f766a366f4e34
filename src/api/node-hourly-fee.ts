/** Fee of nodes: costs of each node that the cloud provider does not charge. */

import { own } from '#lib';
import { NODE_HOURLY_FEE_ANNOTATION } from './labels.ts';
import type { NodePool } from './nodepool.ts';

/** Default fee in USD per hour; docs/decisions/0038 derives it. */
export const DEFAULT_NODE_HOURLY_FEE = 0.015;
/** Maximum fee, above the price of most instances. A higher value is probably a monthly fee or in another currency. */
const MOST = 100;

/** Returns the error in a fee in USD per hour, or undefined if it is valid. */
export const nodeHourlyFeeError = (usdPerHour: number): string | undefined =>
  usdPerHour >= 0 && usdPerHour <= MOST ? undefined : `must be an amount in USD per hour from 0 to ${MOST}`;

/** Decimal number without sign and exponent. */
const AMOUNT = /^\d{1,9}(?:\.\d{1,12})?$/;

/**
 * Returns the fee in USD per hour of the NodePool's annotation, or of the setting if the annotation is missing or invalid.
 * @param onProblem called with the error in the annotation
 */
export function nodeHourlyFee(
  { metadata }: NodePool,
  setting: number,
  onProblem: (text: string) => void = () => undefined,
): number {
  const text = own(metadata.annotations ?? {}, NODE_HOURLY_FEE_ANNOTATION);
  if (text === undefined) return setting;
  const fee = AMOUNT.test(text) ? Number(text) : Number.NaN;
  const problem = nodeHourlyFeeError(fee);
  if (problem === undefined) return fee;
  onProblem(`annotation ${NODE_HOURLY_FEE_ANNOTATION} "${text.slice(0, 40)}" ${problem}`);
  return setting;
}

/** The fee of nodes: what each costs besides what the cloud charges for it. */

import { own } from '../lib/own.ts';
import { NODE_HOURLY_FEE_ANNOTATION } from './labels.ts';
import type { NodePool } from './nodepool.ts';

/** USD per hour; docs/decisions/0038 derives it. */
export const DEFAULT_NODE_HOURLY_FEE = 0.015;
/** Dearer than most instances: what is above is a fee by the month, or in another currency. */
const MOST = 100;

/** What is wrong with a fee in USD per hour. */
export const nodeHourlyFeeError = (usdPerHour: number): string | undefined =>
  usdPerHour >= 0 && usdPerHour <= MOST ? undefined : `must be an amount in USD per hour from 0 to ${MOST}`;

/** A plain decimal. */
const AMOUNT = /^\d{1,9}(?:\.\d{1,12})?$/;

/**
 * USD per hour: the NodePool's own fee, else that of the setting. An annotation that cannot be read counts as none.
 * @param onProblem told what is wrong with the annotation
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

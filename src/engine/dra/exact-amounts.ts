/** Exact amounts of capacities and counters, in billionths. */
import type { Quantity } from '#api/objects';
import { readQuantity } from '#api/values';

export const ONE = 1_000_000_000n;
/** The largest amount in Kubernetes. Sums of a few thousand amounts stay exact. */
const MOST = (2n ** 63n - 1n) * ONE;

/** An amount of a published device is not a quantity, or is negative. */
export class AmountError extends Error {}

/** @throws {AmountError} if the text is not a quantity, or is negative */
export function amountOf(quantity: Quantity | undefined): bigint {
  let nano: bigint;
  try {
    ({ nano } = readQuantity(quantity ?? ''));
  } catch (error) {
    throw new AmountError('an amount is not a quantity', { cause: error });
  }
  if (nano < 0n) throw new AmountError('an amount is negative');
  return nano;
}

/** Returns the amount that is rounded up to `min` plus a multiple of `step`. */
export function roundedUp(amount: bigint, min: bigint, step: bigint): bigint {
  const above = amount - min;
  if (above <= 0n) return min;
  const rounded = min + ((above + step - 1n) / step) * step;
  return rounded > MOST ? MOST + 1n : rounded;
}

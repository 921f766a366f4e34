/** Numbers on the command line. Each reader throws an InvalidArgumentError that says what is expected. */
import { InvalidArgumentError } from 'commander';
import { parseQuantity } from '../api/quantity.ts';

/** A factor above 0. */
export function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0) || !Number.isFinite(value)) throw new InvalidArgumentError('It must be a number above 0.');
  return value;
}

/** Within bounds, both included. */
export function numberFrom(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = text.trim() === '' ? Number.NaN : Number(text);
    if (!(value >= least && value <= most))
      throw new InvalidArgumentError(`It must be a number from ${least} to ${most}.`);
    return value;
  };
}

/** A size in bytes within bounds, both included, which are written as users write it: `64Ki`. */
export function sizeFrom(least: string, most: string, example: string): (text: string) => number {
  const [from, to] = [parseQuantity(least), parseQuantity(most)];
  return (text) => {
    let value = Number.NaN;
    try {
      value = parseQuantity(text);
    } catch {
      // said below
    }
    if (value >= from && value <= to) return value;
    throw new InvalidArgumentError(`It must be a size from ${least} to ${most}, such as ${example}.`);
  };
}

/** A whole number within bounds, both included. */
export const wholeFrom =
  (least: number, most: number): ((text: string) => number) =>
  (text) => {
    const value = text.trim() === '' ? Number.NaN : Number(text);
    if (!Number.isInteger(value) || value < least || value > most)
      throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
    return value;
  };

/** Numbers on the command line. Each reader throws an InvalidArgumentError that says what is expected. */
import { InvalidArgumentError } from 'commander';

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

/** A whole number within bounds, both included. */
export const wholeFrom =
  (least: number, most: number): ((text: string) => number) =>
  (text) => {
    const value = text.trim() === '' ? Number.NaN : Number(text);
    if (!Number.isInteger(value) || value < least || value > most)
      throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
    return value;
  };

/** Parsers for numbers on the command line. Each parser throws an InvalidArgumentError with the expected value. */
import { InvalidArgumentError } from 'commander';
import { parseQuantity } from '#api/values';
import { tryRun } from '#lib';

/** Parses a factor greater than 0. */
export function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0) || !Number.isFinite(value)) throw new InvalidArgumentError('It must be a number greater than 0.');
  return value;
}

/** Parses a number within inclusive bounds. */
export function numberFrom(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = text.trim() === '' ? Number.NaN : Number(text);
    if (!(value >= least && value <= most))
      throw new InvalidArgumentError(`It must be a number from ${least} to ${most}.`);
    return value;
  };
}

/** Parses a size in bytes within inclusive bounds, for example `64Ki`. */
export function sizeFrom(least: string, most: string, example: string): (text: string) => number {
  const [from, to] = [parseQuantity(least), parseQuantity(most)];
  return (text) => {
    const value = tryRun(() => parseQuantity(text)) ?? Number.NaN;
    if (value >= from && value <= to) return value;
    throw new InvalidArgumentError(`It must be a size from ${least} to ${most}, for example ${example}.`);
  };
}

/** Parses a whole number within inclusive bounds. */
export const wholeFrom =
  (least: number, most: number): ((text: string) => number) =>
  (text) => {
    const value = text.trim() === '' ? Number.NaN : Number(text);
    if (!Number.isInteger(value) || value < least || value > most)
      throw new InvalidArgumentError(`It must be an integer from ${least} to ${most}.`);
    return value;
  };

/** The bound on what is held of a trace while it is made. */
import { InvalidArgumentError, Option } from 'commander';
import { parseQuantity } from '../../api/quantity.ts';

const LEAST = 2 ** 16;
const MOST = 2 ** 32;

function bytes(text: string): number {
  let value = Number.NaN;
  try {
    value = parseQuantity(text);
  } catch {
    // said below
  }
  if (value >= LEAST && value <= MOST) return value;
  throw new InvalidArgumentError('It must be a size from 64Ki to 4Gi, such as 256Mi.');
}

export const limitOption = (): Option =>
  new Option('--limit <size>', 'how large the trace may become; it ends there, and says so')
    .argParser(bytes)
    .default(256 * 2 ** 20, '256Mi');

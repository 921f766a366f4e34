/** Option for the maximum size of a trace. */
import { Option } from 'commander';
import { sizeFrom } from '../number-arguments.ts';

export const limitOption = (): Option =>
  new Option('--limit <size>', 'how large the trace may become; it ends there, and says so')
    .argParser(sizeFrom('64Ki', '4Gi', '256Mi'))
    .default(256 * 2 ** 20, '256Mi');

/** Option for the maximum size of a trace. */
import { Option } from 'commander';
import { sizeFrom } from '../number-arguments.ts';

export const limitOption = (): Option =>
  new Option('--limit <size>', 'maximum size of the trace; the recording stops with a message at this size')
    .argParser(sizeFrom('64Ki', '4Gi', '256Mi'))
    .default(256 * 2 ** 20, '256Mi');

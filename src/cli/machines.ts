/** How fast the local world's machines are. */
import { Option } from 'commander';
import type { WorldOptions } from '../local/world.ts';
import { positive } from './number-arguments.ts';

export const machineSpeedOption = (byDefault: number): Option =>
  new Option('--machine-speed <factor>', 'how much faster than real ones instances boot, join and stop')
    .argParser(positive)
    .default(byDefault);

/** Real machines need about half a minute from their launch to a node that is ready. */
export const machinesAt = (speed: number): Required<Pick<WorldOptions, 'kubelets' | 'instances'>> => ({
  kubelets: { bootMs: 25_000 / speed, readyMs: 5_000 / speed },
  instances: { startDelayMs: 8_000 / speed, stopDelayMs: 15_000 / speed },
});

/** Option for the speed of the local world's machines. */
import { Option } from 'commander';
import type { WorldOptions } from '#local/world';
import { positive } from './number-arguments.ts';

export const machineSpeedOption = (byDefault: number): Option =>
  new Option('--machine-speed <factor>', 'factor by which instances boot, register and stop faster than real ones')
    .argParser(positive)
    .default(byDefault);

/** Returns the delays of machines. At speed 1, a node is ready about half a minute after its launch. */
export const machinesAt = (speed: number): Required<Pick<WorldOptions, 'kubelets' | 'instances'>> => ({
  kubelets: { bootMs: 25_000 / speed, readyMs: 5_000 / speed },
  instances: { startDelayMs: 8_000 / speed, stopDelayMs: 15_000 / speed },
});

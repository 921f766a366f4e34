/**
 * Builds what the cluster suite needs, so that no test waits for it. `--in-idle-time` leaves the processor to whatever
 * else wants it, and ends with the process that started it.
 */
import { setPriority } from 'node:os';
import { binaries, stopBuilding } from './binaries.ts';
import { prometheusBinaries } from './prometheus.ts';

const LOWEST = 19;

if (process.argv.includes('--in-idle-time')) {
  setPriority(LOWEST);
  process.once('disconnect', stopBuilding);
  // listening keeps a process alive otherwise
  process.channel?.unref();
}

try {
  const progress = (message: string): void => void process.stderr.write(`${message}\n`);
  await binaries(progress);
  await prometheusBinaries(progress);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

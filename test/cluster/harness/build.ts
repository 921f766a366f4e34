/**
 * Builds the executables of the cluster suite, so that no test waits for them. `--in-idle-time` uses idle CPU time
 * only, and exits with its parent process.
 */
import { setPriority } from 'node:os';
import { binaries, stopBuilding } from './binaries.ts';
import { prometheusBinaries } from './prometheus.ts';

const LOWEST = 19;

if (process.argv.includes('--in-idle-time')) {
  setPriority(LOWEST);
  process.once('disconnect', stopBuilding);
  // A listener on the channel would keep the process alive.
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

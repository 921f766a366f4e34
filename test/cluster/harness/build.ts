/** Builds the executables of the cluster suite, so that no test waits for them. */
import { binaries, luaProgram } from './binaries.ts';
import { prometheusBinaries } from './prometheus.ts';

try {
  const progress = (message: string): void => void process.stderr.write(`${message}\n`);
  await binaries(progress);
  await prometheusBinaries(progress);
  await luaProgram(progress);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

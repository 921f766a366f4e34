/** Builds the executables of the suite, so that no test waits for them. */
import { binaries, kueueFiles } from '../../cluster/harness/binaries.ts';

try {
  const progress = (message: string): void => void process.stderr.write(`${message}\n`);
  await binaries(progress);
  await kueueFiles(progress);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

/** Builds what the cluster suite needs, so that no test waits for it. */
import { binaries } from './binaries.ts';

try {
  await binaries((message) => process.stderr.write(`${message}\n`));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

/**
 * The operator's programs as a bundle like the image's: a start from it needs a quarter of the CPU time of a start from the
 * sources. Jest's global setup of the suites that start operators in processes of their own; benchmarks call it.
 */
import { execFileSync } from 'node:child_process';
import { globSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../../..');
const FOLDER = join(ROOT, 'node_modules/.cache/operator');

/** Returns the program of the bundle with this name: `main`, or a file of test/support/operator. */
export const bundled = (name: string): string => join(FOLDER, `operator/${name}.js`);

const changedMs = (file: string): number => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** Builds the bundle if a file is newer than it. */
export default function build(): void {
  const inputs = globSync(['src/**', 'test/support/**', 'build.ts', 'package-lock.json'], { cwd: ROOT });
  const newestMs = Math.max(...inputs.map((file) => changedMs(join(ROOT, file))));
  if (changedMs(bundled('main')) > newestMs) return;
  execFileSync(process.execPath, ['build.ts', FOLDER, 'test/support/operator/process.ts'], { cwd: ROOT });
  writeFileSync(join(FOLDER, 'package.json'), '{"type":"module"}');
}

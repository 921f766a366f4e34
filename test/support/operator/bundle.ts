/** Bundles of the operator like that of its image. A bundle starts in a quarter of the CPU time of the sources. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../../..');
const PROGRAM = 'src/program.ts';

/** Bundles of this process by the file of their program. All test files of a worker share them. */
const bundles = new Map<string, string>();

/**
 * Returns the path of the bundled program, which exists until this process exits.
 *
 * @param main file of the program, relative to the root of the repository
 */
export function bundleOf(main = PROGRAM): string {
  const built = bundles.get(main) ?? build(main);
  bundles.set(main, built);
  return built;
}

function build(main: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'bundle-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  execFileSync(process.execPath, [join(ROOT, 'build.ts'), join(folder, 'dist'), main], { cwd: ROOT });
  return join(folder, 'dist/operator/main.js');
}

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { built } from './binaries.ts';

/** A published Python package. */
export interface PythonPackage {
  /** Name of the cache folder. */
  readonly tool: string;
  /** Name in the package index, with extras. */
  readonly name: string;
  readonly version: string;
}

/**
 * Returns the folder of the package with its dependencies, and installs them if they are missing. Its programs are in the
 * subfolder `bin`. They need the folder as `PYTHONPATH`.
 * @throws Error if there is no Python with pip, or if the installation fails
 */
export const pythonPackage = (
  { tool, name, version }: PythonPackage,
  progress: (message: string) => void,
): Promise<string> =>
  built(
    { tool, version },
    async (work) => {
      const options = ['--quiet', '--disable-pip-version-check', '--no-compile', '--target', join(work, 'bin')];
      await promisify(execFile)('python3', ['-m', 'pip', 'install', ...options, `${name}==${version}`], { cwd: work });
    },
    progress,
  );

/** Shell commands as users type them, with the built kubectl and helm in the path and without settings of the user. */
import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { delimiter, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { type Binaries, binaries } from './binaries.ts';

const run = promisify(execFile);
const LIMIT_MS = 180_000;

export interface Shell {
  /** Runs a script in the checkout and returns its standard output. @throws Error with the output if it fails */
  (script: string): Promise<string>;
  readonly binaries: Binaries;
}

/**
 * @param folder folder for settings and caches of the tools, which is created if necessary
 * @param env variables besides PATH, HOME and KUBECONFIG; a PATH is prepended
 */
export async function startShell(
  folder: string,
  kubeconfig: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Shell> {
  const tools = await binaries();
  const home = join(folder, 'shell');
  await mkdir(home, { recursive: true });
  const path = [env.PATH, dirname(tools.kubectl), dirname(tools.helm), process.env.PATH];
  const shell = async (script: string): Promise<string> => {
    try {
      const { stdout } = await run('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
        cwd: resolve(import.meta.dirname, '../../..'),
        env: { ...env, HOME: home, KUBECONFIG: kubeconfig, PATH: path.filter(Boolean).join(delimiter) },
        timeout: LIMIT_MS,
        maxBuffer: 64 * 1024 * 1024,
      });
      return stdout;
    } catch (error) {
      const { stderr = '', stdout = '' } = error as { readonly stderr?: string; readonly stdout?: string };
      throw new Error(`${script}\n${stdout}${stderr || String(error)}`, { cause: error });
    }
  };
  return Object.assign(shell, { binaries: tools });
}

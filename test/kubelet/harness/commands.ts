/** Commands of the machine. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

const LIMIT_MS = 20 * 60_000;
const stopped = new AbortController();

/** Ends running commands, whose callers get an error and remove their files. Later commands fail. */
export const stopCommands = (): void => stopped.abort();

export interface CommandOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly limitMs?: number;
}

/** Runs a command and returns its standard output. @throws Error with the last lines of its output */
export async function run(command: string, argv: readonly string[], options: CommandOptions = {}): Promise<string> {
  const { limitMs = LIMIT_MS, ...rest } = options;
  try {
    const limits = { timeout: limitMs, signal: stopped.signal, maxBuffer: 64 * 1024 * 1024 };
    const { stdout } = await execute(command, argv, { ...rest, ...limits });
    return stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { readonly stdout?: string; readonly stderr?: string };
    const output = `${stdout}\n${stderr}`.trim().split('\n').slice(-30).join('\n');
    throw new Error(`${command} ${argv.join(' ')} failed: ${output || String(error)}`, { cause: error });
  }
}

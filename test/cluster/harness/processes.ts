/** Child processes with output in files, stopped by their process ID. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const STOP_LIMIT_MS = 10_000;

export interface ProcessOptions {
  /** Name in messages and of the log `<name>.log` in `folder`. */
  readonly name: string;
  readonly path: string;
  readonly argv: readonly string[];
  readonly folder: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Outlives this process. */
  readonly detached?: boolean;
}

export interface Process {
  readonly name: string;
  readonly pid: number;
  /** Undefined while the process runs. */
  readonly exit: string | undefined;
  /** Returns the output of both streams. */
  log(): string;
  signal(signal: NodeJS.Signals): void;
  /** Lets this process end before the other one does. */
  unref(): void;
  /** Sends SIGTERM, sends SIGKILL after ten seconds, and returns after the exit. */
  stop(): Promise<void>;
}

/** @throws Error if the executable cannot be started */
export async function startProcess(options: ProcessOptions): Promise<Process> {
  const { name, path, argv, folder, env = process.env, detached = false } = options;
  const file = join(folder, `${name}.log`);
  const output = openSync(file, 'a');
  const child = spawn(path, argv, { cwd: folder, env, detached, stdio: ['ignore', output, output] });
  closeSync(output);
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve).once('error', (cause) => reject(new Error(`Cannot start ${name}`, { cause })));
  });
  let exit: string | undefined;
  const ended = new Promise<void>((resolve) => {
    child.once('exit', (code, signal) => {
      exit = signal ? `ended by ${signal}` : `exit code ${code}`;
      resolve();
    });
  });
  if (detached) child.unref();
  return {
    name,
    pid: pidOf(child),
    get exit() {
      return exit;
    },
    log: () => readFileSync(file, 'utf8'),
    signal: (signal) => void child.kill(signal),
    unref: () => child.unref(),
    async stop() {
      if (exit !== undefined) return;
      // A paused process handles SIGTERM only after SIGCONT.
      child.kill('SIGCONT');
      child.kill('SIGTERM');
      const insist = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
      await ended;
      clearTimeout(insist);
    },
  };
}

function pidOf({ pid }: ChildProcess): number {
  if (pid === undefined) throw new Error('Cannot happen: a started process has an id');
  return pid;
}

/** Returns the last log lines of every process for an error message. */
export const logTails = (processes: readonly Process[], lines = 15): string =>
  processes
    .map(
      (one) =>
        `--- ${one.name}${one.exit ? ` (${one.exit})` : ''}\n${one.log().trimEnd().split('\n').slice(-lines).join('\n')}`,
    )
    .join('\n');

/** The process ended, so further waits cannot succeed. */
export class ProcessEnded extends Error {}

/** @throws ProcessEnded if the process is not running */
export function requireRunning({ name, exit }: Process): void {
  if (exit !== undefined) throw new ProcessEnded(`${name} ended: ${exit}`);
}

/** Returns the first result of `probe` that is not undefined. @throws Error with the last failure after `limitMs` */
export async function eventually<T>(
  what: string,
  probe: () => Promise<T | undefined> | T | undefined,
  limitMs: number,
  everyMs = 100,
): Promise<T> {
  const deadline = performance.now() + limitMs;
  for (let cause: unknown; ; ) {
    try {
      const answer = await probe();
      if (answer !== undefined) return answer;
      cause = undefined;
    } catch (error) {
      if (error instanceof ProcessEnded) throw error;
      cause = error;
    }
    if (performance.now() > deadline)
      throw new Error(`${what}: not within ${limitMs / 1000} s${cause ? `, last: ${String(cause)}` : ''}`, { cause });
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

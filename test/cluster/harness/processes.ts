/** Child processes with their output in files, ended by their own process id. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';

const STOP_LIMIT_MS = 10_000;

export interface ProcessOptions {
  /** Names the process in messages, and its log `<name>.log` in `folder`. */
  readonly name: string;
  readonly path: string;
  readonly argv: readonly string[];
  readonly folder: string;
  readonly env?: NodeJS.ProcessEnv;
  /** It outlives this process. */
  readonly detached?: boolean;
}

export interface Process {
  readonly name: string;
  readonly pid: number;
  /** Undefined while it runs. */
  readonly exit: string | undefined;
  /** What it has written, both streams together. */
  log(): string;
  signal(signal: NodeJS.Signals): void;
  /** Asks it to end, insists after ten seconds, and answers when it is gone. */
  stop(): Promise<void>;
}

/** @throws Error when the executable cannot be started */
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
    async stop() {
      if (exit !== undefined) return;
      // A paused process takes its end only when it goes on.
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

/** The last lines of every process's log, for the message of a failure. */
export const logTails = (processes: readonly Process[], lines = 15): string =>
  processes
    .map(
      (one) =>
        `--- ${one.name}${one.exit ? ` (${one.exit})` : ''}\n${one.log().trimEnd().split('\n').slice(-lines).join('\n')}`,
    )
    .join('\n');

/** Ports of the loopback interface that nobody listened on a moment ago. */
export async function freePorts(count: number): Promise<readonly number[]> {
  // All are held until the last is found, so that they differ.
  const servers = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<ReturnType<typeof createServer>>((resolve, reject) => {
          const server = createServer();
          server.once('error', reject).listen(0, '127.0.0.1', () => resolve(server));
        }),
    ),
  );
  const ports = servers.map((server) => {
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  });
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/** Waiting for anything else from it is pointless. */
export class ProcessEnded extends Error {}

/** @throws ProcessEnded unless it runs */
export function requireRunning({ name, exit }: Process): void {
  if (exit !== undefined) throw new ProcessEnded(`${name} ended: ${exit}`);
}

/** Answers what `probe` answers as soon as that is not undefined. @throws Error with the last failure after `limitMs` */
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

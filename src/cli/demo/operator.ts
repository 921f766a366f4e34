/**
 * Runs the operator in the same way as in a cluster: as a separate process with its own entry point, configured by
 * environment variables.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

interface OperatorProcess {
  readonly pid: number;
  readonly logFile: string;
  /** Rejects with the end of the log if the operator exits before `stop` is called. */
  readonly failed: Promise<never>;
  stop(): Promise<void>;
}

/** Time limit for a graceful stop, after which the process is killed. */
const STOP_MS = 10_000;

/**
 * Returns the operator's entry point: its bundle beside the bundle of the command line, or TypeScript in a checkout.
 */
const entry = (): string =>
  fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? '../../program.ts' : '../operator/main.js', import.meta.url));

const lastLines = (file: string, count: number): string =>
  readFileSync(file, 'utf8').trimEnd().split('\n').slice(-count).join('\n');

export function startOperatorProcess(env: Readonly<Record<string, string>>, logFile: string): OperatorProcess {
  const child: ChildProcess = spawn(process.execPath, [entry()], {
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log = createWriteStream(logFile);
  child.stdout?.pipe(log, { end: false });
  child.stderr?.pipe(log, { end: false });

  let stopping = false;
  const failed = new Promise<never>((_, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      if (!stopping)
        reject(
          new Error(
            `the operator exited with ${signal ?? `code ${code}`}; last lines of ${logFile}:\n${lastLines(logFile, 8)}`,
          ),
        );
    });
  });
  // Stages wait for this promise, too. Between stages a rejection has no handler.
  failed.catch(() => {});

  return {
    pid: child.pid ?? 0,
    logFile,
    failed,
    async stop() {
      stopping = true;
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      const force = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await ended;
      clearTimeout(force);
    },
  };
}

/** Runs the operator as a user's cluster would: its own process, its own entry point, settings from the environment. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

interface OperatorProcess {
  readonly pid: number;
  readonly logFile: string;
  /** Rejects, with the end of the log, when the operator ends before `stop`. */
  readonly failed: Promise<never>;
  stop(): Promise<void>;
}

/** How long a graceful stop may take before it is forced. */
const STOP_MS = 10_000;

/** The operator's entry point: its bundle beside that of the command line, TypeScript in a checkout. */
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
          new Error(`the operator ended with ${signal ?? `code ${code}`}; ${logFile} ends:\n${lastLines(logFile, 8)}`),
        );
    });
  });
  // Whoever waits for a stage also waits for this; nobody waits between stages.
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

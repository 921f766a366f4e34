/** Runs the operator of the demo as a Deployment would: as a separate process that is started again when it exits. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export interface SupervisorOptions {
  /** Environment variables, which configure the operator. */
  readonly env: Readonly<Record<string, string>>;
  readonly logFile: string;
  /** Called when the operator exits although `stop` was not called, before it is started again. */
  readonly onExit?: (how: string) => void;
  /** Called with the process ID after each start, also after the first. */
  readonly onStart?: (pid: number) => void;
  /** Script that the process runs. Default: the entry point of the operator. */
  readonly script?: string;
  /** Pause before the first restart in a row, in milliseconds. */
  readonly firstPauseMs?: number;
}

export interface OperatorSupervisor {
  /** Rejects if the operator exits several times in a row soon after its start. It is still started again afterwards. */
  readonly failed: Promise<never>;
  stop(): Promise<void>;
}

/** Time limit for a graceful stop, after which the process is killed. */
const STOP_MS = 10_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/** An operator that runs for this long has started successfully. */
const STARTED_MS = 30_000;
/** Number of exits in a row, soon after a start, that show a permanent cause. */
const FAILED_STARTS = 3;

/**
 * Returns the operator's entry point: its bundle beside the bundle of the command line, or TypeScript in a checkout.
 */
const entry = (): string =>
  fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? '../../program.ts' : '../operator/main.js', import.meta.url));

export function superviseOperator(options: SupervisorOptions): OperatorSupervisor {
  const {
    env,
    logFile,
    onExit = () => {},
    onStart = () => {},
    script = entry(),
    firstPauseMs = FIRST_PAUSE_MS,
  } = options;
  const log = createWriteStream(logFile, { flags: 'a' });
  const life = new AbortController();
  const failure = Promise.withResolvers<never>();
  // between two stages, a rejection has no handler
  failure.promise.catch(() => {});
  let child: ChildProcess | undefined;

  const runOnce = async (): Promise<string> => {
    const started = spawn(process.execPath, [script], {
      env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child = started;
    started.stdout?.pipe(log, { end: false });
    started.stderr?.pipe(log, { end: false });
    if (started.pid !== undefined) onStart(started.pid);
    const [code, signal] = (await once(started, 'exit')) as [number | null, NodeJS.Signals | null];
    return signal ?? `code ${code}`;
  };

  const supervise = async (): Promise<void> => {
    let failedStarts = 0;
    while (!life.signal.aborted) {
      const startedMs = performance.now();
      const how = await runOnce().catch((error: Error) => error.message);
      if (life.signal.aborted) return;
      onExit(how);
      failedStarts = performance.now() - startedMs < STARTED_MS ? failedStarts + 1 : 0;
      if (failedStarts >= FAILED_STARTS)
        failure.reject(new Error(`the operator exited ${failedStarts} times soon after its start, last with ${how}`));
      const pauseMs = Math.min(LONGEST_PAUSE_MS, firstPauseMs * 2 ** Math.max(0, failedStarts - 1));
      await sleep(pauseMs, undefined, { signal: life.signal }).catch(() => undefined);
    }
  };
  const ended = supervise();

  return {
    failed: failure.promise,
    async stop() {
      life.abort();
      const force = setTimeout(() => child?.kill('SIGKILL'), STOP_MS);
      if (child?.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
      await ended;
      clearTimeout(force);
      await new Promise<void>((resolve) => log.end(resolve));
    },
  };
}

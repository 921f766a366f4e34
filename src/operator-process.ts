/** The operator as a process: its log, its memory, its threads and its exit code. */

import { configureAws } from '#aws/provider';
import { Suspects, WorkerSimulationRunner, WorkerSolver, WorkerTurns } from '#engine-worker';
import { realClock } from '#lib/clock';
import type { Logger } from '#observe/logger';
import { createLogger } from '#observe/setup';
import { EXIT, logStrayOutput, StartError } from '#process/life';
import { ensureHeap, guardHeap, watchProcess } from '#process/memory';
import { HelpRequested, SettingsError } from '#process/settings';
import { type OperatorOptions, openLog, startOperator } from './main.ts';

type Options = Pick<OperatorOptions, 'argv' | 'env'>;

/**
 * Runs until a signal or the loss of the lease ends the operator. Returns the exit code.
 * @param stopping aborts with the first signal
 */
export async function runProcess({ argv, env }: Options, stopping: AbortSignal): Promise<number> {
  let log = lastResortLog();
  try {
    const { settings } = configureAws(argv, env);
    log = openLog(settings, realClock(), { env });
    logStrayOutput(log);
    logDefects(log);
    ensureHeap(settings.memoryLimit);
    const { workerLimits, pressure, isOneWorker, heapMeasured, start } = watchProcess(settings.memoryLimit);
    guardHeap(log, heapMeasured);
    const limits = {
      resourceLimits: workerLimits,
      // a suspected pod of one thread is excluded from the other thread too
      suspects: new Suspects(realClock()),
      turns: new WorkerTurns(realClock(), isOneWorker),
    };
    const [solver, simulations] = [new WorkerSolver(limits), new WorkerSimulationRunner(limits)];
    stopping.addEventListener('abort', () => endLater(log), { once: true });
    const operator = await startOperator({
      argv,
      env,
      configureProvider: configureAws,
      log,
      signal: stopping,
      solver: solver.solve,
      simulations,
      pressure,
    });
    start(operator, { clock: realClock(), workers: [solver, simulations] });
    return (await operator.done) === 'stopped' ? EXIT.stopped : EXIT.failed;
  } catch (error) {
    return exitCodeOf(error, { log, stopping });
  }
}

/** Time to stop, in milliseconds. Kubernetes kills the container 30 seconds after the signal. */
const STOP_MS = 25_000;

/** Ends a process whose work in progress takes too long, for example if AWS does not respond to calls. */
function endLater(log: Logger): void {
  const end = (): void => {
    log.error('work in hand did not finish in time, ending the process', { 'after-seconds': STOP_MS / 1_000 });
    process.exit(EXIT.failed);
  };
  setTimeout(end, STOP_MS).unref();
}

/** Creates the logger for failures before the settings are known. */
const lastResortLog = (): Logger =>
  createLogger({ level: 'info', outputPaths: ['stdout'], errorOutputPaths: ['stderr'] });

/** Reports the reason why the operator did not start, and returns the exit code. */
function exitCodeOf(
  error: unknown,
  { log, stopping }: { readonly log: Logger; readonly stopping: AbortSignal },
): number {
  if (error instanceof HelpRequested) {
    process.stdout.write(`${error.message}\n`);
    return EXIT.stopped;
  }
  if (stopping.aborted) {
    log.info('stopped before the start was complete', { reason: stopping.reason });
    return EXIT.stopped;
  }
  if (error instanceof StartError) log.error(`${error.message}`, { error: error.cause, remedy: error.remedy });
  else if (error instanceof SettingsError) log.error('failed reading settings', { error });
  else log.error('failed starting', { error });
  return EXIT.failed;
}

/** Reports an error that no code handles, and ends the process, because its state is unknown. */
function logDefects(log: Logger): void {
  process.on('uncaughtException', (error) => {
    log.error('ending the process after an error that no code handles', { error, stack: error.stack });
    process.exit(EXIT.failed);
  });
}

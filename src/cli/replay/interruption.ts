/** Handles Ctrl-C: the first stops the replay and shows the partial result, and the second exits immediately. */

/** Exit code of an interrupted process: 128 plus the number of SIGINT. */
export const INTERRUPTED = 130;

type Signal = 'SIGINT' | 'SIGTERM';
const SIGNALS: readonly Signal[] = ['SIGINT', 'SIGTERM'];

interface Signals {
  on(signal: Signal, handler: () => void): unknown;
  off(signal: Signal, handler: () => void): unknown;
  exit(code: number): void;
}

/**
 * Runs a task that can be stopped.
 *
 * @param stopped called at the first signal, to print a message
 */
export async function stoppable<T>(
  run: (signal: AbortSignal) => Promise<T>,
  stopped: () => void,
  signals: Signals = process,
): Promise<T> {
  const stop = new AbortController();
  const interrupt = (): void => {
    if (stop.signal.aborted) signals.exit(INTERRUPTED);
    else {
      stop.abort();
      stopped();
    }
  };
  for (const signal of SIGNALS) signals.on(signal, interrupt);
  try {
    return await run(stop.signal);
  } finally {
    for (const signal of SIGNALS) signals.off(signal, interrupt);
  }
}

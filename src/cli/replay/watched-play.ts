/** Plays a trace in a terminal: with a progress line, until the end or until Ctrl-C. */
import type { ReplayResult } from '#replay/run';
import type { PlayableSet } from './play.ts';
import { progressLine } from './progress.ts';

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
 * Runs a task that Ctrl-C stops. A second Ctrl-C ends the process immediately.
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

/** Plays with a progress line until the end or until the user stops it. */
export async function playWithProgress(
  prepared: PlayableSet,
): Promise<{ readonly result: ReplayResult; readonly isStopped: boolean }> {
  const progress = progressLine(prepared);
  let isStopped = false;
  try {
    const result = await stoppable(
      (signal) => prepared.play(signal, (at) => progress.at(at)),
      () => {
        isStopped = true;
        progress.done();
        process.stderr.write('stopping; press Ctrl-C again to exit immediately\n');
      },
    );
    return { result, isStopped };
  } finally {
    progress.done();
  }
}

/** Handles SIGTERM and SIGINT. Process 1 of a container ignores both signals unless it handles them. */
import { constants } from 'node:os';

/** Returns a signal that aborts on the first SIGTERM or SIGINT. The second one ends the process immediately. */
export function stopOnSignals(): AbortSignal {
  const stopping = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const)
    process.on(name, () => {
      if (stopping.signal.aborted) process.exit(128 + constants.signals[name]);
      stopping.abort(new Error(`the process received ${name}`));
    });
  return stopping.signal;
}

/** SIGTERM and SIGINT. Process 1 of a container ignores both until it handles them. */
import { constants } from 'node:os';

/** Returns a signal that aborts with the first of the two. The second ends the process at once. */
export function stopOnSignals(): AbortSignal {
  const stopping = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const)
    process.on(name, () => {
      if (stopping.signal.aborted) process.exit(128 + constants.signals[name]);
      stopping.abort(new Error(`the process received ${name}`));
    });
  return stopping.signal;
}

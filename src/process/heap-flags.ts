/** Limits of V8's heaps on the command line of Node.js. */
import { setFlagsFromString } from 'node:v8';

/**
 * Clears V8's heap flags so that each worker can have its own limits. The heap of the main thread keeps its limit from the
 * command line. If the flags stayed set, that limit would replace the limits of every worker.
 */
export function forgetHeapFlags(): void {
  for (const flag of ['max-old-space-size', 'max-semi-space-size', 'max-heap-size']) setFlagsFromString(`--${flag}=0`);
}

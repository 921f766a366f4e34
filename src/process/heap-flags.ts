/** Limits of V8's heaps that Node.js was started with. */
import { setFlagsFromString } from 'node:v8';

/**
 * Lets threads have limits of their own. The main thread's heap keeps the limit that it was given on the command line;
 * a worker's would be the same one otherwise, whatever its own limits say.
 */
export function forgetHeapFlags(): void {
  for (const flag of ['max-old-space-size', 'max-semi-space-size', 'max-heap-size']) setFlagsFromString(`--${flag}=0`);
}

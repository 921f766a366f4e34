/** Heap measurements for tests of memory that is held. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Returns the used heap in bytes after a garbage collection. */
export function heapUsed(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

/** What is on the heap, for tests of what is held. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Bytes, after a collection of garbage. */
export function heapUsed(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

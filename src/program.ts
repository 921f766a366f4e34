/**
 * Program of the operator. Handles signals before the operator's code is loaded. This takes seconds if the container
 * has little CPU.
 */
import { EXIT, stopOnSignals } from '#process/life';

const stopping = stopOnSignals();
const end = (): never => process.exit(EXIT.stopped);
stopping.addEventListener('abort', end);
const { runProcess } = await import('./operator-process.ts');
stopping.removeEventListener('abort', end);
process.exit(await runProcess({ argv: process.argv.slice(2), env: process.env }, stopping));

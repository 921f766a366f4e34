export { Closers } from '../closers.ts';
export { EXIT } from '../exit-codes.ts';
export { type SharedCheck, sharedCheck } from '../shared-check.ts';
export { Start } from '../start.ts';
export { StartError } from '../start-error.ts';
export { stopOnSignals } from '../stop-signals.ts';
export { logStrayOutput, logWarnings } from '../stray-output.ts';

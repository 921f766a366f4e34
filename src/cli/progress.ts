/**
 * Shows the progress of a long command as a line on standard error, if this is a terminal. The engine blocks the main
 * thread, so timers would not fire. Therefore another thread writes the line.
 */
import { writeSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

/** Time before the line is shown. */
const PATIENCE_MS = 2_000;
const STDERR = 2;

/** Indexes in the memory that both threads share. */
const STATE = 0;
const SHOWN = 1;
/** State of the line: free, being written by the other thread, or finished. */
const [IDLE, WRITING, OVER] = [0, 1, 2];

/** Program of the other thread. Plain JavaScript, because it is passed as text. */
const PROGRAM = `
const { writeSync } = require('node:fs');
const { workerData: { memory, verb, patienceMs } } = require('node:worker_threads');
const startedMs = Date.now();
const show = () => {
  if (Atomics.compareExchange(memory, ${STATE}, ${IDLE}, ${WRITING}) !== ${IDLE}) return;
  const seconds = Math.round((Date.now() - startedMs) / 1000);
  writeSync(${STDERR}, '\\r\\x1b[K' + verb + ': running, ' + seconds + ' s');
  Atomics.store(memory, ${SHOWN}, 1);
  Atomics.store(memory, ${STATE}, ${IDLE});
};
setTimeout(() => { show(); setInterval(show, 1000); }, patienceMs);
`;

interface Terminal {
  readonly isTTY?: boolean;
  write: typeof process.stderr.write;
}

let end = (): void => undefined;

/** Removes the line and stops the display. */
export const endProgress = (): void => end();

/**
 * Shows the line after some time, and until the process writes its first output.
 *
 * @param verb text at the start of the line
 */
export function startProgress(verb: string, outputs: readonly Terminal[] = [process.stderr, process.stdout]): void {
  if (!outputs[0]?.isTTY) return;
  const memory = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
  const worker = new Worker(PROGRAM, {
    eval: true,
    execArgv: [],
    workerData: { memory, verb, patienceMs: PATIENCE_MS },
  });
  // a progress line that cannot be shown must not cause an error
  worker.on('error', () => undefined);
  worker.unref();
  const restore = outputs.map((output) => beforeWriting(output, endProgress));
  end = () => {
    end = () => undefined;
    for (const each of restore) each();
    while (Atomics.compareExchange(memory, STATE, IDLE, OVER) === WRITING);
    if (Atomics.load(memory, SHOWN) === 1) writeSync(STDERR, '\r\x1b[K');
    void worker.terminate();
  };
}

/** Calls `first` before the next output. Returns a function that restores the original output. */
function beforeWriting(output: Terminal, first: () => void): () => void {
  const { write } = output;
  const restore = (): void => {
    output.write = write;
  };
  output.write = ((...text: unknown[]) => {
    first();
    return Reflect.apply(write, output, text);
  }) as typeof write;
  return restore;
}

/**
 * What a verb that takes long shows meanwhile: a line on standard error, if that is a terminal. The engine works without a
 * pause, so that no timer of this thread would run: another thread writes the line.
 */
import { writeSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

/** Who waits for less does not wonder. */
const PATIENCE_MS = 2_000;
const STDERR = 2;

/** The places of the memory that both threads see. */
const STATE = 0;
const SHOWN = 1;
/** Whose turn it is to write: nobody's, the other thread's, or never again. */
const [IDLE, WRITING, OVER] = [0, 1, 2];

/** Runs in a thread of its own; plain JavaScript, because it is handed over as a text. */
const PROGRAM = `
const { writeSync } = require('node:fs');
const { workerData: { memory, verb, patienceMs } } = require('node:worker_threads');
const startedMs = Date.now();
const show = () => {
  if (Atomics.compareExchange(memory, ${STATE}, ${IDLE}, ${WRITING}) !== ${IDLE}) return;
  const seconds = Math.round((Date.now() - startedMs) / 1000);
  writeSync(${STDERR}, '\\r\\x1b[K' + verb + ': working, ' + seconds + ' s');
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

/** Takes the line away; nothing is shown from then on. */
export const endProgress = (): void => end();

/**
 * Shows the line after a while, up to the first text that the process writes itself.
 * @param verb what the line begins with
 */
export function startProgress(verb: string, outputs: readonly Terminal[] = [process.stderr, process.stdout]): void {
  if (!outputs[0]?.isTTY) return;
  const memory = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
  const worker = new Worker(PROGRAM, {
    eval: true,
    execArgv: [],
    workerData: { memory, verb, patienceMs: PATIENCE_MS },
  });
  // a line that cannot be shown is no reason to fail
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

/** Calls `first` before the next text is written; answers how to give that up. */
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

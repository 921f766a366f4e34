/** The program of a replay's thread: plays one set of settings. */
import { parentPort, workerData } from 'node:worker_threads';
import { run } from '../run.ts';
import type { TraceEvent } from '../trace/trace.ts';
import type { Order, Report, RunProgress, ThreadData } from './protocol.ts';

const { header, world, set } = workerData as ThreadData;
const stop = new AbortController();
let supply: ((order: Exclude<Order, 'stop'>) => void) | undefined;

const report = (message: Report): void => parentPort?.postMessage(message);

/** Asks for events as they are needed: a trace may be larger than memory. */
async function* events(): AsyncGenerator<TraceEvent> {
  for (;;) {
    const answer = new Promise<Exclude<Order, 'stop'>>((resolve) => {
      supply = resolve;
    });
    report('more');
    const { events: next, isLast } = await answer;
    yield* next;
    if (isLast) return;
  }
}

parentPort?.on('message', (order: Order) => {
  if (order === 'stop') stop.abort();
  else supply?.(order);
});

try {
  const onProgress = (progress: RunProgress): void => report({ progress });
  report({ run: await run({ trace: { header, events }, world, set, signal: stop.signal, onProgress }) });
} catch (error) {
  report({ error });
} finally {
  parentPort?.close();
}

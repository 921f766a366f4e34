/** Program of a replay's thread, which plays one life with one set of settings. */
import { parentPort, workerData } from 'node:worker_threads';
import { run } from '../run.ts';
import type { TraceEvent } from '../trace/trace.ts';
import type { RunProgress, ThreadData, ThreadOrder, ThreadReport } from './protocol.ts';

const { header, world, set, life } = workerData as ThreadData;
const stop = new AbortController();
let supply: ((order: Exclude<ThreadOrder, 'stop'>) => void) | undefined;

const report = (message: ThreadReport): void => parentPort?.postMessage(message);

/** Requests events when they are needed, because a trace may be larger than memory. */
async function* events(): AsyncGenerator<TraceEvent> {
  for (;;) {
    const answer = new Promise<Exclude<ThreadOrder, 'stop'>>((resolve) => {
      supply = resolve;
    });
    report('more');
    const { events: next, isLast } = await answer;
    yield* next;
    if (isLast) return;
  }
}

parentPort?.on('message', (order: ThreadOrder) => {
  if (order === 'stop') stop.abort();
  else supply?.(order);
});

try {
  const onProgress = (progress: RunProgress): void => report({ progress });
  report({ run: await run({ trace: { header, events }, world, set, life, signal: stop.signal, onProgress }) });
} catch (error) {
  report({ error });
} finally {
  parentPort?.close();
}

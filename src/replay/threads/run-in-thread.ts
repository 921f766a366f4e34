/** One run of a replay in a thread of its own. */
import { Worker } from 'node:worker_threads';
import { messageOf } from '../../api/error-message.ts';
import type { ReplayRun } from '../result.ts';
import type { RunOptions } from '../run.ts';
import type { Trace, TraceEvent } from '../trace/trace.ts';
import type { Order, Report, ThreadData } from './protocol.ts';

/** Beside this file in the sources, beside the entry points in the bundle. */
const PROGRAM = new URL(import.meta.url.endsWith('.ts') ? './replay-thread.ts' : './replay-thread.js', import.meta.url);

/** Events that are sent at a time. */
const BATCH = 500;

/**
 * As `run` answers, from a thread of its own.
 * @throws Error when the trace cannot be read, or with what the run failed with, or when the thread runs out of memory
 */
export async function runInThread({ trace, world, set, signal, onProgress }: RunOptions): Promise<ReplayRun> {
  const data: ThreadData = { header: trace.header, world, set };
  const worker = new Worker(PROGRAM, { workerData: data, name: `replay ${set.name}` });
  const send = (order: Order): void => worker.postMessage(order);
  const stop = (): void => send('stop');
  const batches = batchesOf(trace);
  try {
    return await new Promise<ReplayRun>((resolve, reject) => {
      const supply = async (): Promise<void> => {
        const { value } = await batches.next();
        send(value ?? { events: [], isLast: true });
      };
      worker.on('message', (message: Report) => {
        if (message === 'more') supply().catch(reject);
        else if ('progress' in message) onProgress(message.progress);
        else if ('run' in message) resolve(message.run);
        else reject(message.error);
      });
      worker.on('error', (error) => reject(new Error(`set ${set.name}: ${failure(error)}`, { cause: error })));
      worker.on('exit', () => reject(new Error(`set ${set.name}: its thread ended`)));
      if (signal?.aborted) stop();
      signal?.addEventListener('abort', stop, { once: true });
    });
  } finally {
    signal?.removeEventListener('abort', stop);
    await batches.return?.(undefined);
    await worker.terminate();
  }
}

const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error && (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';

const failure = (error: unknown): string =>
  isOutOfMemory(error) ? 'it needs more memory than a thread may have; try --parallel 1' : messageOf(error);

/** The trace in portions, the last of which may be short. */
async function* batchesOf(trace: Trace): AsyncGenerator<Exclude<Order, 'stop'>> {
  let events: TraceEvent[] = [];
  for await (const event of trace.events()) {
    events.push(event);
    if (events.length < BATCH) continue;
    yield { events, isLast: false };
    events = [];
  }
  yield { events, isLast: true };
}

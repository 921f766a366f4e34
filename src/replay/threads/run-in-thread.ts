/** Plays one life with one set of settings in its own thread. */
import { Worker } from 'node:worker_threads';
import { messageOf } from '#lib';
import type { ReplayRun } from '../result.ts';
import type { RunOptions } from '../run.ts';
import type { Trace, TraceEvent } from '../trace/trace.ts';
import { heapMib, type ReplayMemory } from './memory.ts';
import type { ThreadData, ThreadOrder, ThreadReport } from './protocol.ts';

/** File of the thread's program. It is beside this file in the sources and beside the entry points in the bundle. */
const PROGRAM = new URL(import.meta.url.endsWith('.ts') ? './replay-thread.ts' : './replay-thread.js', import.meta.url);

/** Number of events per message. */
const BATCH = 500;

/**
 * Returns the result of `run` from a separate thread.
 * @throws Error if the trace cannot be read, the run fails, or the thread runs out of memory
 */
export async function runInThread(options: RunOptions, memory: ReplayMemory): Promise<ReplayRun> {
  const { trace, world, set, life, signal, onProgress } = options;
  const data: ThreadData = { header: trace.header, world, set, life };
  const name = `set ${set.name}${life === undefined ? '' : `, life ${life}`}`;
  const worker = new Worker(PROGRAM, { workerData: data, name: `replay ${name}`, resourceLimits: memory.heap });
  const send = (order: ThreadOrder): void => worker.postMessage(order);
  const stop = (): void => send('stop');
  const batches = batchesOf(trace);
  try {
    return await new Promise<ReplayRun>((resolve, reject) => {
      const supply = async (): Promise<void> => {
        const { value } = await batches.next();
        send(value ?? { events: [], isLast: true });
      };
      worker.on('message', (message: ThreadReport) => {
        if (message === 'more') supply().catch(reject);
        else if ('progress' in message) onProgress(message.progress);
        else if ('run' in message) resolve(message.run);
        else reject(message.error);
      });
      worker.on('error', (error) => reject(new Error(`${name}: ${failure(error, memory)}`, { cause: error })));
      worker.on('exit', () => reject(new Error(`${name}: its worker exited`)));
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
  (error as Partial<NodeJS.ErrnoException> | undefined)?.code === 'ERR_WORKER_OUT_OF_MEMORY';

function failure(error: unknown, memory: ReplayMemory): string {
  if (!isOutOfMemory(error)) return messageOf(error);
  const { bytes, threads } = memory;
  const share =
    threads === 1 ? '' : `, which ${threads} concurrent runs share; or reduce their number with --parallel 1`;
  return `it needs more than a heap of ${heapMib(memory)} MiB; raise --memory, now ${Math.round(bytes / 2 ** 20)}Mi${share}`;
}

/** Divides the trace into batches. The last batch may be shorter. */
async function* batchesOf(trace: Trace): AsyncGenerator<Exclude<ThreadOrder, 'stop'>> {
  let events: TraceEvent[] = [];
  for await (const event of trace.events()) {
    events.push(event);
    if (events.length < BATCH) continue;
    yield { events, isLast: false };
    events = [];
  }
  yield { events, isLast: true };
}

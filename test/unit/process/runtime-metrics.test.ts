import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createMetrics } from '#observe/setup';
import { runtimeMetrics, showBuild } from '../../../src/process/process-watch.ts';

const metrics = createMetrics();
/** Script of a worker that is busy without a pause after its first message. */
const BUSY = `require('node:worker_threads').parentPort.once('message', () => { for (let held = [];;) held = [held.length]; })`;

const sampleOf = (text: string, sample: string): number | undefined => {
  const line = text.split('\n').find((each) => each.startsWith(`${sample} `));
  return line === undefined ? undefined : Number(line.slice(sample.length));
};

describe('the list of metrics of the process and its threads', () => {
  let busy: Worker;
  const threads = new Map<string, Worker>();
  beforeAll(async () => {
    busy = new Worker(BUSY, {
      eval: true,
      resourceLimits: { maxOldGenerationSizeMb: 50, maxYoungGenerationSizeMb: 12 },
    });
    await once(busy, 'online');
    threads.set('solver', busy);
    const gc = () => [{ thread: 'solver', collections: 7, seconds: 0.25 } as const];
    runtimeMetrics({ metrics, threads: () => threads, gc });
  });
  afterAll(async () => {
    await busy.terminate();
  });

  it.each([
    'process_resident_memory_bytes',
    'process_cpu_seconds_total',
    'process_start_time_seconds',
    'process_open_fds',
    'nodejs_eventloop_lag_p99_seconds',
    'nodejs_heap_size_used_bytes',
    'nodejs_thread_heap_used_bytes{thread="main"}',
    'nodejs_thread_heap_used_bytes{thread="solver"}',
    'nodejs_thread_heap_total_bytes{thread="solver"}',
    'nodejs_thread_event_loop_active_seconds_total{thread="main"}',
  ])('includes %s', async (sample) => {
    expect(sampleOf(await metrics.text(), sample)).toBeGreaterThan(0);
  });

  it('includes the heap of a busy thread, and its current number of collections at each scrape', async () => {
    busy.postMessage('go');
    await metrics.text();
    const text = await metrics.text();
    expect(sampleOf(text, 'nodejs_thread_heap_limit_bytes{thread="solver"}')).toBe(62 * 2 ** 20);
    expect(sampleOf(text, 'nodejs_thread_gc_total{thread="solver"}')).toBe(7);
    expect(sampleOf(text, 'nodejs_thread_gc_seconds_total{thread="solver"}')).toBe(0.25);
  });

  it('omits a thread that has ended', async () => {
    const ended = new Worker('', { eval: true });
    await once(ended, 'exit');
    threads.set('disruption', ended);
    const text = await metrics.text();
    expect(text).not.toContain('thread="disruption"');
    expect(text).toContain('nodejs_thread_heap_used_bytes{thread="main"}');
  });
});

describe('showBuild', () => {
  it('sets the labels that dashboards use', async () => {
    const own = createMetrics();
    showBuild(own, { version: '1.2.3', commit: 'abcdef0' });
    const text = await own.text();
    expect(text).toMatch(
      /^karpenter_build_info\{version="1.2.3",goversion="node\d+\.\d+\.\d+",goarch="\w+",commit="abcdef0"\} 1$/m,
    );
  });
});

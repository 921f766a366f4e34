/** Memory limits of replay threads, and their effect. */
import { execFileSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { heapMib, replayMemory } from '../../../../src/replay/threads/memory.ts';

const MIB = 2 ** 20;

describe('replayMemory', () => {
  it.each([
    { bytes: 256 * MIB, threads: 1, heap: 80 },
    { bytes: 1024 * MIB, threads: 1, heap: 768 },
    { bytes: 1024 * MIB, threads: 2, heap: 304 },
    { bytes: 16_384 * MIB, threads: 4, heap: 3_912 },
  ])('assigns each of $threads threads a heap of $heap MiB of $bytes', ({ bytes, threads, heap }) => {
    expect(heapMib(replayMemory(threads, bytes))).toBe(heap);
  });

  it('is a fraction of the memory of the machine or container by default', () => {
    const { bytes } = replayMemory(1);
    expect(bytes).toBeGreaterThan(0);
    const constrained = process.constrainedMemory();
    if (constrained > 0) expect(bytes).toBeLessThan(constrained);
  });
});

/** Allocates 40 MB that stay live, and much that lives long enough to leave the young generation. */
const CHURN = `
import { parentPort } from 'node:worker_threads';
import { getHeapStatistics } from 'node:v8';
const row = () => Array.from({ length: 1_000 }, (_, at) => ({ at }));
const live = Array.from({ length: 1_000 }, row);
let most = 0;
for (let round = 0; round < 10_000; round++) {
  live[round % live.length] = row();
  most = Math.max(most, getHeapStatistics().total_heap_size);
}
parentPort.postMessage([getHeapStatistics().heap_size_limit / 2 ** 20, most / 2 ** 20]);
`;
const SCRIPT = `
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { collectEarly, replayMemory } from '${new URL('../../../../src/replay/threads/memory.ts', import.meta.url)}';
collectEarly();
const { heap } = replayMemory(1, 8 * 2 ** 30);
const worker = new Worker(${JSON.stringify(CHURN)}, { eval: true, resourceLimits: heap });
console.log(JSON.stringify((await once(worker, 'message'))[0]));
`;

it('keeps the heap of a thread small even if the limit is large, with any options of Node.js', () => {
  const [limitMib, mostMib] = JSON.parse(
    execFileSync(process.execPath, ['--max-old-space-size=300', '--input-type=module', '--eval', SCRIPT], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH },
    }),
  ) as [number, number];
  expect(limitMib).toBe(heapMib(replayMemory(1, 8 * 2 ** 30)));
  expect(mostMib).toBeLessThan(180);
});

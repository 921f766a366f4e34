/** Whether an operator that has played many inputs holds no more than it should. */
import { expect } from '@jest/globals';
import type { HostileWorld } from './hostile-world.ts';

/** Of the main thread after a garbage collection. It holds a small cluster; what inputs leave behind adds up. */
const HEAP_MIB = 160;
/** Of each engine thread, garbage included: V8 lets a heap grow to a multiple of what is in use. */
const THREAD_MIB = 300;

export async function expectBounded(hostile: HostileWorld): Promise<void> {
  const { heapMiB, rssMiB, threadsMiB } = await hostile.operator.memory();
  if (process.env.HOSTILE_TIMES) console.log({ heapMiB, rssMiB, threadsMiB, cpu: process.cpuUsage() });
  expect(heapMiB).toBeLessThan(HEAP_MIB);
  expect(threadsMiB.length).toBeGreaterThan(0);
  expect(Math.max(...threadsMiB)).toBeLessThan(THREAD_MIB);
  expect(hostile.operator.noise).toEqual([]);
}

/** Limits for the memory of an operator after many inputs. */
import { expect } from '@jest/globals';
import type { HostileWorld } from './hostile-world.ts';

/** Limit for the main thread after a garbage collection. The cluster is small, and leaks of all inputs add up. */
const HEAP_MIB = 160;
/** Limit for each engine thread, including garbage: V8 lets a heap grow to a multiple of its live objects. */
const THREAD_MIB = 300;

export async function expectBounded(hostile: HostileWorld): Promise<void> {
  const { heapMiB, rssMiB, threadsMiB } = await hostile.operator.memory();
  if (process.env.HOSTILE_TIMES) console.log({ heapMiB, rssMiB, threadsMiB, cpu: process.cpuUsage() });
  expect(heapMiB).toBeLessThan(HEAP_MIB);
  expect(threadsMiB.length).toBeGreaterThan(0);
  expect(Math.max(...threadsMiB)).toBeLessThan(THREAD_MIB);
  expect(hostile.operator.noise).toEqual([]);
}

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type HeapLimits, memoryBudget, memoryLimit, YOUNG_MB } from '../../../src/process/memory-budget.ts';
import { imageOptions } from '../../support/image.ts';

const MIB = 2 ** 20;
const GIB = 2 ** 30;

describe('memoryLimit', () => {
  it.each([
    { when: 'no limit is set', setting: -1, constrained: 0, is: [16 * GIB, 'the machine'] },
    { when: 'the cgroup has no limit', setting: -1, constrained: 2 ** 63, is: [16 * GIB, 'the machine'] },
    { when: 'only the setting has a limit', setting: GIB, constrained: 0, is: [GIB, 'MEMORY_LIMIT'] },
    { when: 'only the cgroup has a limit', setting: -1, constrained: GIB, is: [GIB, 'the container'] },
    { when: 'the cgroup allows less', setting: 2 * GIB, constrained: GIB, is: [GIB, 'the container'] },
    { when: 'the setting allows less', setting: GIB, constrained: 2 * GIB, is: [GIB, 'MEMORY_LIMIT'] },
    { when: 'both limits are equal', setting: GIB, constrained: GIB, is: [GIB, 'MEMORY_LIMIT'] },
    // Kubernetes sets this value to the memory of the node if the container has no limit
    {
      when: 'the setting is the node memory',
      setting: 16 * GIB,
      constrained: 0,
      is: [16 * GIB, 'the machine'],
    },
  ])('is $is if $when', ({ setting, constrained, is }) => {
    const { bytes, source } = memoryLimit(setting, constrained, 16 * GIB);
    expect([bytes, source]).toEqual(is);
  });
});

const heapOf = ({ maxOldGenerationSizeMb, maxYoungGenerationSizeMb }: HeapLimits): number =>
  maxOldGenerationSizeMb + maxYoungGenerationSizeMb;

describe('memoryBudget', () => {
  it.each([
    { limit: 256, main: 112, workers: 1, worker: 64, reserve: 80, excess: 0 },
    { limit: 320, main: 128, workers: 1, worker: 112, reserve: 80, excess: 0 },
    { limit: 384, main: 128, workers: 2, worker: 88, reserve: 80, excess: 0 },
    { limit: 512, main: 145, workers: 2, worker: 132, reserve: 102, excess: 0 },
    { limit: 1_024, main: 278, workers: 2, worker: 271, reserve: 204, excess: 0 },
    { limit: 2_048, main: 544, workers: 2, worker: 547, reserve: 409, excess: 0 },
    { limit: 128, main: 76, workers: 1, worker: 64, reserve: 80, excess: 92 },
  ])('divides $limit MiB', ({ limit, main, workers, worker, reserve, excess }) => {
    const budget = memoryBudget(limit * MIB);
    expect(heapOf(budget.worker)).toBe(worker);
    expect(budget).toMatchObject({ mainMb: main, workers, reserveMb: reserve, excessMb: excess });
  });

  it.each([
    { limit: 256, main: 78, workers: 1, worker: 98, excess: 0 },
    { limit: 512, main: 157, workers: 2, worker: 126, excess: 0 },
    // without the options of the image, V8 derives its limit from the memory of the machine
    { limit: 512, main: 4_288, workers: 1, worker: 64, excess: 3_942 },
    { limit: 65_536, main: 4_288, workers: 2, worker: 2_048, excess: 0 },
  ])('divides $limit MiB if the main thread has $main MiB', ({ limit, main, workers, worker, excess }) => {
    const budget = memoryBudget(limit * MIB, main * MIB);
    expect(heapOf(budget.worker)).toBe(worker);
    expect(budget).toMatchObject({ mainMb: main, workers, excessMb: excess });
  });

  it('never exceeds a limit of 256 MiB or more', () => {
    fc.assert(
      fc.property(fc.integer({ min: 256, max: 65_536 }), (limitMb) => {
        const { worker, workers, mainMb, reserveMb, excessMb } = memoryBudget(limitMb * MIB);
        expect(excessMb).toBe(0);
        expect(mainMb + workers * heapOf(worker) + reserveMb).toBeLessThanOrEqual(limitMb);
        expect(heapOf(worker)).toBeGreaterThanOrEqual(64);
      }),
    );
  });

  it('gives the main thread the share of the image if the limit is at least 448 MiB', () => {
    const [, percentage] = /--max-old-space-size-percentage=(\d+)/.exec(imageOptions().join(' ')) ?? [];
    fc.assert(
      fc.property(fc.integer({ min: 448, max: 65_536 }), (limitMb) => {
        const { mainMb, workers } = memoryBudget(limitMb * MIB);
        expect(mainMb - YOUNG_MB).toBe(Math.floor((limitMb * Number(percentage)) / 100));
        expect(workers).toBe(2);
      }),
    );
  });

  it('returns the excess if the sum exceeds the limit', () => {
    const bytes = fc.integer({ min: 64 * MIB, max: 64 * GIB });
    fc.assert(
      fc.property(bytes, bytes, (limit, main) => {
        const { worker, workers, mainMb, reserveMb, excessMb } = memoryBudget(limit, main);
        expect(mainMb + workers * heapOf(worker) + reserveMb - excessMb).toBeLessThanOrEqual(limit / MIB);
      }),
    );
  });
});

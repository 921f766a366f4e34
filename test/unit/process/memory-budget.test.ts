import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { memoryBudget, memoryLimit } from '../../../src/process/memory-budget.ts';

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

describe('memoryBudget', () => {
  it.each([
    { limit: 256 * MIB, main: 90 * MIB, worker: 64, reserve: 96, excess: 58 },
    { limit: 512 * MIB, main: 157 * MIB, worker: 126, reserve: 102, excess: 0 },
    { limit: GIB, main: 290 * MIB, worker: 265, reserve: 204, excess: 0 },
    { limit: 2 * GIB, main: 556 * MIB, worker: 541, reserve: 409, excess: 0 },
    // without the options of the image, V8 derives its limit from the memory of the machine
    { limit: 512 * MIB, main: 4288 * MIB, worker: 64, reserve: 102, excess: 4006 },
    { limit: 64 * GIB, main: 4288 * MIB, worker: 2048, reserve: 13_107, excess: 0 },
  ])('gives each worker $worker MiB if the limit is $limit bytes', ({ limit, main, worker, reserve, excess }) => {
    const budget = memoryBudget(limit, main);
    const { maxOldGenerationSizeMb, maxYoungGenerationSizeMb } = budget.worker;
    expect(maxOldGenerationSizeMb + maxYoungGenerationSizeMb).toBe(worker);
    expect(budget).toMatchObject({ mainMb: main / MIB, reserveMb: reserve, excessMb: excess });
  });

  it('returns the excess if the sum exceeds the limit', () => {
    const bytes = fc.integer({ min: 64 * MIB, max: 64 * GIB });
    fc.assert(
      fc.property(bytes, bytes, fc.integer({ min: 1, max: 4 }), (limit, main, workers) => {
        const { worker, mainMb, reserveMb, excessMb } = memoryBudget(limit, main, workers);
        const each = worker.maxOldGenerationSizeMb + worker.maxYoungGenerationSizeMb;
        expect(worker.maxOldGenerationSizeMb).toBeGreaterThanOrEqual(50);
        expect(mainMb + workers * each + reserveMb - excessMb).toBeLessThanOrEqual(limit / MIB);
      }),
    );
  });
});

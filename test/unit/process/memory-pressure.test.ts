import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createMetrics } from '#observe/setup';
import { FULL_SHARE } from '../../../src/process/heap-guard.ts';
import { SHORT_SHARE } from '../../../src/process/memory-capacity.ts';
import { MemoryPressure } from '../../../src/process/memory-pressure.ts';
import { recordingLog } from '../kube/fakes.ts';

const LIMIT_BYTES = 100 * 2 ** 20;

/** Returns the stage after each share of the heap. */
function stagesAfter(...shares: readonly number[]): readonly number[] {
  const pressure = new MemoryPressure();
  return shares.map((share) => {
    pressure.heapUsed({ usedBytes: share * LIMIT_BYTES, limitBytes: LIMIT_BYTES });
    return pressure.stage;
  });
}

describe('memory pressure', () => {
  it('rises with the use of the heap, and falls with a gap', () => {
    expect(stagesAfter(0.5, 0.76, 0.7, 0.67, 0.81, 0.75, 0.73, 0.69, 0.6)).toEqual([0, 1, 1, 0, 2, 2, 1, 1, 0]);
  });

  it('rises with the resident memory, and has the higher of both stages', () => {
    const pressure = new MemoryPressure();
    const stages = [0.9, 0.93, 0.98, 0.95, 0.9, 0.8].map((share) => {
      pressure.resident(share);
      return pressure.stage;
    });
    expect(stages).toEqual([0, 1, 2, 2, 1, 0]);
    pressure.heapUsed({ usedBytes: 0.76 * LIMIT_BYTES, limitBytes: LIMIT_BYTES });
    pressure.resident(0.98);
    expect(pressure.stage).toBe(2);
    pressure.resident(0.5);
    expect(pressure.stage).toBe(1);
  });

  it('reaches every stage before the process ends', () => {
    expect(stagesAfter(FULL_SHARE)).toEqual([2]);
    expect(stagesAfter(SHORT_SHARE)).toEqual([0]);
  });

  it('changes the stage only if the use has crossed the gap', () => {
    const shares = fc.array(fc.double({ min: 0.5, max: 0.85, noNaN: true }), { minLength: 2 });
    fc.assert(
      fc.property(shares, (used) => {
        const stages = stagesAfter(...used);
        const changes = stages.map((stage, at) => ({ stage, before: stages[at - 1] ?? 0, share: used[at] ?? 0 }));
        for (const { stage, share } of changes.filter(({ stage, before }) => stage > before))
          expect(share).toBeGreaterThan(stage === 2 ? 0.8 : 0.75);
        for (const { before, share } of changes.filter(({ stage, before }) => stage < before))
          expect(share).toBeLessThanOrEqual(before === 2 ? 0.74 : 0.68);
      }),
    );
  });

  it('empties caches when the stage rises', () => {
    const pressure = new MemoryPressure();
    const stages: number[] = [];
    pressure.onShort(() => stages.push(pressure.stage));
    for (const share of [0.5, 0.76, 0.77, 0.81, 0.73, 0.81, 0.5])
      pressure.heapUsed({ usedBytes: share * LIMIT_BYTES, limitBytes: LIMIT_BYTES });
    expect(stages).toEqual([1, 2, 2]);
  });

  it('reports each change of the stage, and the stage as a metric', async () => {
    const { log, lines } = recordingLog();
    const metrics = createMetrics();
    const pressure = new MemoryPressure();
    const gauge = async (): Promise<string | undefined> =>
      /^karpenter_memory_pressure (\d)$/m.exec(await metrics.text())?.[1];
    pressure.reportTo({ log, metrics });
    expect(await gauge()).toBe('0');
    const seen: (string | undefined)[] = [];
    for (const share of [0.76, 0.78, 0.81, 0.5]) {
      pressure.heapUsed({ usedBytes: share * LIMIT_BYTES, limitBytes: LIMIT_BYTES });
      seen.push(await gauge());
    }
    expect(seen).toEqual(['1', '1', '2', '0']);
    expect(lines.map(({ level, fields }) => [level, fields['stage-before'], fields.stage])).toEqual([
      ['error', 0, 1],
      ['error', 1, 2],
      ['info', 2, 0],
    ]);
  });

  it('publishes each stage that begins, also a stage that has begun earlier, and no stage that ends', () => {
    const pressure = new MemoryPressure();
    const use = (share: number) => pressure.heapUsed({ usedBytes: share * LIMIT_BYTES, limitBytes: LIMIT_BYTES });
    use(0.76);
    const published: [stage: number, message: string][] = [];
    pressure.publishTo((...each) => void published.push(each));
    for (const share of [0.78, 0.81, 0.82, 0.73, 0.5]) use(share);
    expect(published.map(([stage]) => stage)).toEqual([1, 2]);
    expect(published[1]?.[1]).toMatch(
      /^The memory of the operator is short, so it works more slowly \(.*voluntary disruption pauses\); raise .*memory/,
    );
  });

  it('allows fewer launches the fuller the heap is and the more work is in progress, and at least one', () => {
    const pressure = new MemoryPressure();
    const launches = (share: number, pending = 0, launching = 0): number => {
      pressure.heapUsed({ usedBytes: share * LIMIT_BYTES, limitBytes: LIMIT_BYTES });
      return pressure.mostLaunches({ pending, launching });
    };
    expect(pressure.mostLaunches({ pending: 3_000, launching: 3_000 })).toBe(Number.POSITIVE_INFINITY);
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    const count = fc.nat(10_000);
    fc.assert(
      fc.property(share, share, count, count, (a, b, pending, launching) => {
        const [most, least] = [launches(Math.min(a, b)), launches(Math.max(a, b))];
        expect(least).toBeLessThanOrEqual(most);
        expect(launches(a, pending, launching)).toBeLessThanOrEqual(launches(a));
        expect(launches(a, pending, launching)).toBeGreaterThanOrEqual(1);
      }),
    );
    expect(launches(0.5)).toBe(305);
    expect(launches(0.5, 3_000)).toBeLessThan(160);
    expect(launches(0.5, 0, 100)).toBe(205);
  });

  it('allows a smaller share of the free heap for launches in each stage', () => {
    const pressure = new MemoryPressure();
    const shares = [0, 1, 2].map((stage) => {
      pressure.heapUsed({ usedBytes: 0, limitBytes: 20 * LIMIT_BYTES });
      pressure.resident([0, 0.93, 0.98][stage] ?? 0);
      return pressure.mostLaunches({ pending: 0, launching: 0 });
    });
    expect(shares[1]).toBe(Math.floor((shares[0] ?? 0) / 2));
    expect(shares[2]).toBe(Math.floor((shares[0] ?? 0) / 4));
  });
});

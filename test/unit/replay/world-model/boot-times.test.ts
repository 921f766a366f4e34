import { describe, expect, it } from '@jest/globals';
import { bootMs, bootOfInstances, kubeletsOf } from '../../../../src/replay/world-model/boot-times.ts';
import { DEFAULT_WORLD } from '../../../../src/replay/world-model/world-model.ts';

const model = (p50: number, p95: number, seed = 1) => ({ seed, bootSeconds: { p50, p95 } });

describe('a boot time', () => {
  it.each([
    [40, 70],
    [10, 100],
    [60, 60],
  ])('has the median and the 95th percentile of the model: %d s, %d s', (p50, p95) => {
    const seconds = Array.from({ length: 20_000 }, (_, n) => bootMs(model(p50, p95), n) / 1000).sort((a, b) => a - b);
    expect((seconds[10_000] ?? 0) / p50).toBeCloseTo(1, 1);
    expect((seconds[19_000] ?? 0) / p95).toBeCloseTo(1, 1);
  });

  it('is divided into EC2, boot and kubelet', () => {
    const { startDelayMs = 0, bootDelayMs } = bootOfInstances(model(40, 70));
    const { bootMs: kubelet, bootJitter, readyMs = 0 } = kubeletsOf({ ...DEFAULT_WORLD, ...model(40, 70) });
    expect({ startDelayMs, kubelet, bootJitter, readyMs }).toEqual({
      startDelayMs: 8_000,
      kubelet: 0,
      bootJitter: 0,
      readyMs: 4_000,
    });
    for (const n of [0, 1, 2])
      expect(startDelayMs + (bootDelayMs?.(n) ?? 0) + readyMs).toBe(Math.round(bootMs(model(40, 70), n)));
    expect(bootDelayMs?.(0)).not.toBe(bootDelayMs?.(1));
    expect(bootOfInstances(model(40, 70, 2)).bootDelayMs?.(0)).not.toBe(bootDelayMs?.(0));
  });

  it('has a seed of its own if one is given', () => {
    expect(bootMs({ ...model(40, 70), bootSeed: 2 }, 0)).toBe(bootMs(model(40, 70, 2), 0));
    expect(kubeletsOf({ ...DEFAULT_WORLD, bootSeed: 2 }).seed).toBe(2);
  });

  it('is that of the local world with a median of 0', () => {
    expect(bootOfInstances(model(0, 0))).toEqual({});
    expect(kubeletsOf({ ...DEFAULT_WORLD, ...model(0, 0), podStartSeconds: 2 })).toEqual({
      podStartMs: [2_000, 2_000],
      seed: 1,
    });
  });
});

import { describe, expect, it } from '@jest/globals';
import { DEFAULT_WORLD, type WorldModel, worldSummary } from '../../../../src/replay/world-model/world-model.ts';

const says = (change: Partial<WorldModel>) => worldSummary({ ...DEFAULT_WORLD, ...change }).says;
const price = (instanceType: string, at: number) => ({ at, instanceType, zone: 'us-west-2a', usdPerHour: 0.1 });

describe('the summary of a world', () => {
  it('contains only region and seed for the default', () => {
    expect(worldSummary(DEFAULT_WORLD)).toEqual({ region: 'us-west-2', seed: 1, says: [] });
  });

  it('has a line for each changed part', () => {
    const { spot, soldOut } = DEFAULT_WORLD;
    expect(
      says({
        bootSeconds: { p50: 20, p95: 30 },
        podStartSeconds: 5,
        cpuUtilization: 0.4,
        spot: { ...spot, volatility: 0.125, interruptionsPerDay: 0.05 },
        soldOut: { ...soldOut, spot: 0.1 },
        imageRotationDays: 14,
      }),
    ).toEqual([
      'boot: 20 s, 95 of 100 within 30 s',
      'start of pods: 5 s',
      'pods use 40 % of the CPU that they request',
      'spot prices: change by 12.5 % per day',
      'interruptions: 5 % of spot nodes per day',
      'sold out: 10 % of spot pools, 0.2 % of on-demand pools, for 2 h',
      'new images: every 14 days',
    ]);
    expect(
      says({
        bootSeconds: { p50: 0, p95: 0 },
        spot: {
          prices: [price('a', 0), price('a', 5), price('b', 0)],
          volatility: 0,
          interruptionsPerDay: 0.02,
          unevenness: 2,
        },
        soldOut: { spot: 0, onDemand: 0, hours: 2 },
        imageRotationDays: 1,
      }),
    ).toEqual([
      'boot: default of the local cluster',
      'spot prices: 3 from the world file for 2 pools, other pools constant',
      'interruptions: 2 % of spot nodes per day, 2 times as many in the smallest pools',
      'sold out: never',
      'new images: every day',
    ]);
    expect(says({ spot: { ...spot, interruptionsPerDay: 0 } })).toEqual(['interruptions: none']);
  });
});

/** The seeded life of the benchmark on a real control plane, and its sums. */
import { describe, expect, it } from '@jest/globals';
import {
  CALM_FROM_MINUTE,
  lifeEvents,
  RUNS_FOR,
  readLifeOptions,
  waveEvents,
  waves,
} from '../../../bench/cluster/life-plan.ts';
import { type LifePod, LifeRecord } from '../../../bench/cluster/life-record.ts';

const HALF_AN_HOUR_MS = 1_800_000;

describe('the list of events of a life', () => {
  const events = lifeEvents(3, HALF_AN_HOUR_MS, 'us-west-2a');

  it('depends only on the seed', () => {
    expect(lifeEvents(3, HALF_AN_HOUR_MS, 'us-west-2a')).toEqual(events);
    expect(lifeEvents(4, HALF_AN_HOUR_MS, 'us-west-2a')).not.toEqual(events);
  });

  it('contains every kind of change, in the order of time', () => {
    expect(new Set(events.map(({ event: { kind } }) => kind))).toEqual(
      new Set(['create', 'scale', 'roll-out', 'interrupt', 'shortage']),
    );
    const times = events.map(({ atMs }) => atMs);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(times.every((atMs) => atMs < HALF_AN_HOUR_MS)).toBe(true);
    const created = events.flatMap(({ event }) => (event.kind === 'create' ? event.objects : []));
    expect(new Set(created.map(({ kind }) => kind))).toEqual(new Set(['Deployment', 'PodDisruptionBudget', 'Job']));
    expect(JSON.stringify(created)).toContain(RUNS_FOR);
  });
});

describe('the list of events of waves', () => {
  it('ends with a third of the most replicas', () => {
    const { services, steps } = waves(1);
    const sumAt = (minute: number): number =>
      services.reduce((sum, { name, replicas }) => {
        const before = steps.filter((step) => step.name === name && step.second < minute * 60);
        return sum + (before.at(-1)?.replicas ?? replicas);
      }, 0);
    expect(sumAt(6) / sumAt(CALM_FROM_MINUTE + 1)).toBeCloseTo(20 / 6);
    expect(waveEvents(1)).toHaveLength(1 + steps.length);
  });
});

describe('the record of a life', () => {
  const pod = (uid: string, given: Partial<LifePod> = {}): LifePod => ({
    uid,
    isBound: false,
    isRunning: false,
    isDone: false,
    cpus: 2,
    runsForMs: Number.NaN,
    ...given,
  });
  const running = { isBound: true, isRunning: true };

  it('has the waiting time of every pod, also of those that are never bound', () => {
    const record = new LifeRecord();
    record.sample(0, [pod('a'), pod('b')], []);
    record.sample(4_000, [pod('a', running), pod('b')], []);
    record.sample(9_000, [pod('a', running), pod('b')], []);
    expect(record.figures()).toMatchObject({ pods: 2, waitingP50S: 4, waitingP95S: 9 });
  });

  it('has the hours of nodes, and counts each instance once', () => {
    const record = new LifeRecord();
    record.sample(0, [], ['i-1']);
    record.sample(1_800_000, [], ['i-1', 'i-2']);
    record.sample(3_600_000, [], ['i-2']);
    expect(record.figures()).toMatchObject({ launched: 2, nodeHours: 1.5 });
  });

  it('ends pods of Jobs after their time, and counts the work of pods that go before', () => {
    const record = new LifeRecord();
    const of = (uid: string, given: Partial<LifePod> = running): LifePod => pod(uid, { runsForMs: 30_000, ...given });
    expect(record.sample(0, [of('done'), of('evicted')], [])).toEqual([]);
    expect(record.sample(20_000, [of('done')], [])).toEqual([]);
    expect(record.sample(30_000, [of('done')], [])).toEqual(['done']);
    expect(record.sample(31_000, [of('done', { isDone: true })], [])).toEqual([]);
    record.sample(32_000, [], []);
    expect(record.figures()).toMatchObject({ done: 1, lostCpuS: 40 });
  });
});

it('rejects options that are not valid', () => {
  expect(readLifeOptions(['--minutes', '2', '--seed', '7'])).toEqual({
    lengthMs: 120_000,
    seed: 7,
    only: '',
    bootJitter: 0.2,
    workload: 'changes',
    capacities: ['spot', 'on-demand'],
  });
  expect(readLifeOptions(['--workload', 'waves', '--capacity', 'spot'])).toMatchObject({
    workload: 'waves',
    capacities: ['spot'],
  });
  expect(() => readLifeOptions(['--workload', 'tides'])).toThrow(
    '--workload must be one of changes, waves, not "tides"',
  );
  expect(() => readLifeOptions(['--minutes', '0'])).toThrow('--minutes must be at least 1, not "0"');
  expect(() => readLifeOptions(['--seed', 'x'])).toThrow('--seed must be an integer, not "x"');
  expect(() => readLifeOptions(['--boot-jitter', '1'])).toThrow(
    '--boot-jitter must be at least 0 and less than 1, not "1"',
  );
});

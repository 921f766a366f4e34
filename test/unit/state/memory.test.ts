import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { PodTimings } from '../../../src/state/pod-timings.ts';
import { RegistrationHealth } from '../../../src/state/registration-health.ts';

describe('RegistrationHealth', () => {
  it.each([
    { outcomes: '', is: 'unknown' },
    { outcomes: 's', is: 'healthy' },
    { outcomes: 'f', is: 'healthy' },
    { outcomes: 'ff', is: 'unhealthy' },
    { outcomes: 'ffs', is: 'unhealthy' },
    { outcomes: 'ffsss', is: 'healthy' },
    { outcomes: 'ssssff', is: 'unhealthy' },
  ])('is $is after "$outcomes"', ({ outcomes, is }) => {
    const health = new RegistrationHealth();
    for (const outcome of outcomes) health.record('pool', outcome === 's');
    expect(health.status('pool')).toBe(is);
  });

  it('counts repeated reports of one outcome once, but counts other outcomes of the same NodeClaim', () => {
    const health = new RegistrationHealth();
    for (let time = 0; time < 3; time += 1) health.record('pool', false, 'a/Registered');
    expect(health.statusWith('pool', false, 'a/Registered')).toBe('healthy');
    for (let time = 0; time < 4; time += 1) health.record('pool', true, 'a/Registered');
    expect(health.status('pool')).toBe('healthy');
    health.record('pool', false, 'a/Launched');
    expect(health.status('pool')).toBe('unhealthy');
  });

  it('predicts the status after the next outcome', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean()), fc.boolean(), (outcomes, next) => {
        const health = new RegistrationHealth();
        for (const outcome of outcomes) health.record('pool', outcome);
        const foreseen = health.statusWith('pool', next);
        health.record('pool', next);
        return health.status('pool') === foreseen;
      }),
    );
  });

  it('is unknown after it is cleared', () => {
    const health = new RegistrationHealth();
    health.record('pool', true);
    health.clear('pool');
    expect(health.status('pool')).toBe('unknown');
  });
});

describe('PodTimings', () => {
  it('measures the time from the first observation to the first decision, once', () => {
    const timings = new PodTimings();
    timings.acknowledge('a', 100);
    timings.acknowledge('a', 200);
    expect(timings.refused('a', 350)).toBe(250);
    expect(timings.refused('a', 400)).toBeUndefined();
    expect(timings.placed('a', true, 500)).toBeUndefined();
    expect(timings.get('a')).toEqual({
      acknowledgedMs: 100,
      decidedMs: 350,
      schedulableMs: 500,
      healthySchedulableMs: 500,
    });
  });

  it('discards times that a refusal contradicts', () => {
    const timings = new PodTimings();
    timings.acknowledge('a', 100);
    timings.placed('a', true, 200);
    timings.assign('a', 'claim-1');
    timings.refused('a', 300);
    expect(timings.get('a')).toEqual({ acknowledgedMs: 100, decidedMs: 200 });
  });

  it('does not measure pods that were never observed as pending', () => {
    const timings = new PodTimings();
    expect(timings.placed('a', false, 200)).toBeUndefined();
    expect(timings.get('a')).toEqual({ schedulableMs: 200, decidedMs: 200 });
    timings.forget('a');
    expect(timings.get('a')).toEqual({});
  });
});

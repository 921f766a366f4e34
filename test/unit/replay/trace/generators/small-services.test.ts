/** Small services have steep daily waves. */
import { describe, expect, it } from '@jest/globals';
import { curveOf } from '../../../../../src/replay/trace/generators/calendar.ts';
import { type GeneratorKind, generateTrace } from '../../../../../src/replay/trace/generators/generate.ts';
import type { TraceEvent } from '../../../../../src/replay/trace/trace.ts';

const AFTERNOON = Date.parse('2026-01-05T15:00:00Z');

const eventsOf = (kind: GeneratorKind, seed: number, pods: number, hours: number): readonly TraceEvent[] => {
  const { events } = generateTrace(kind, { seed, pods, startMs: AFTERNOON, seconds: hours * 3600 });
  return [...(events() as Iterable<TraceEvent>)];
};

/** Returns the replicas of all Deployments at a number of seconds. */
function replicasAt(events: readonly TraceEvent[], at: number): number {
  const replicas = new Map<string, number>();
  for (const event of events) {
    if (event.at > at) break;
    if ('scale' in event) replicas.set(event.scale.name, event.replicas);
    else if ('apply' in event && event.apply.kind === 'Deployment')
      replicas.set(event.apply.metadata.name, (event.apply as unknown as { spec: { replicas: number } }).spec.replicas);
  }
  return [...replicas.values()].reduce((sum, each) => sum + each, 0);
}

describe('a curve of levels', () => {
  it('changes along straight lines, also over midnight, with a mean of 1', () => {
    const levels = [[6, 1] as const, [18, 3] as const];
    const load = curveOf({ startMs: Date.parse('2026-01-05T00:00:00Z'), seconds: 86_400 }, { levels, weekend: 1 });
    const ratios = [0, 6, 9, 12, 18, 21, 24].map((hour) => load(hour * 3600) / load(6 * 3600));
    expect(ratios.map((ratio) => Number(ratio.toFixed(6)))).toEqual([2, 1, 1.5, 2, 3, 2.5, 2]);
    const minutes = Array.from({ length: 1440 }, (_, minute) => load(minute * 60));
    expect(minutes.reduce((sum, each) => sum + each, 0) / 1440).toBeCloseTo(1, 9);
  });
});

describe.each([1, 2, 3])('a generated evening with seed %d', (seed) => {
  it('scales small services from 64 to about 208 pods and back', () => {
    const events = eventsOf('small-services', seed, 108, 9);
    const counts = [0.5, 3, 5.5, 8.5].map((hour) => replicasAt(events, hour * 3600) / 208);
    for (const [at, expected] of [0.31, 1, 0.31, 0.31].entries())
      expect(Math.abs((counts[at] ?? 0) - expected)).toBeLessThan(0.06);
    const milli = JSON.stringify(events.filter((event) => JSON.stringify(event).includes('"namespace":"apps"')))
      .match(/"cpu":"\d+m"/g)
      ?.map((text) => Number(/\d+/.exec(text)?.[0]));
    expect(Math.min(...(milli ?? []))).toBeGreaterThanOrEqual(50);
    expect(Math.max(...(milli ?? []))).toBeLessThanOrEqual(200);
  });

  it('leaves a fifth of the pods, and starts a Job of three pods every hour', () => {
    const events = eventsOf('leftovers', seed, 53, 9);
    const [before, after] = [3, 7].map((hour) => replicasAt(events, hour * 3600));
    expect(Math.abs((after ?? 0) / (before ?? 0) - 0.2)).toBeLessThan(0.05);
    const jobs = events.filter((event) => 'apply' in event && event.apply.kind === 'Job');
    expect(jobs.map(({ at }) => Math.floor(at / 3600))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    for (const job of jobs) expect(job).toMatchObject({ apply: { spec: { parallelism: 3 } } });
  });
});

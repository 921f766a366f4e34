/** Generated traces are reproducible by seed, valid, of the requested size, and follow the time of day. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { GENERATORS, type GeneratorKind, generateTrace } from '../../../../../src/replay/trace/generators/generate.ts';
import { readTrace } from '../../../../../src/replay/trace/read.ts';
import { summaryOf } from '../../../../../src/replay/trace/summary.ts';
import type { Trace, TraceEvent } from '../../../../../src/replay/trace/trace.ts';
import { writeTrace } from '../../../../../src/replay/trace/write.ts';
import { benchmarkWeek, month50 } from '../../../../support/benchmark-traces.ts';

const DAY = 86_400;
const MONDAY = Date.parse('2026-01-05T00:00:00Z');
const KINDS = Object.keys(GENERATORS) as readonly GeneratorKind[];
const week = (kind: GeneratorKind, seed = 7, pods = 60): Trace =>
  generateTrace(kind, { seed, pods, startMs: MONDAY, seconds: 7 * DAY });
const eventsOf = (trace: Trace): readonly TraceEvent[] => [...(trace.events() as Iterable<TraceEvent>)];

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'generated-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

async function textOf(trace: Trace, name: string): Promise<string> {
  await writeTrace(trace.header, trace.events(), join(folder, name));
  return readFileSync(join(folder, name), 'utf8');
}

/** Replicas of all Deployments, averaged over each hour of the day. */
function byHour(events: readonly TraceEvent[], isCounted: (day: number) => boolean): readonly number[] {
  const replicas = new Map<string, number>();
  const sums = Array.from({ length: 24 }, () => 0);
  let since = 0;
  let total = 0;
  const until = (at: number): void => {
    for (; since < at; since += 60) {
      const hour = Math.floor((since % DAY) / 3600);
      if (isCounted(Math.floor(since / DAY))) sums[hour] = (sums[hour] ?? 0) + total;
    }
  };
  const set = (name: string, next: number): void => {
    total += next - (replicas.get(name) ?? 0);
    replicas.set(name, next);
  };
  for (const event of events) {
    until(event.at);
    if ('scale' in event) set(event.scale.name, event.replicas);
    else if ('apply' in event && event.apply.kind === 'Deployment')
      set(event.apply.metadata.name, (event.apply as unknown as { spec: { replicas: number } }).spec.replicas);
  }
  until(7 * DAY);
  return sums;
}

const isWorkday = (day: number): boolean => day < 5;

describe.each(KINDS)('a generated trace of %s', (kind) => {
  it('is equal for equal seeds, and differs for other seeds', async () => {
    const [first, again, other] = await Promise.all([
      textOf(week(kind), `${kind}-1`),
      textOf(week(kind), `${kind}-2`),
      textOf(week(kind, 8), `${kind}-3`),
    ]);
    expect([again === first, other === first]).toEqual([true, false]);
    const trace = week(kind);
    const [once, twice] = [eventsOf(trace), eventsOf(trace)].map((events) => JSON.stringify(events));
    expect(once === twice).toBe(true);
  });

  it('is accepted by the reader without changes', async () => {
    const trace = week(kind);
    await writeTrace(trace.header, trace.events(), join(folder, kind));
    const read = await readTrace(join(folder, kind));
    expect(read.header).toEqual(trace.header);
    const found = await Array.fromAsync(read.events());
    // Traces are too long for a diff.
    expect(JSON.stringify(found) === JSON.stringify(eventsOf(trace))).toBe(true);
  });

  it.each([30, 300])('has %d running pods on average', async (pods) => {
    const { pods: running, warnings } = await summaryOf(week(kind, 3, pods));
    // A few Jobs of many hours have a large effect among 30 pods.
    expect(Math.abs(running.average / pods - 1)).toBeLessThan(pods < 100 ? 0.3 : 0.12);
    expect(warnings).toEqual([]);
  });

  it('creates the namespaces of its objects', () => {
    const known = new Set<string | undefined>(['kube-system']);
    const strangers = new Set<string | undefined>();
    for (const event of eventsOf(week(kind))) {
      if (!('apply' in event)) continue;
      const { name, namespace } = event.apply.metadata;
      if (event.apply.kind === 'Namespace') known.add(name);
      else if (!known.has(namespace)) strangers.add(namespace);
    }
    expect([...strangers]).toEqual([]);
  });
});

describe('the load of a trace', () => {
  it('is higher by day than by night, and on weekdays than on weekends, for web services', () => {
    const events = eventsOf(week('web-service', 7, 500));
    const [workdays, weekends] = [byHour(events, isWorkday), byHour(events, (day) => !isWorkday(day))];
    const mean = (hours: readonly number[], from: number, to: number): number =>
      hours.slice(from, to).reduce((sum, each) => sum + each, 0) / (to - from);
    expect(mean(workdays, 14, 18) / mean(workdays, 2, 6)).toBeGreaterThan(1.6);
    expect(mean(workdays, 0, 24) / 5 / (mean(weekends, 0, 24) / 2)).toBeGreaterThan(1.15);
  });

  it('occurs in working hours for continuous integration', () => {
    const isBuild = (event: TraceEvent): boolean =>
      'apply' in event && event.apply.metadata.namespace === 'ci' && event.apply.kind === 'Job';
    const builds = eventsOf(week('batch')).filter(isBuild);
    const atWork = builds.filter(
      ({ at }) => isWorkday(Math.floor(at / DAY)) && at % DAY >= 8 * 3600 && at % DAY < 19 * 3600,
    );
    expect(builds.length).toBeGreaterThan(500);
    expect(atWork.length / builds.length).toBeGreaterThan(0.7);
  });

  it('runs stage after stage at night for pipelines', () => {
    const events = eventsOf(week('pipeline'));
    const stages = events.flatMap((event) =>
      'apply' in event &&
      event.apply.metadata.name.startsWith('cart-') &&
      event.apply.metadata.name.endsWith('2026-01-06')
        ? [event]
        : [],
    );
    expect(stages.map(({ apply }) => apply.metadata.name.split('-')[1])).toEqual([
      'extract',
      'transform',
      'join',
      'load',
      'report',
    ]);
    for (const [index, stage] of stages.slice(1).entries()) {
      const before = stages[index];
      expect(stage.at).toBeGreaterThanOrEqual((before?.at ?? 0) + (before?.runsFor ?? 0));
    }
    expect((stages[0]?.at ?? 0) % DAY).toBeLessThan(6 * 3600);
  });

  it('requests GPUs for machine learning, and training pods have do-not-disrupt', () => {
    const events = eventsOf(week('machine-learning'));
    const trainings = events.filter((event) => 'apply' in event && event.apply.metadata.name.startsWith('train-'));
    expect(trainings.length).toBeGreaterThan(20);
    for (const training of trainings) {
      const text = JSON.stringify(training);
      expect(text).toMatch(/"requests":\{[^}]*"nvidia.com\/gpu":"[148]"/);
      expect(text).toContain('"karpenter.sh/do-not-disrupt":"true"');
    }
  });
});

describe('a run time of a pod', () => {
  it('is log-normal: most are short, some are long', () => {
    const times = eventsOf(week('batch'))
      .flatMap((event) => ('apply' in event && event.runsFor !== undefined ? [event.runsFor] : []))
      .sort((a, b) => a - b);
    const at = (share: number): number => times[Math.floor(share * times.length)] ?? 0;
    expect(at(0.95) / at(0.5)).toBeGreaterThan(3);
    expect(at(0.5)).toBeLessThan(times.reduce((sum, each) => sum + each, 0) / times.length);
  });
});

describe('a trace of the benchmark', () => {
  it('contains a week of 5,000 running pods and 50,000 starts', async () => {
    const summary = await summaryOf(benchmarkWeek(1));
    expect(summary.seconds).toBe(7 * DAY);
    expect(Math.abs(summary.pods.average / 5_000 - 1)).toBeLessThan(0.05);
    expect(Math.abs(summary.podStarts / 50_000 - 1)).toBeLessThan(0.1);
  });

  it('contains a month of 450 running pods', async () => {
    const summary = await summaryOf(month50(1));
    expect(summary.seconds).toBe(30 * DAY);
    expect(Math.abs(summary.pods.average / 450 - 1)).toBeLessThan(0.05);
  });
});

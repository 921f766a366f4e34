/** Generated kinds of clusters have the properties that they are named after. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#api/objects';
import { GENERATORS, type GeneratorKind, generateTrace } from '../../../../../src/replay/trace/generators/generate.ts';
import type { Apply, TraceEvent } from '../../../../../src/replay/trace/trace.ts';

const MIDNIGHT = Date.parse('2026-01-05T00:00:00Z');
const HOUR = 3_600;

const eventsOf = (kind: GeneratorKind, seed = 3): readonly TraceEvent[] => {
  const { events } = generateTrace(kind, { seed, pods: 40, startMs: MIDNIGHT, seconds: 24 * HOUR });
  return [...(events() as Iterable<TraceEvent>)];
};

const appliesOf = (kind: GeneratorKind, of: string): readonly Apply[] =>
  eventsOf(kind).flatMap((event) =>
    'apply' in event && event.apply.kind === of && event.apply.metadata.namespace !== 'kube-system' ? [event] : [],
  );

interface Spec {
  readonly parallelism?: number;
  readonly maxUnavailable?: number | string;
  readonly template?: {
    readonly metadata: { readonly labels: Readonly<Record<string, string>> };
    readonly spec: Readonly<Record<string, unknown>>;
  };
}
const specOf = (object: KubeObject): Spec => (object as KubeObject & { readonly spec: Spec }).spec;
const cpusOf = ({ apply }: Apply): number => Number(/"cpu":"(\d+)m?"/.exec(JSON.stringify(apply))?.[1]);

describe('a generated kind', () => {
  it('has Jobs within a minute after each full hour in hourly spikes', () => {
    const jobs = appliesOf('hourly-spikes', 'Job');
    expect(new Set(jobs.map(({ at }) => Math.floor(at / HOUR))).size).toBe(24);
    for (const { at } of jobs) expect(at % HOUR).toBeLessThan(60);
  });

  it('has Jobs only after one in the night in nightly spikes', () => {
    const jobs = appliesOf('nightly-spikes', 'Job');
    expect(jobs).toHaveLength(12);
    for (const { at } of jobs) expect(Math.floor(at / HOUR)).toBe(1);
  });

  it('has Jobs of 4 to 40 pods in working hours in CI bursts', () => {
    const jobs = appliesOf('ci-bursts', 'Job');
    expect(new Set(jobs.map(({ apply }) => specOf(apply).parallelism))).toEqual(new Set([4, 16, 40]));
    const atWork = jobs.filter(({ at }) => at >= 8 * HOUR && at < 20 * HOUR).length;
    expect(atWork / jobs.length).toBeGreaterThan(0.8);
  });

  it('has protected drivers that run as long as their stages in Spark applications', () => {
    const jobs = appliesOf('spark', 'Job');
    const drivers = jobs.filter(({ apply }) => apply.metadata.name.endsWith('-driver'));
    expect(drivers.length).toBeGreaterThan(10);
    for (const driver of drivers) {
      expect(JSON.stringify(driver.apply)).toContain('"karpenter.sh/do-not-disrupt":"true"');
      const name = driver.apply.metadata.name.slice(0, -'driver'.length);
      const stages = jobs.filter(({ apply }) => apply.metadata.name.startsWith(`${name}stage-`));
      const last = stages.at(-1);
      if ((last?.at ?? 0) + (last?.runsFor ?? 0) > 20 * HOUR) continue;
      expect(stages.reduce((sum, { runsFor = 0 }) => sum + runsFor, 0)).toBe(driver.runsFor);
    }
  });

  it('has closed and open budgets, and rollouts, in rolling updates', () => {
    const budgets = appliesOf('rolling-updates', 'PodDisruptionBudget').map(
      ({ apply }) => specOf(apply).maxUnavailable,
    );
    expect(budgets).toContain(0);
    expect(budgets.some((value) => value !== 0)).toBe(true);
    expect(appliesOf('rolling-updates', 'Deployment').length).toBeGreaterThan(4 * budgets.length);
  });

  it('has anti-affinity between all pods in one-per-node', () => {
    const deployments = appliesOf('one-per-node', 'Deployment');
    expect(deployments.length).toBeGreaterThan(3);
    for (const { apply } of deployments) {
      const { template } = specOf(apply);
      expect(template?.metadata.labels).toMatchObject({ 'one-per-node': 'true' });
      expect(JSON.stringify(template?.spec.affinity)).toContain('"matchLabels":{"one-per-node":"true"}');
    }
  });

  it('has only preferences in soft-spread', () => {
    const specs = appliesOf('soft-spread', 'Deployment').map(({ apply }) =>
      JSON.stringify(specOf(apply).template?.spec),
    );
    expect(specs.some((spec) => spec.includes('kubernetes.io/hostname'))).toBe(true);
    for (const spec of specs) {
      expect(spec).toContain('ScheduleAnyway');
      expect(spec).not.toContain('DoNotSchedule');
    }
  });

  it('has pods of at least five CPUs in large-pods', () => {
    for (const each of appliesOf('large-pods', 'Deployment')) expect(cpusOf(each)).toBeGreaterThanOrEqual(5);
  });

  it('scales StatefulSets with volumes in zonal-state', () => {
    const sets = appliesOf('zonal-state', 'StatefulSet');
    expect(sets.length).toBeGreaterThan(5);
    for (const { apply } of sets) expect(JSON.stringify(apply)).toContain('"storageClassName":"gp3"');
    const scaled = eventsOf('zonal-state').flatMap((event) => ('scale' in event ? [event.scale.kind] : []));
    expect(new Set(scaled)).toEqual(new Set(['StatefulSet']));
  });

  it('requests one GPU for each pod in gpu-inference', () => {
    for (const { apply } of appliesOf('gpu-inference', 'Deployment'))
      expect(JSON.stringify(apply)).toContain('"nvidia.com/gpu":"1"');
  });

  it('delays the readiness of pods by minutes in slow-start', () => {
    for (const { apply } of appliesOf('slow-start', 'Deployment')) {
      const [, seconds] = /"readinessProbe":\{"initialDelaySeconds":(\d+)\}/.exec(JSON.stringify(apply)) ?? [];
      expect(Number(seconds)).toBeGreaterThanOrEqual(180);
    }
  });

  it('has no pods at night, and several periods of activity by day in scale-to-zero', () => {
    const scales = eventsOf('scale-to-zero').flatMap((event) => ('scale' in event ? [event] : []));
    for (const { at, replicas } of scales) if (at < 6.5 * HOUR || at > 23.5 * HOUR) expect(replicas).toBe(0);
    const byName = Map.groupBy(scales, ({ scale }) => scale.name);
    for (const events of byName.values())
      expect(events.filter(({ replicas }) => replicas === 0).length).toBeGreaterThan(2);
  });
});

describe('the page of traces', () => {
  it('describes every kind', () => {
    const page = readFileSync(join(import.meta.dirname, '../../../../../docs/reference/formats/replay.md'), 'utf8');
    for (const kind of Object.keys(GENERATORS)) expect(page).toContain(`\n| \`${kind}\` | `);
  });
});

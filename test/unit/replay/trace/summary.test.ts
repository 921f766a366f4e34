/** Statistics of a trace. */
import { describe, expect, it } from '@jest/globals';
import { summaryOf } from '../../../../src/replay/trace/summary.ts';
import type { TraceEvent } from '../../../../src/replay/trace/trace.ts';

const spec = (cpu: string) => ({
  containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu, memory: '1Gi' } } }],
});
const deployment = (replicas: number, cpu = '500m') => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop' },
  spec: { replicas, selector: {}, template: { spec: spec(cpu) } },
});
const job = (name: string, spec_: object) => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name, namespace: 'shop' },
  spec: { ...spec_, template: { spec: spec('2') } },
});
const ref = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'web' };
const summary = (events: readonly TraceEvent[], seconds = 100) =>
  summaryOf({
    header: { trace: 'karpenter/v1', name: 't', start: '2026-01-05T00:00:00Z', seconds },
    events: () => events,
  });

describe('a summary', () => {
  it('counts pods of workloads when they are applied, scaled, rolled out and deleted', async () => {
    const found = await summary([
      { at: 0, apply: deployment(4) },
      { at: 25, scale: ref, replicas: 8 },
      { at: 50, apply: deployment(8, '250m') },
      { at: 75, delete: ref },
    ]);
    expect(found.podStarts).toBe(4 + 4 + 8);
    expect(found.pods).toEqual({ most: 8, average: (4 + 8 + 8) / 4 });
    expect(found.cpu).toEqual({ most: 4, average: (2 + 4 + 2) / 4 });
    expect(found.memoryGib).toEqual({ most: 8, average: 5 });
    expect(found.objects).toEqual({ Deployment: 1 });
    expect(found.warnings).toEqual([]);
  });

  it('ends pods with a run time, whether or not they are deleted later', async () => {
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a', namespace: 'shop' }, spec: spec('1') };
    const found = await summary([
      { at: 0, apply: job('one', { parallelism: 5, completions: 3 }), runsFor: 20 },
      { at: 0, apply: job('two', { parallelism: 2 }), runsFor: 90 },
      { at: 10, apply: pod, runsFor: 10, count: 4 },
      { at: 50, delete: { ...ref, apiVersion: 'batch/v1', kind: 'Job', name: 'one' } },
      { at: 50, delete: { ...ref, apiVersion: 'batch/v1', kind: 'Job', name: 'two' } },
    ]);
    expect(found.podStarts).toBe(3 + 2 + 4);
    expect(found.pods).toEqual({ most: 9, average: (3 * 20 + 2 * 50 + 4 * 10) / 100 });
    expect(found.warnings).toEqual([]);
  });

  it('warns about changes of objects that do not exist', async () => {
    const { warnings } = await summary([
      { at: 1, scale: ref, replicas: 2 },
      { at: 2, delete: ref },
    ]);
    expect(warnings).toEqual([
      'Deployment shop/web is scaled at 1, but does not exist',
      'Deployment shop/web is deleted at 2, but does not exist',
    ]);
  });

  it('excludes DaemonSets, whose pods are created with the nodes', async () => {
    const daemon = { ...deployment(1), kind: 'DaemonSet' };
    expect((await summary([{ at: 0, apply: daemon }])).podStarts).toBe(0);
  });
});

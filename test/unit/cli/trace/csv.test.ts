/** Traces of CSV files: columns by name and number, units, samples, and errors. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#api/objects';
import { readEvent } from '#replay/testing';
import { readTrace, type TraceEvent, writeTrace } from '#replay/trace';
import { type CsvOptions, fromCsv } from '../../../../src/cli/trace/csv.ts';

let folder: string;
let path: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'csv-'));
  path = join(folder, 'tasks.csv');
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const COLUMNS: CsvOptions = {
  submit: 'time',
  duration: 'runs',
  cpu: 'cpu',
  memory: 'mem',
  hasHeader: true,
  timeUnit: 1,
  cpuUnit: 1,
  memoryUnit: 1,
  name: 'tasks',
  start: '2026-01-05T00:00:00Z',
  sample: 1,
};
async function converted(text: string, options: Partial<CsvOptions> = {}) {
  writeFileSync(path, text);
  const { trace, ...rest } = await fromCsv(path, { ...COLUMNS, ...options });
  return { ...rest, header: trace.header, events: [...(trace.events() as Iterable<TraceEvent>)], trace };
}
const inShort = (events: readonly TraceEvent[]): readonly unknown[] =>
  events.map((event) => {
    if (!('apply' in event)) throw new Error('no apply');
    const { spec } = event.apply as unknown as JobLike;
    return [event.at, event.runsFor, spec.completions, spec.template.spec.containers[0].resources.requests];
  });
interface JobLike {
  readonly spec: {
    readonly completions: number;
    readonly template: {
      readonly spec: {
        readonly containers: [{ readonly resources: { readonly requests: object } }];
        readonly resourceClaims?: unknown;
      };
    };
  };
}

describe('a CSV', () => {
  it('becomes Jobs in the order of time, from the first task on', async () => {
    const found = await converted('time,runs,cpu,mem\n120,30,0.5,1073741824\n100,60.25,2,536870912\n');
    expect(inShort(found.events)).toEqual([
      [0, 60.3, 1, { cpu: '2000m', memory: '512Mi' }],
      [20, 30, 1, { cpu: '500m', memory: '1024Mi' }],
    ]);
    expect(found.header).toMatchObject({ name: 'tasks', seconds: 61, source: 'converted from CSV' });
    const written = join(folder, 'trace.jsonl');
    await writeTrace(found.header, found.events, written);
    expect(await Array.fromAsync((await readTrace(written)).events())).toEqual(found.events);
  });

  it('can have columns by number, units, quotes, counts, and no final line break', async () => {
    const { events, incomplete } = await converted('"a,b",2,10,100,50,3\r\nx,1,,100,50,1\r\nx,3,-5,1,1,1\r\n', {
      ...{ submit: '2', duration: '3', cpu: '4', memory: '5', count: '6', hasHeader: false },
      ...{ timeUnit: 60, cpuUnit: 0.01, memoryUnit: 2 ** 20 },
    });
    expect(inShort(events)).toEqual([[0, 600, 3, { cpu: '1000m', memory: '50Mi' }]]);
    expect(incomplete).toBe(2);
  });

  it('can have quotes in quotes', async () => {
    const text = '"time","a ""b"", c",cpu,mem\n"1","7",1,1048576\n';
    expect(inShort((await converted(text, { duration: 'a "b", c' })).events)).toEqual([
      [0, 7, 1, { cpu: '1000m', memory: '1Mi' }],
    ]);
  });

  it('has Jobs that start again after an eviction, and leave nothing when they are done', async () => {
    const { events } = await converted('time,runs,cpu,mem\n1,60,1,1\n');
    expect(events[0]).toMatchObject({
      runsFor: 60,
      apply: {
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { name: 'task-1', namespace: 'default' },
        spec: {
          parallelism: 1,
          completions: 1,
          ttlSecondsAfterFinished: 0,
          template: { spec: { restartPolicy: 'Never' } },
        },
      },
    });
  });

  it('may have GPUs, extended resources, labels and annotations', async () => {
    const { events } = await converted(
      'time,runs,cpu,mem,gpus,fpga,team,keep\n1,60,1,1048576,0.5,2,a,true\n2,60,1,1048576,0,,,\n',
      {
        gpu: 'gpus',
        resource: { 'example.com/fpga': 'fpga' },
        label: { team: 'team' },
        annotation: { 'karpenter.sh/do-not-disrupt': 'keep' },
      },
    );
    const devices = { 'nvidia.com/gpu': '1', 'example.com/fpga': '2' };
    const requests = { cpu: '1000m', memory: '1Mi' };
    expect(events.map((event) => 'apply' in event && (event.apply as unknown as JobLike).spec.template)).toEqual([
      {
        metadata: { labels: { team: 'a' }, annotations: { 'karpenter.sh/do-not-disrupt': 'true' } },
        spec: expect.objectContaining({
          containers: [
            { name: 'task', image: 'pause', resources: { requests: { ...requests, ...devices }, limits: devices } },
          ],
        }),
      },
      {
        metadata: {},
        spec: expect.objectContaining({ containers: [{ name: 'task', image: 'pause', resources: { requests } }] }),
      },
    ]);
  });

  it('may claim GPUs by resource claims instead', async () => {
    const text = 'time,runs,cpu,mem,gpus\n1,60,1,1048576,2\n1,60,1,1048576,0\n2,60,1,1048576,1\n';
    const { events, header } = await converted(text, { gpu: 'gpus', gpuClaims: true });
    const objects = events.flatMap((event) => ('apply' in event ? [event.apply] : []));
    expect(objects.slice(0, -3).map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
      'DeviceClass gpu.nvidia.com',
      'DaemonSet dra-driver-nvidia',
      'ResourceClaimTemplate gpus-1',
      'ResourceClaimTemplate gpus-2',
    ]);
    const specs = objects.slice(-3).map((object) => (object as unknown as JobLike).spec.template.spec);
    expect(specs.map(({ resourceClaims }) => resourceClaims)).toEqual([
      [{ name: 'gpu', resourceClaimTemplateName: 'gpus-2' }],
      undefined,
      [{ name: 'gpu', resourceClaimTemplateName: 'gpus-1' }],
    ]);
    expect(JSON.stringify(specs)).not.toContain('nvidia.com/gpu');
    for (const event of events) readEvent(event, header, 0);
  });

  it('may have owners and kinds: tasks of a Deployment are its replicas', async () => {
    const lines = [
      '0,100,1,1048576,2,Web_1,Deployment',
      '10,20,1,1048576,1,Web_1,Deployment',
      '15,5,1,1048576,1,etl,Pod',
      '20,90,2,1048576,1,Web_1,Deployment',
      '30,30,1,1048576,1,Web_1,Deployment',
      '200,10,1,1048576,1,db,StatefulSet',
    ];
    const { events, header, trace } = await converted(`time,runs,cpu,mem,n,app,kind\n${lines.join('\n')}\n`, {
      count: 'n',
      owner: 'app',
      kind: 'kind',
    });
    const short = events.map((event) => {
      if ('scale' in event) return [event.at, 'scale', event.scale.name, event.replicas];
      if ('delete' in event) return [event.at, 'delete', event.delete.kind, event.delete.name];
      const { kind, metadata, spec } = event.apply as KubeObject & { readonly spec: { readonly replicas?: number } };
      return [event.at, kind, metadata.name, spec.replicas];
    });
    expect(short).toEqual([
      [0, 'Deployment', 'web-1', 2],
      [10, 'scale', 'web-1', 3],
      [15, 'Pod', 'etl-3', undefined],
      [20, 'Deployment', 'web-1-2', 1],
      // one task ends and another starts at 30
      [60, 'scale', 'web-1', 2],
      [100, 'delete', 'Deployment', 'web-1'],
      [110, 'delete', 'Deployment', 'web-1-2'],
      [200, 'StatefulSet', 'db', 1],
      [210, 'delete', 'StatefulSet', 'db'],
    ]);
    expect(events[0]).toMatchObject({
      apply: {
        spec: {
          selector: { matchLabels: { workload: 'web-1' } },
          template: { metadata: { labels: { owner: 'web-1', workload: 'web-1' } } },
        },
      },
    });
    const written = join(folder, 'owned.jsonl');
    await writeTrace(header, trace.events(), written);
    expect(await Array.fromAsync((await readTrace(written)).events())).toEqual(events);
  });

  it('can be sampled evenly', async () => {
    const lines = Array.from({ length: 1_000 }, (_, at) => `${at},1,1,1`);
    const { events } = await converted(`time,runs,cpu,mem\n${lines.join('\n')}`, { sample: 0.1 });
    expect(events).toHaveLength(100);
    expect(events.map(({ at }) => at).slice(0, 3)).toEqual([0, 10, 20]);
  });

  it.each<[string, Partial<CsvOptions>, string]>([
    ['', {}, 'tasks.csv: no tasks found; check the column names, or add --no-header'],
    ['time,runs,cpu\n1,2,3', {}, 'line 1: no column "mem" for --memory; existing columns: "time", "runs", "cpu"'],
    [
      '1,2,3,4',
      { hasHeader: false },
      'line 1: --submit "time" is not a number, and there is no header; use the number of the column, starting with 1',
    ],
    ['time,runs,cpu,mem\n1,2,much,4', {}, 'line 2: column cpu is "much"; it must be a number'],
    [
      'time,runs,cpu,mem\n1,2,3,CronJob',
      { kind: 'mem', memory: 'cpu' },
      'line 2: column kind is "CronJob"; it must be Job, Pod, Deployment, ReplicaSet, StatefulSet or empty',
    ],
    [
      'time,runs,cpu,mem\n1,2,3,a b',
      { label: { team: 'mem' }, memory: 'cpu' },
      'line 2: label team is "a b": a valid label',
    ],
    [
      'time,runs,cpu,mem\n1,2,3,4',
      { label: { team: 'teem' } },
      'no column "teem" for --label; existing columns: "time"',
    ],
  ])('is rejected: %j', async (text, options, message) => {
    await expect(converted(text, options)).rejects.toThrow(message);
  });
});

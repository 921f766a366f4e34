/** The format of traces and the errors of the reader. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readTrace } from '../../../../src/replay/trace/read.ts';
import type { TraceEvent, TraceHeader } from '../../../../src/replay/trace/trace.ts';
import { writeTrace } from '../../../../src/replay/trace/write.ts';
import { heapUsed } from '../../../support/heap.ts';

const HEADER: TraceHeader = { trace: 'karpenter/v1', name: 'test', start: '2026-01-05T00:00:00Z', seconds: 3600 };
const EXAMPLE = join(import.meta.dirname, '../../../../examples/replay/tiny.jsonl');

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'trace-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const container = { name: 'main', image: 'pause', resources: { requests: { cpu: '500m', memory: '1Gi' } } };
const pod = (metadata: object = {}, spec: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'one', ...metadata },
  spec: { containers: [container], ...spec },
});
const deployment = (spec: object = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop' },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [container] } },
    ...spec,
  },
});
const ref = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'web' };

async function events(path: string): Promise<readonly TraceEvent[]> {
  return Array.fromAsync((await readTrace(path)).events());
}

/** Returns the error message of an invalid text without the folder. */
async function complaint(text: string | Buffer, name = 'bad.jsonl'): Promise<string> {
  const path = join(folder, name);
  writeFileSync(path, text);
  try {
    await events(path);
  } catch (error) {
    expect(error).toMatchObject({ name: 'InputError' });
    return (error as Error).message.replace(`${folder}/`, '');
  }
  throw new Error('was read');
}

const lines = (...values: readonly unknown[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join('');
const framed = (...values: readonly unknown[]): string => lines(HEADER, ...values);

describe('a trace', () => {
  const written: readonly TraceEvent[] = [
    { at: 0, apply: { ...deployment(), metadata: { name: 'web', namespace: 'shop' } } },
    { at: 12.5, scale: ref, replicas: 12 },
    { at: 12.5, apply: { ...pod(), metadata: { name: 'one', namespace: 'default' } }, runsFor: 300, count: 5 },
    { at: 3600, delete: ref },
  ];

  it.each(['trace.jsonl', 'trace.jsonl.gz'])('is parsed unchanged: %s', async (name) => {
    const path = join(folder, name);
    await writeTrace({ ...HEADER, source: 'a test' }, written, path);
    const trace = await readTrace(path);
    expect(trace.header).toEqual({ ...HEADER, source: 'a test' });
    expect(await Array.fromAsync(trace.events())).toEqual(written);
    expect(await Array.fromAsync(trace.events())).toEqual(written);
    expect((await readFile(path))[0]).toBe(name.endsWith('.gz') ? 0x1f : 0x7b);
  });

  it('can be compressed under any name', async () => {
    const path = join(folder, 'compressed.jsonl');
    writeFileSync(path, gzipSync(framed({ at: 1, delete: ref })));
    expect(await events(path)).toEqual([{ at: 1, delete: ref }]);
  });

  it('can have blank lines, Windows line endings, a byte order mark, and no final line break', async () => {
    const path = join(folder, 'odd.jsonl');
    writeFileSync(path, `\uFEFF${JSON.stringify(HEADER)}\r\n\r\n{"at":1,"delete":${JSON.stringify(ref)}}`);
    expect(await events(path)).toEqual([{ at: 1, delete: ref }]);
  });

  it('loses fields that a cluster sets, and gets the default namespace', async () => {
    const path = join(folder, 'live.jsonl');
    const metadata = { uid: 'u', resourceVersion: '7', creationTimestamp: HEADER.start, labels: { app: 'a' } };
    writeFileSync(path, framed({ at: 0, apply: { ...pod(metadata), status: { phase: 'Running' } } }));
    const [event] = await events(path);
    expect(event).toEqual({
      at: 0,
      apply: { ...pod(), metadata: { name: 'one', namespace: 'default', labels: { app: 'a' } } },
    });
  });

  it('is streamed: a file of 90 MB needs less than half of its size', async () => {
    const path = join(folder, 'large.jsonl');
    const big = { at: 1, apply: pod({ annotations: { note: 'x'.repeat(60_000) } }) };
    await writeTrace(
      HEADER,
      Array.from({ length: 1_500 }, () => big as TraceEvent),
      path,
    );
    const before = heapUsed() + process.memoryUsage().arrayBuffers;
    let count = 0;
    let most = 0;
    for await (const _ of (await readTrace(path)).events()) {
      count += 1;
      if (count % 500 !== 0) continue;
      most = Math.max(most, heapUsed() + process.memoryUsage().arrayBuffers - before);
    }
    expect(count).toBe(1_500);
    expect(most).toBeLessThan(45 * 2 ** 20);
  });

  it('is valid in each example', async () => {
    const found = await events(EXAMPLE);
    expect(found.length).toBeGreaterThan(5);
  });
});

describe('an invalid header', () => {
  it.each([
    ['', 'bad.jsonl: is empty; a trace begins with its header, {"trace":"karpenter/v1",…}'],
    ['\n\n', 'bad.jsonl: is empty; a trace begins with its header, {"trace":"karpenter/v1",…}'],
    ['nonsense\n', 'bad.jsonl, line 1: 8 characters that are not valid JSON; write one JSON object per line'],
    ['[]\n', 'bad.jsonl, line 1: the header is a list; it must be an object'],
    [lines({ at: 0 }), 'bad.jsonl, line 1: trace is missing: the first line is the header, {"trace":"karpenter/v1",…}'],
    [
      lines({ ...HEADER, trace: 'karpenter/v9' }),
      'bad.jsonl, line 1: trace is "karpenter/v9"; this version reads "karpenter/v1"',
    ],
    [lines({ ...HEADER, name: '' }), 'bad.jsonl, line 1: name is empty; it must be a text'],
    [lines({ ...HEADER, name: 7 }), 'bad.jsonl, line 1: name is 7; it must be a text'],
    [lines({ ...HEADER, name: undefined }), 'bad.jsonl, line 1: name is missing; it must be a text'],
    [
      lines({ ...HEADER, start: 'Monday' }),
      'bad.jsonl, line 1: start is "Monday"; it must be a time of RFC 3339, such as 2026-01-05T00:00:00Z',
    ],
    [lines({ ...HEADER, seconds: 0 }), 'bad.jsonl, line 1: seconds is 0; it must be seconds from 1 to 316224000'],
    [
      lines({ ...HEADER, seconds: '60' }),
      'bad.jsonl, line 1: seconds is a string; it must be seconds from 1 to 316224000',
    ],
    [lines({ ...HEADER, second: 60 }), 'bad.jsonl, line 1: "second" is unknown; did you mean seconds?'],
    [
      lines({ kind: 'Event', apiVersion: 'audit.k8s.io/v1', level: 'Metadata' }),
      'bad.jsonl, line 1: this is a Kubernetes audit log; convert it with `karpenter trace from-audit`',
    ],
    [
      lines(deployment()),
      'bad.jsonl, line 1: this is a Kubernetes object, not a trace; a trace begins with its header, {"trace":"karpenter/v1",…}',
    ],
    [
      'submit,duration,cpu,memory\n',
      'bad.jsonl, line 1: this looks like CSV; convert it with `karpenter trace from-csv`',
    ],
  ])('is rejected: %j: %s', async (text, message) => {
    expect(await complaint(text)).toBe(message);
  });
});

describe('an invalid event', () => {
  it.each<[unknown, string | RegExp]>([
    [7, 'an event is 7; it must be an object'],
    [{ apply: pod() }, 'at is missing; it must be seconds since the start from 0 to 316224000'],
    [{ at: '1', apply: pod() }, 'at is a string; it must be seconds since the start from 0 to 316224000'],
    [{ at: -1, apply: pod() }, 'at is -1; it must be seconds since the start from 0 to 316224000'],
    [
      { at: 3601, apply: pod() },
      'at is 3601, after the end of the trace; raise "seconds" in the header, which is 3600',
    ],
    [{ at: 1 }, 'has none of apply, scale, delete; it must have one of them'],
    [{ at: 1, aply: pod() }, '"aply" is unknown; did you mean apply?'],
    [
      { at: 1, constructor: {} },
      '"constructor" is unknown; use one of at, apply, scale, delete, runsFor, count, replicas',
    ],
    [{ at: 1, apply: pod(), delete: ref }, 'has several of apply, scale, delete; it must have one of them'],
    [{ at: 1, apply: pod(), runFor: 7 }, '"runFor" is unknown; did you mean runsFor?'],
    [
      HEADER,
      'trace marks a second header, but a file must contain one trace; write the second trace to a separate file',
    ],
    [{ at: 1, apply: { ...pod(), kind: undefined } }, 'apply.kind is missing; it must be a text'],
    [
      { at: 1, apply: { ...pod(), kind: 'Depoyment' } },
      'apply.kind "Depoyment" is not a supported kind; did you mean Deployment?',
    ],
    [
      { at: 1, apply: { ...pod(), kind: 'toString' } },
      /apply\.kind "toString" is not a supported kind; use one of Namespace, PriorityClass/,
    ],
    [
      { at: 1, apply: { ...pod(), kind: 'ConfigMap' } },
      /^apply\.metadata\.labels.*must be "true": a trace contains only/,
    ],
    [
      {
        at: 1,
        apply: {
          ...{ apiVersion: 'v1', kind: 'ConfigMap' },
          metadata: { name: 'a', namespace: 'shop', labels: { 'karpenter.sh/device-templates': 'true' } },
        },
      },
      'apply.metadata.namespace must be kube-system, the namespace of the operator in a replay',
    ],
    [
      { at: 1, apply: { ...pod(), kind: 'CronJob' } },
      'apply.kind CronJob is not supported in a trace: write the Jobs that it created, each at its time',
    ],
    [
      { at: 1, apply: { ...pod(), kind: 'HorizontalPodAutoscaler' } },
      'apply.kind HorizontalPodAutoscaler is not supported in a trace: write its actions as scale events',
    ],
    [{ at: 1, apply: { ...pod(), apiVersion: 'v2' } }, 'apply.apiVersion of a Pod is "v2"; use v1'],
    [{ at: 1, apply: { ...pod(), metadata: undefined } }, 'apply.metadata is missing; it must be an object'],
    [{ at: 1, apply: pod({ name: undefined }) }, 'apply.metadata.name is missing; it must be a text'],
    [{ at: 1, apply: pod({ name: 'One' }) }, /apply\.metadata\.name "One": a lowercase RFC 1123 subdomain/],
    [{ at: 1, apply: pod({ namespace: 7 }) }, 'apply.metadata.namespace is 7; it must be a text'],
    [{ at: 1, apply: pod({ labels: { app: 7 } }) }, 'apply.metadata.labels.app must be a text; put it in quotes'],
    [{ at: 1, apply: pod({ ownerReferences: [] }) }, /apply\.metadata\.ownerReferences is set/],
    [
      { at: 1, apply: pod({}, { nodeName: 'a' }) },
      'apply.spec.nodeName is set, but the nodes of a replay have different names; remove it',
    ],
    [{ at: 1, apply: pod({}, { containers: [] }) }, 'apply.spec.containers must be a list of at least one container'],
    [
      { at: 1, apply: pod({}, { containers: [{ name: 'a' }] }) },
      'apply.spec.containers[0].image is missing; it must be a text',
    ],
    [
      { at: 1, apply: pod({}, { containers: [{ ...container, resources: { requests: { cpu: 'much' } } }] }) },
      /apply\.spec\.containers\[0\]\.resources\.requests\.cpu must be a quantity such as 500m or 2Gi/,
    ],
    [
      { at: 1, apply: pod({}, { containers: [{ ...container, resources: { requests: { cpu: '-1' } } }] }) },
      'apply.spec.containers[0].resources.requests.cpu is negative; it must be a quantity such as 500m or 2Gi',
    ],
    [{ at: 1, apply: deployment({ replicas: 1.5 }) }, 'apply.spec.replicas is 1.5; it must be a whole number: pods'],
    [
      { at: 1, apply: deployment({ replicas: 100_001 }) },
      'apply.spec.replicas is 100001; it must be pods from 0 to 100000',
    ],
    [{ at: 1, apply: deployment({ template: undefined }) }, 'apply.spec.template is missing; it must be an object'],
    [
      { at: 1, apply: deployment(), runsFor: 7 },
      'runsFor is supported for Pods and Jobs only, because pods of a Deployment run until it is deleted; remove it',
    ],
    [
      { at: 1, apply: deployment(), count: 7 },
      'count is supported for Pods only; set the number of pods in the spec of the Deployment',
    ],
    [{ at: 1, apply: pod(), count: 0 }, 'count is 0; it must be pods from 1 to 10000'],
    [{ at: 1, apply: pod(), runsFor: -1 }, 'runsFor is -1; it must be seconds from 0 to 316224000'],
    [{ at: 1, scale: ref }, 'replicas is missing; it must be pods from 0 to 100000'],
    [
      { at: 1, scale: { ...ref, apiVersion: 'v1', kind: 'Pod' }, replicas: 1 },
      'scale.kind Pod cannot be scaled; use Deployment, ReplicaSet, StatefulSet, or apply it again',
    ],
    [{ at: 1, delete: { ...ref, name: undefined } }, 'delete.name is missing; it must be a text'],
    [
      { at: 1, delete: { apiVersion: 'v1', kind: 'Namespace', name: 'a', namespace: 'b' } },
      'delete.namespace is set, but a Namespace does not have a namespace; remove it',
    ],
  ])('is rejected: %j: %s', async (event, message) => {
    const found = await complaint(framed(event));
    expect(found).toMatch(/^bad\.jsonl, line 2: /);
    const rest = found.replace('bad.jsonl, line 2: ', '');
    if (typeof message === 'string') expect(rest).toBe(message);
    else expect(rest).toMatch(message);
  });

  it('is earlier than the previous event', async () => {
    expect(await complaint(framed({ at: 5, delete: ref }, { at: 4, delete: ref }))).toBe(
      'bad.jsonl, line 3: at is 4, before the event above it, which is at 5; sort the lines by "at"',
    );
  });

  it('has keys that would change the prototype of objects', async () => {
    expect(await complaint(`${framed()}{"at":1,"apply":{"__proto__":{"kind":"Pod"}}}\n`)).toBe(
      'bad.jsonl, line 2: "__proto__" is not a valid key in a Kubernetes object; remove it',
    );
  });

  it('is nested too deeply', async () => {
    const deep = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`;
    expect(await complaint(`${framed()}{"at":1,"apply":${deep}}\n`)).toMatch(
      /line 2: is nested more than 100 levels deep/,
    );
  });

  it('is a line without end', async () => {
    const path = `${framed()}{"at":1,"apply":"${'x'.repeat(5 * 2 ** 20)}"}\n`;
    expect(await complaint(path)).toBe('bad.jsonl, line 2: is longer than 4 MiB; split it into several lines');
    expect(await complaint(gzipSync(path), 'bad.gz')).toMatch(/^bad\.gz, line 2: is longer than 4 MiB/);
  });

  it('is truncated at the end of the file', async () => {
    expect(await complaint(`${framed()}{"at":1,"app`)).toMatch(
      /^bad\.jsonl, line 2: .*the line is incomplete; delete it, or write the trace again$/,
    );
    const whole = gzipSync(framed(...Array.from({ length: 1_000 }, (_, at) => ({ at, delete: ref }))));
    expect(await complaint(whole.subarray(0, whole.length / 2), 'bad.gz')).toMatch(
      /^bad\.gz, after line \d+: cannot be read: .*unexpected end of file$/,
    );
  });

  it('is not UTF-8', async () => {
    expect(await complaint(Buffer.concat([Buffer.from(framed()), Buffer.from([0x7b, 0xff, 0x7d, 0x0a])]))).toBe(
      'bad.jsonl, line 2: is not UTF-8; save the file as UTF-8',
    );
  });

  it('does not appear in the message if it is not JSON, because it may contain secrets', async () => {
    expect(await complaint(`${framed()}{"at":1,"apply":hunter2}\n`)).not.toContain('hunter2');
  });
});

describe('a path', () => {
  it.each([
    ['nowhere.jsonl', 'nowhere.jsonl: no such file'],
    ['.', ': is a folder; use a file with JSON lines'],
  ])('is accepted or rejected: %s: %s', async (name, message) => {
    await expect(readTrace(join(folder, name))).rejects.toThrow(message);
  });
});

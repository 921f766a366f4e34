/** Traces of audit logs: the content at each level, and reports of missing parts. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TraceEvent } from '#replay/trace';
import { fromAudit } from '../../../../src/cli/trace/audit.ts';
import { claim, request, slice } from '../../engine/dra/build.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'audit-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const START = Date.parse('2026-01-05T10:00:00Z');
const at = (seconds: number): string => new Date(START + seconds * 1000).toISOString();
const container = { name: 'main', image: 'registry/secret', env: [{ name: 'A', value: 'secret' }] };
const web = (replicas: number, more: object = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop', uid: 'd1', ...more },
  spec: {
    replicas,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web', team: 'secret' } }, spec: { containers: [container] } },
  },
});
const job = (phase: string, status: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'job-1',
    namespace: 'shop',
    uid: 'p1',
    creationTimestamp: at(20).replace('.000', ''),
    ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: 'job', uid: 'j', controller: true }],
  },
  spec: { nodeName: 'n1', restartPolicy: 'Never', containers: [container] },
  status: { phase, ...status },
});

interface Given {
  readonly seconds: number;
  readonly verb: string;
  readonly resource: string;
  readonly name?: string;
  readonly subresource?: string;
  readonly group?: string;
  readonly level?: string;
  readonly code?: number;
  readonly stage?: string;
  readonly request?: object;
  readonly response?: object;
}
const event = ({ seconds, verb, resource, name, subresource, group = 'apps', ...rest }: Given) => ({
  kind: 'Event',
  apiVersion: 'audit.k8s.io/v1',
  level: rest.level ?? 'RequestResponse',
  stage: rest.stage ?? 'ResponseComplete',
  verb,
  objectRef: { resource, namespace: 'shop', name, apiGroup: group, apiVersion: 'v1', subresource },
  responseStatus: { code: rest.code ?? 200 },
  requestObject: rest.request,
  responseObject: rest.response,
  requestReceivedTimestamp: at(seconds),
  stageTimestamp: at(seconds),
});

async function converted(events: readonly unknown[], namespaces?: readonly string[]) {
  const path = join(folder, 'audit.log');
  writeFileSync(path, events.map((each) => `${JSON.stringify(each)}\n`).join(''));
  const found = await fromAudit([path], { limitBytes: 2 ** 20, namespaces });
  return {
    ...found,
    events: [...found.history.until(found.endMs)],
    leftOut: Object.fromEntries(found.history.leftOut),
  };
}
const inShort = (events: readonly TraceEvent[]): readonly unknown[] =>
  events.map((each) => {
    if ('apply' in each) return [each.at, 'apply', each.apply.metadata.name, each.runsFor];
    return 'scale' in each ? [each.at, 'scale', each.scale.name, each.replicas] : [each.at, 'delete', each.delete.name];
  });

const READ = event({ seconds: 0, verb: 'get', resource: 'deployments', name: 'web' });
const created = (level: string) =>
  event({
    seconds: 10,
    verb: 'create',
    resource: 'deployments',
    name: 'web',
    level,
    ...(level === 'Metadata' ? {} : { request: web(2) }),
    ...(level === 'RequestResponse' ? { response: web(2) } : {}),
  });
const scaled = (seconds: number, replicas: number | undefined) =>
  event({
    seconds,
    verb: 'patch',
    resource: 'deployments',
    name: 'web',
    subresource: 'scale',
    ...(replicas === undefined ? { level: 'Metadata' } : { request: { spec: { replicas } } }),
  });

describe('an audit log', () => {
  it('contains the DRA drivers of nodes, declared devices, and claims', async () => {
    const labels = { 'node.kubernetes.io/instance-type': 'g6.xlarge', 'karpenter.sh/nodepool': 'gpu' };
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1', labels } };
    const published = slice([{ name: 'nic-0' }], { driver: 'nic.example.com', nodeName: 'n1', pool: 'n1' });
    const declared = (name: string, label: object) => ({
      ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'shop', labels: label } },
      data: { 'gpu.yaml': 'driver: gpu.example.com\npools: [{name: gpus, devices: [{name: gpu-0}]}]' },
    });
    const wanted = claim([request('r')], { name: 'training', namespace: 'shop' });
    const write = (resource: string, response: object, group = 'resource.k8s.io') =>
      event({ seconds: 5, verb: 'create', resource, group, response });
    const found = await converted([
      READ,
      // the driver publishes before the labels of the node are known
      write('resourceslices', published),
      write('nodes', { ...node, metadata: { name: 'n1' } }, ''),
      write('nodes', node, ''),
      write('resourceslices', slice([{ name: 'nic-0' }], { name: 'far', nodeName: 'unknown' })),
      { ...write('resourceslices', {}), responseObject: undefined, level: 'Metadata' },
      write('resourceslices', { kind: 'ResourceSlice', metadata: { name: 'shortened' } }),
      write('configmaps', declared('devices', { 'karpenter.sh/device-templates': 'true' }), ''),
      write('configmaps', declared('other', {}), ''),
      write('resourceclaims', wanted),
    ]);
    expect(found.devices.map(({ kind, metadata }) => [kind, metadata.namespace, metadata.name])).toEqual([
      ['ConfigMap', 'kube-system', 'devices'],
      ['ConfigMap', 'kube-system', '0-observed-devices'],
      ['DaemonSet', 'kube-system', 'observed-dra-driver-0'],
    ]);
    expect(JSON.stringify(found.devices.at(-1))).toContain('nic.example.com');
    expect(inShort(found.events)).toEqual([[5, 'apply', 'training', undefined]]);
    expect(found.changes).toBe(1);
    expect(found.leftOut).toEqual({
      'ResourceSlice was written, but the level Metadata does not contain the object': 1,
      'ResourceSlice was written, but the log does not contain the instance type and the NodePool of its node': 1,
    });
  });

  it('contains workloads, and pods with their run times, at the level RequestResponse', async () => {
    const ended = {
      conditions: [{ type: 'Ready', status: 'False', reason: 'PodCompleted', lastTransitionTime: at(95) }],
    };
    const ready = { conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: at(35) }] };
    const status = (seconds: number, response: object) =>
      event({ seconds, verb: 'patch', group: '', resource: 'pods', subresource: 'status', name: 'job-1', response });
    const { events, leftOut, changes, lines } = await converted([
      READ,
      created('RequestResponse'),
      { ...created('RequestResponse'), stage: 'RequestReceived' },
      event({ seconds: 20, verb: 'create', group: '', resource: 'pods', name: 'job-1', response: job('Pending') }),
      status(36, job('Running', ready)),
      scaled(40, 5),
      event({
        seconds: 50,
        verb: 'patch',
        resource: 'deployments',
        name: 'web',
        response: web(5, { labels: { a: 'b' } }),
      }),
      status(96, job('Succeeded', ended)),
      status(97, job('Succeeded', ended)),
      event({ seconds: 98, verb: 'delete', group: '', resource: 'pods', name: 'job-1' }),
      event({ seconds: 99, verb: 'delete', resource: 'deployments', name: 'other', code: 404 }),
      event({ seconds: 100, verb: 'delete', resource: 'deployments', name: 'web' }),
    ]);
    expect(inShort(events)).toEqual([
      [10, 'apply', 'web', undefined],
      [20, 'apply', 'job-1', 60],
      [40, 'scale', 'web', 5],
      [100, 'delete', 'web'],
    ]);
    expect(leftOut).toEqual({});
    expect([lines, changes]).toEqual([12, 9]);
    expect(JSON.stringify(events)).not.toContain('secret');
    expect(events[1]).toMatchObject({ apply: { kind: 'Job', spec: { completions: 1 } } });
    expect(events[0]).toMatchObject({ apply: { spec: { template: { metadata: { labels: { app: 'web' } } } } } });
  });

  it('contains the requests at the level Request', async () => {
    const { events, leftOut } = await converted([
      READ,
      created('Request'),
      event({
        seconds: 20,
        verb: 'patch',
        resource: 'deployments',
        name: 'web',
        level: 'Request',
        request: { spec: { replicas: 4 } },
      }),
      event({
        seconds: 30,
        verb: 'patch',
        resource: 'deployments',
        name: 'web',
        level: 'Request',
        request: { spec: { paused: true } },
      }),
    ]);
    expect(inShort(events)).toEqual([
      [10, 'apply', 'web', undefined],
      [20, 'scale', 'web', 4],
    ]);
    expect(leftOut).toEqual({ 'Deployment was written, but the level Request does not contain the object': 1 });
  });

  it('contains nothing to replay at the level Metadata, and the reason is reported', async () => {
    const { events, leftOut } = await converted([
      READ,
      created('Metadata'),
      scaled(20, undefined),
      scaled(30, 3),
      event({ seconds: 40, verb: 'deletecollection', group: '', resource: 'pods', level: 'Metadata' }),
    ]);
    expect(events).toEqual([]);
    expect(leftOut).toEqual({
      'Deployment was written, but the level Metadata does not contain the object': 1,
      'Deployment was scaled, but the log does not contain the replicas; use the level Request': 1,
      'Deployment was scaled, but it was created before the start of the log': 1,
      'deletecollection does not list the deleted objects': 1,
    });
  });

  it('holds the work of a Job once if its pod was evicted', async () => {
    const pod = (seconds: number, name: string, verb: string, more: Partial<Given> = {}) =>
      event({ seconds, verb, group: '', resource: 'pods', name, ...more });
    const named = (name: string, object: ReturnType<typeof job>) => ({
      ...object,
      metadata: { ...object.metadata, name, uid: name },
    });
    const times = { containerStatuses: [{ state: { terminated: { startedAt: at(60), finishedAt: at(100) } } }] };
    const { events } = await converted([
      READ,
      pod(20, 'job-1', 'create', { response: named('job-1', job('Pending')) }),
      pod(50, 'job-1', 'create', { subresource: 'eviction' }),
      pod(52, 'job-1', 'delete'),
      pod(53, 'job-2', 'create', { response: named('job-2', job('Pending')) }),
      pod(101, 'job-2', 'patch', { subresource: 'status', response: named('job-2', job('Succeeded', times)) }),
    ]);
    expect(inShort(events)).toEqual([[20, 'apply', 'job-1', 40]]);
  });

  it('can be limited to namespaces', async () => {
    expect((await converted([READ, created('RequestResponse')], ['other'])).events).toEqual([]);
  });

  it.each([
    ['', 'audit.log: no audit events found'],
    [
      'nonsense\n',
      'audit.log, line 1: 8 characters that are not valid JSON; the log must contain one JSON event per line',
    ],
    ['{"kind":"Pod"}\n', 'audit.log, line 1: is not an audit event; kind must be Event and apiVersion audit.k8s.io/v1'],
    [
      '{"kind":"Event","apiVersion":"audit.k8s.io/v1"}\n',
      'audit.log, line 1: stageTimestamp is missing or not a valid time',
    ],
  ])('is rejected if it is invalid: %j', async (text, message) => {
    const path = join(folder, 'audit.log');
    writeFileSync(path, text);
    await expect(fromAudit([path], { limitBytes: 2 ** 20 })).rejects.toThrow(message);
  });
});

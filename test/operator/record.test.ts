/** `karpenter record` on a live cluster over real HTTP. The recorded traces are read again. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  CONFIG_MAP,
  DEPLOYMENT,
  DEVICE_CLASS,
  INSTANCE_TYPE_LABEL,
  JOB,
  type Kind,
  type KubeObject,
  NODE,
  NODEPOOL_LABEL,
  POD,
  RESOURCE_CLAIM_TEMPLATE,
  RESOURCE_SLICE,
} from '#api/objects';
import { recordTrace } from '#cli/testing';
import { connectReader } from '#kube/connection';
import { run } from '#replay/testing';
import { readTrace, summaryOf, type TraceEvent } from '#replay/trace';
import { partial } from '../support/partial.ts';
import { NEUTRAL_WORLD } from '../support/short-life.ts';
import { deployment, type Scenario, startScenario } from './harness.ts';

const BIN = join(import.meta.dirname, '../../bin/karpenter.js');

let scenario: Scenario;
let folder: string;
let kubeconfig: string;
beforeAll(async () => {
  scenario = await startScenario({ operator: false, systemNodes: 2, timeScale: 20 });
  folder = await mkdtemp(join(tmpdir(), 'record-'));
  kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, scenario.world.kube.kubeconfig());
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), ...scenario.example('nodepool.yaml'));
});
afterAll(async () => {
  await scenario.stop();
  await rm(folder, { recursive: true, force: true });
});

const SECRET = 'hunter2-hunter2';

/** Returns a Deployment with values that must not appear in a trace. */
const secretive = (name: string, replicas: number): KubeObject =>
  deployment(name, replicas, {
    containers: [
      {
        name: 'main',
        image: `registry.example/${SECRET}`,
        command: [SECRET],
        args: [SECRET],
        env: [{ name: 'PASSWORD', value: SECRET }],
        resources: { requests: { cpu: '100m' } },
      },
    ],
  });

const inDefault = (name: string) => ({ name, namespace: 'default' });
const create = (kind: Kind, object: object): Promise<unknown> => scenario.kube.create(kind, partial(object));
const container = { name: 'main', image: SECRET, resources: { requests: { cpu: '50m', memory: '64Mi' } } };
/** Returns a pod. Kubelets of the local world end containers that are never restarted after ten seconds. */
const pod = (name: string, restartPolicy: 'Never' | 'Always' = 'Never') => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { ...inDefault(name), annotations: { note: SECRET } },
  spec: { restartPolicy, containers: [container] },
});

/** Returns the objects of resource claims, with values that must not appear in a trace. */
const claimObjects = (): readonly (readonly [kind: Kind, object: KubeObject])[] => {
  const apiVersion = 'resource.k8s.io/v1';
  const requests = [{ name: 'gpu', exactly: { deviceClassName: 'gpu.example.com' } }];
  const config = [{ opaque: { driver: 'gpu.example.com', parameters: { key: SECRET } } }];
  const declared = { namespace: 'kube-system', labels: { 'karpenter.sh/device-templates': 'true' } };
  const data = { 'gpu.yaml': `# ${SECRET}\ndriver: gpu.example.com\npools: [{name: gpus, devices: [{name: gpu-0}]}]` };
  const objects = [
    [DEVICE_CLASS, { apiVersion, kind: 'DeviceClass', metadata: { name: 'gpu.example.com' }, spec: { config } }],
    [
      RESOURCE_CLAIM_TEMPLATE,
      {
        ...{ apiVersion, kind: 'ResourceClaimTemplate', metadata: inDefault('one-gpu') },
        spec: { spec: { devices: { requests, config } } },
      },
    ],
    [CONFIG_MAP, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'devices', ...declared }, data }],
  ] as const;
  return objects as unknown as ReturnType<typeof claimObjects>;
};

/** Publishes a GPU on the first node, as its DRA driver does. */
async function publishGpu(): Promise<void> {
  const name = (await scenario.kube.list(NODE)).items[0]?.metadata.name ?? '';
  const labels = { [NODEPOOL_LABEL]: 'default', [INSTANCE_TYPE_LABEL]: 'g6.xlarge' };
  await scenario.kube.patch(NODE, { name }, { metadata: { labels } });
  const attributes = { type: { string: 'gpu' }, uuid: { string: SECRET } };
  await create(RESOURCE_SLICE, {
    ...{ apiVersion: 'resource.k8s.io/v1', kind: 'ResourceSlice', metadata: { name: 'slice' } },
    spec: {
      ...{ driver: 'gpu.nvidia.com', nodeName: name, pool: { name, generation: 1, resourceSliceCount: 1 } },
      devices: [{ name: 'gpu-0', attributes }],
    },
  });
}

const eventsOf = async (path: string): Promise<readonly TraceEvent[]> =>
  Array.fromAsync((await readTrace(path)).events());
const applied = (events: readonly TraceEvent[], kind: string) =>
  events.flatMap((event) => ('apply' in event && event.apply.kind === kind ? [event] : []));

/**
 * Expects that the recording can be replayed unchanged with its own NodePool: every pod gets a node, without
 * complaints.
 */
async function playsWell(path: string): Promise<void> {
  const trace = await readTrace(path);
  const { nodes, waiting, complaints } = await run({
    trace: { ...trace, header: { ...trace.header, seconds: 600 } },
    world: NEUTRAL_WORLD,
    set: { name: 'as recorded', says: [], args: [], objects: [] },
    signal: undefined,
    onProgress: () => {},
  });
  expect(complaints).toEqual([]);
  expect(nodes.bought).toBeGreaterThan(0);
  // at least the five pods of web, the two of the Job and three single pods; evicted pods wait again
  expect(waiting.pods).toBeGreaterThanOrEqual(9);
  expect(waiting.stillWaiting).toBe(0);
}

describe('karpenter record', () => {
  it('writes existing objects, changes, and the run times of pods', async () => {
    await scenario.apply(secretive('web', 2));
    await create(POD, pod('before', 'Always'));
    for (const [kind, object] of claimObjects()) await create(kind, object);
    await publishGpu();
    await scenario.until('2 pods of web', async () => (await scenario.running('web')).length === 2);
    const path = join(folder, 'life.jsonl');
    const client = connectReader({ clock: scenario.world.clock, userAgent: 'test', kubeconfig });
    const [stop, started] = [new AbortController(), Promise.withResolvers<void>()];
    const options = { forMs: 3_600_000, limitBytes: 2 ** 24, name: 'life', path, clock: scenario.world.clock };
    const recording = recordTrace(client, { ...options, signal: stop.signal, onStarted: started.resolve });
    await started.promise;

    await scenario.scale('web', 5);
    await scenario.apply(secretive('late', 1));
    await create(POD, pod('single'));
    await create(JOB, {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: inDefault('report'),
      spec: { parallelism: 2, completions: 2, template: { spec: { restartPolicy: 'Never', containers: [container] } } },
    });
    const isRunning = async (prefix: string, count: number): Promise<boolean> =>
      (await scenario.running()).filter(({ metadata }) => metadata.name.startsWith(prefix)).length === count;
    await scenario.until(
      'pods that run',
      async () => (await isRunning('single', 1)) && (await isRunning('report-', 2)),
    );
    await scenario.pass(60_000);
    await scenario.kube.delete(DEPLOYMENT, inDefault('late'));
    await scenario.kube.delete(POD, inDefault('before'));
    await scenario.until('late to be gone', async () => (await scenario.pods('late')).length === 0);
    // half a second of real time, because watch events arrive over the network
    await scenario.pass(30_000);
    stop.abort();
    const notes = await recording;
    client.close();

    const events = await eventsOf(path);
    expect(notes.filter((note) => note.includes('left out') || note.includes('not in the trace'))).toEqual([]);
    expect(applied(events, 'NodePool').map(({ at, apply }) => [at, apply.metadata.name])).toEqual([[0, 'default']]);
    expect(applied(events, 'EC2NodeClass')).toHaveLength(1);
    for (const [{ kind }, { metadata }] of claimObjects())
      expect(applied(events, kind).map(({ at, apply }) => [at, apply.metadata.name])).toEqual([[0, metadata.name]]);
    const [driver, ...others] = applied(events, 'DaemonSet');
    expect(driver).toMatchObject({ at: 0, apply: { metadata: { name: 'observed-dra-driver-0' } } });
    expect(JSON.stringify(driver)).toContain('"local.karpenter-ts.sh/dra-driver":"gpu.nvidia.com"');
    expect(others).toEqual([]);
    expect(applied(events, 'Deployment').map(({ apply }) => apply.metadata.name)).toEqual(['web', 'late']);
    expect(applied(events, 'ReplicaSet')).toEqual([]);
    const [scaled] = events.filter((event) => 'scale' in event);
    expect(scaled).toMatchObject({ scale: { kind: 'Deployment', name: 'web' }, replicas: 5 });
    const deleted = events.flatMap((event) => ('delete' in event ? [event.delete.name] : []));
    expect(deleted.sort()).toEqual(['before', 'late']);
    // each pod of a Job is recorded as a Job, which starts again after an eviction
    const pods = new Map(
      [...applied(events, 'Pod'), ...applied(events, 'Job')].map((event) => [
        event.apply.metadata.name.replace(/-\w+$/, ''),
        event,
      ]),
    );
    expect([...pods.keys()].sort()).toEqual(['before', 'report', 'single']);
    expect(pods.get('before')).toMatchObject({ at: 0, apply: { spec: { restartPolicy: 'Always' } } });
    expect(pods.get('before')?.runsFor).toBeUndefined();
    for (const name of ['single', 'report']) {
      expect(pods.get(name)?.runsFor).toBeGreaterThanOrEqual(9);
      expect(pods.get(name)?.runsFor).toBeLessThan(15);
    }
    const written = await readFile(path, 'utf8');
    expect(written).not.toContain(SECRET);
    expect((await summaryOf(await readTrace(path))).warnings).toEqual([]);
    await playsWell(path);
  });

  it('ends at its size limit and reports that', async () => {
    const client = connectReader({ clock: scenario.world.clock, userAgent: 'test', kubeconfig });
    const path = join(folder, 'small.jsonl');
    const options = { forMs: 3_600_000, limitBytes: 1_500, name: 'small', path, clock: scenario.world.clock };
    const notes = await recordTrace(client, { ...options, signal: new AbortController().signal });
    client.close();
    expect(notes).toContainEqual(expect.stringContaining('reached the limit'));
    expect((await eventsOf(path)).length).toBeGreaterThan(0);
    // besides the header and the DaemonSet of the driver
    expect((await stat(path)).size).toBeLessThan(1_500 + 900);
  });

  it('writes a complete trace on Ctrl-C, as a user runs it', async () => {
    await scenario.apply(secretive('kept', 0));
    const path = join(folder, 'interrupted.jsonl.gz');
    const args = ['record', '--for', '1h', '-n', 'default', '--kubeconfig', kubeconfig, '-o', path];
    const child = spawn(process.execPath, [BIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    let errors = '';
    const started = Promise.withResolvers<void>();
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      errors += chunk;
      if (errors.includes('recording to')) started.resolve();
    });
    const ended = once(child, 'close').then(([code]) => ({ code, errors }));
    await Promise.race([started.promise, ended]);
    child.kill('SIGINT');
    expect(await ended).toEqual({ code: 0, errors: expect.stringMatching(/trace written\s+to\s/) });
    const names = applied(await eventsOf(path), 'Deployment').map(({ apply }) => apply.metadata.name);
    expect(names).toContain('kept');
  });

  it('reports a kubeconfig that it cannot read', async () => {
    const missing = join(folder, 'nowhere');
    const child = spawn(process.execPath, [BIN, 'record', '--kubeconfig', missing], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [errors, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
    expect(code).toBe(1);
    expect(errors).toContain(missing);
  });
});

/**
 * Karpenter's kinds on a real API server with the CRD chart: the objects that it accepts, defaults or rejects, and the output
 * of an unmodified kubectl.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import {
  CAPACITY_BUFFER,
  EC2_NODE_CLASS,
  EVENT,
  type Kind,
  type KubeEvent,
  type KubeObject,
  NODE_CLAIM,
  NODE_OVERLAY,
  NODE_POLICY,
  NODE_POOL,
} from '#api/objects';
import { collectionPath } from '../support/kube-api.ts';
import { misjudged, readCrdCases } from '../unit/api/crdcases.ts';
import { collections, outcomeAt } from './harness/crdcases.ts';
import { type Server, serverAt } from './harness/http.ts';
import { type Installation, startInstallation } from './harness/installation.ts';
import { eventually } from './harness/processes.ts';

const AT_ONCE = 8;
const SERVED_MS = 60_000;

const KINDS: readonly Kind[] = [NODE_POOL, NODE_CLAIM, EC2_NODE_CLASS, NODE_OVERLAY, NODE_POLICY, CAPACITY_BUFFER];
const OBJECTS = join(import.meta.dirname, 'printed/objects.yaml');

/** Removes values that differ from run to run: ages, which may also change the column width. */
function steady(table: string): string {
  const [header = '', ...rows] = table.split('\n');
  const [age = ''] = /AGE *$|AGE +/.exec(header) ?? [];
  const start = header.indexOf(age);
  return [
    header.replace(/AGE +/, 'AGE   ').trimEnd(),
    ...rows.map((row) => (row === '' ? row : `${row.slice(0, start)}age   ${row.slice(start + age.length)}`.trimEnd())),
  ].join('\n');
}

/** Removes values that differ from run to run: IDs, times, and widths of the columns of events. */
const steadyText = (text: string): string =>
  text
    .replace(/^( *(?:Creation|Deletion) Timestamp: +).+$/gm, '$1TIME')
    .replace(/^( *(?:UID|Resource Version): +).+$/gm, '$1ID')
    .replace(/^Events:\n[\s\S]*/m, (events) =>
      events.replace(/ +/g, ' ').replace(/^( \S+ \S+) \S+ (karpenter)/gm, '$1 age $2'),
    );

interface Told {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** kubectl sorts events by time. */
  readonly secondsAgo: number;
}

const TOLD: readonly Told[] = [
  {
    type: 'Normal',
    reason: 'Launched',
    message: 'Status condition transitioned, Type: Launched, Status: Unknown -> True, Reason: Launched',
    secondsAgo: 60,
  },
  {
    type: 'Warning',
    reason: 'DisruptionBlocked',
    message: 'Pdb prevents pod evictions (PodDisruptionBudget=[default/web])',
    secondsAgo: 0,
  },
];

function eventOf({ apiVersion, kind, metadata: { name, uid = '' } }: KubeObject, told: Told): KubeEvent {
  const { secondsAgo, ...rest } = told;
  const time = new Date(Date.now() - 1_000 * secondsAgo).toISOString();
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { namespace: 'default', name: `${name}.${told.reason.toLowerCase()}` },
    involvedObject: { apiVersion, kind, name, uid },
    ...rest,
    count: 1,
    firstTimestamp: time,
    lastTimestamp: time,
    source: { component: 'karpenter' },
  };
}

let real: Installation;
beforeAll(async () => {
  real = await startInstallation({ controllers: false });
  await real.install('karpenter-crd', {});
}, 180_000);
afterAll(async () => {
  await real?.plane.stop();
}, 60_000);

describe('the CRD chart on a real API server', () => {
  let server: Server;
  beforeAll(() => {
    server = serverAt(real.plane.url, real.plane.credentials);
  });
  afterAll(() => server?.close());

  const isServed = async (path: string): Promise<boolean> => (await server.send({ method: 'GET', path })).code === 200;

  it('serves every kind', async () => {
    // helm returns before the API server serves the definitions.
    for (const path of collections())
      await eventually(`served ${path}`, async () => (await isServed(path)) || undefined, SERVED_MS);
  }, 120_000);

  it('returns the reference outcome for every case', async () => {
    const cases = readCrdCases();
    expect(cases.length).toBeGreaterThan(800);
    const wrong: string[] = [];
    const queue = cases[Symbol.iterator]();
    const work = async (): Promise<void> => {
      for (const test of queue) {
        const problem = misjudged(test, await outcomeAt(server, test));
        if (problem) wrong.push(`${test.id} (${test.kind}: ${test.note}): ${problem}`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    expect(wrong).toEqual([]);
  }, 300_000);
});

describe('kubectl', () => {
  const objects: KubeObject[] = [];

  beforeAll(async () => {
    const text = await readFile(OBJECTS, 'utf8');
    const file = join(real.plane.folder, 'objects.yaml');
    await writeFile(file, text);
    await real.kubectl('apply', '-f', file, '--validate=strict');
    for (const document of parseAllDocuments(text)) {
      const object = document.toJS() as KubeObject & { readonly status?: unknown };
      const kind = KINDS.find((one) => one.kind === object.kind);
      if (kind === undefined) throw new Error(`objects.yaml has a ${object.kind}`);
      const { metadata, status } = object;
      objects.push(
        status === undefined
          ? ((await real.kube.raw('GET', `${collectionPath(kind, metadata.namespace)}/${metadata.name}`)) as KubeObject)
          : await real.kube.patch(kind, metadata, { status }, { subresource: 'status' }),
      );
    }
    const claim = objects.find(({ metadata }) => metadata.name === 'default-ready');
    if (claim === undefined) throw new Error('objects.yaml has no claim default-ready');
    for (const told of TOLD) await real.kube.create(EVENT, eventOf(claim, told));
  }, 180_000);

  it.each(KINDS.map(({ plural }) => plural))('gets %s in columns', async (plural) => {
    expect(steady(await real.kubectl('get', plural))).toMatchSnapshot();
    expect(steady(await real.kubectl('get', plural, '-o', 'wide'))).toMatchSnapshot();
  });

  it('supports the short names and categories', async () => {
    const names = async (...argv: string[]): Promise<readonly string[]> =>
      (await real.kubectl('get', ...argv, '-o', 'name')).trim().split('\n').sort();
    expect(await names('ec2nc')).toEqual(await names('ec2nodeclasses'));
    expect(await names('karpenter')).toEqual(
      (await Promise.all(KINDS.filter(({ group }) => group.startsWith('karpenter')).map(({ plural }) => names(plural))))
        .flat()
        .sort(),
    );
  });

  it('describes every object', async () => {
    expect(objects.length).toBeGreaterThan(10);
    for (const { kind, metadata } of objects)
      expect(steadyText(await real.kubectl('describe', kind, metadata.name))).toMatchSnapshot(
        `${kind} ${metadata.name}`,
      );
  }, 60_000);

  it('describes an object that is being deleted and waits for its finalizer', async () => {
    await real.kubectl('delete', 'nodeclaim', 'default-ready', '--wait=false');
    const text = await real.kubectl('describe', 'nodeclaim', 'default-ready');
    expect(text).toMatch(/Deletion Timestamp: +20/);
    expect(text).toMatch(/Finalizers:\n +karpenter\.sh\/termination/);
  });

  it('scales a static NodePool, and does not make another NodePool static', async () => {
    await real.kubectl('scale', 'nodepool', 'static', '--replicas=3');
    expect(await real.kubectl('get', 'nodepool', 'static', '-o', 'jsonpath={.spec.replicas}')).toBe('3');
    await expect(real.kubectl('scale', 'nodepool', 'default', '--replicas=3')).rejects.toThrow(/static/);
  });

  it('explains the fields', async () => {
    const text = await real.kubectl('explain', 'nodepool.spec.disruption.consolidateAfter');
    expect(text).toMatch(/FIELD: consolidateAfter <string>/);
    expect(text.split('\n').length).toBeGreaterThan(6);
  });
});

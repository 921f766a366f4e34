/** Writes share unchanged parts with stored objects and must never mutate them. */
import { beforeEach, describe, expect, it } from '@jest/globals';
import { realClock } from '#lib/clock';
import { openApi } from '../../../../../src/local/kubernetes/apiserver/api.ts';
import { type ApiObject, clone } from '../../../../../src/local/kubernetes/apiserver/json.ts';
import type { Objects } from '../../../../../src/local/kubernetes/apiserver/objects.ts';

const POD = { apiVersion: 'v1', kind: 'Pod' } as const;
const REF = { ...POD, namespace: 'default', name: 'web' };
const DEPLOYMENT = { apiVersion: 'apps/v1', kind: 'Deployment' } as const;
const SPEC = {
  hostNetwork: true,
  containers: [{ name: 'main', image: 'x', ports: [{ containerPort: 80 }], resources: { limits: { cpu: 1 } } }],
};

let objects: Objects;

function frozen(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  Object.freeze(value);
  for (const field of Object.values(value)) frozen(field);
}

beforeEach(() => {
  ({ objects } = openApi({ clock: realClock() }));
  // A write that mutates stored objects throws from here on.
  for (const kind of [POD, DEPLOYMENT]) objects.subscribe(kind, (_type, object) => frozen(object));
});

const create = (): ApiObject => objects.create({ ...POD, metadata: { name: 'web' }, spec: SPEC });
const status = (change: object): ApiObject =>
  objects.patch(REF, 'strategic', { status: change }, { subresource: 'status' });

describe('a pod', () => {
  it('shares its spec across binding, status and deletion', () => {
    const { spec } = create();
    const first = status({ phase: 'Pending', conditions: [{ type: 'Ready', status: 'False', reason: 'Starting' }] });
    expect(first.spec).toBe(spec);
    objects.create({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } });
    objects.bind({ namespace: 'default', name: 'web' }, { target: { name: 'n' } });
    const bound = objects.get(REF);
    expect(bound.spec).toEqual({ ...(spec as object), nodeName: 'n' });
    const state = { running: { startedAt: '2026-01-01T00:00:00Z' } };
    const running = status({
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True', reason: null }],
      containerStatuses: [{ name: 'main', image: 'x', imageID: 'x', ready: true, restartCount: 0, state }],
    });
    expect(running.spec).toBe(bound.spec);
    expect(running.status).toMatchObject({
      phase: 'Running',
      qosClass: 'Burstable',
      conditions: [
        { type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime: null },
        { type: 'PodScheduled', status: 'True' },
      ],
    });
    const leaving = objects.delete(REF);
    expect(leaving).toMatchObject({ spec: bound.spec, metadata: { deletionGracePeriodSeconds: 30 } });
    expect(running.metadata.deletionTimestamp).toBeUndefined();
  });

  it('gets a new version for a status change, but not without a change', () => {
    create();
    const before = status({ phase: 'Running' });
    expect(status({ phase: 'Running' })).toBe(before);
    const after = status({ phase: 'Failed' });
    expect(after.metadata).toMatchObject({ generation: 1, uid: before.metadata.uid });
    expect(after.metadata.resourceVersion).not.toBe(before.metadata.resourceVersion);
  });

  it('is validated for the changes of a status write', () => {
    create();
    const labelled = { metadata: { labels: { 'not a key': 'x' } } };
    expect(() => objects.patch(REF, 'merge', labelled, { subresource: 'status' })).toThrow(/metadata\.labels/);
    expect(() => status({ phase: 3 })).toThrow(/Pod\.status\.phase/);
    const warnings: string[] = [];
    objects.patch(REF, 'merge', { status: { fase: 'Running' } }, { subresource: 'status', warnings });
    expect(warnings).toEqual(['unknown field "status.fase"']);
  });
});

it('shares the spec of a workload when its status is written', () => {
  const { spec } = objects.create({
    ...DEPLOYMENT,
    metadata: { name: 'web' },
    spec: {
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: SPEC },
    },
  });
  const ref = { ...DEPLOYMENT, namespace: 'default', name: 'web' };
  const written = objects.patch(ref, 'merge', { status: { replicas: 1 } }, { subresource: 'status' });
  expect(written.spec).toBe(spec);
  expect(written.status).toEqual({ replicas: 1 });
});

describe('a custom resource', () => {
  const WIDGET = { apiVersion: 'example.com/v1', kind: 'Widget' } as const;
  const ref = { ...WIDGET, name: 'a' };
  const text = { type: 'string' };
  const parts = { type: 'object', properties: { size: { type: 'integer', default: 1 }, name: text } };
  const spec = {
    ...parts,
    'x-kubernetes-validations': [
      { rule: 'self.size < 10', message: 'too large' },
      { rule: "!has(self.name) || self.name == oldSelf.name || oldSelf.name == ''", message: 'stays' },
    ],
  };
  const schema = { type: 'object', properties: { spec, status: parts } };
  const define = (openAPIV3Schema: object): unknown => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Cluster',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [
        { name: 'v1', served: true, storage: true, subresources: { status: {} }, schema: { openAPIV3Schema } },
      ],
    },
  });
  const write = (change: object, subresource?: 'status', warnings: string[] = []): ApiObject =>
    objects.patch(ref, 'merge', change, { subresource, warnings });

  beforeEach(() => {
    objects.create(define(schema));
    objects.subscribe(WIDGET, (_type, object) => frozen(object));
    objects.create({ ...WIDGET, metadata: { name: 'a' }, spec: { name: 'x', bogus: 1 } });
  });

  it('shares its spec when its status is written, and changes are validated', () => {
    const { spec: stored } = objects.get(ref);
    expect(stored).toEqual({ name: 'x', size: 1 });
    const warnings: string[] = [];
    const written = write({ status: { name: 'y', bogus: 1 } }, 'status', warnings);
    expect(written.spec).toBe(stored);
    expect(written.status).toEqual({ name: 'y', size: 1 });
    expect(warnings).toEqual(['unknown field "status.bogus"']);
    expect(write({ status: { size: 2 } }, 'status')).toMatchObject({
      spec: { size: 1 },
      status: { name: 'y', size: 2 },
    });
    expect(() => write({ status: { size: 'z' } }, 'status')).toThrow(/status\.size/);
    expect(() => write({ spec: { size: 11 } })).toThrow(/too large/);
    expect(() => write({ spec: { name: 'z' } })).toThrow(/stays/);
    const changed = write({ spec: { size: null, other: 1 }, status: { size: 3 } });
    expect(changed).toMatchObject({ spec: { name: 'x', size: 1 }, status: { size: 2 } });
    expect(changed.spec).not.toHaveProperty('other');
  });

  it('is validated and defaulted by a new schema at the next write', () => {
    write({ status: { size: 2 } }, 'status');
    const wider = { ...parts, properties: { ...parts.properties, colour: { ...text, default: 'red' } } };
    const versions = [
      {
        ...{ name: 'v1', served: true, storage: true, subresources: { status: {} } },
        schema: { openAPIV3Schema: { type: 'object', properties: { spec: wider, status: wider } } },
      },
    ];
    const definition = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' };
    objects.patch({ ...definition, name: 'widgets.example.com' }, 'merge', { spec: { versions } });
    expect(write({ status: { size: 3 } }, 'status')).toMatchObject({
      spec: { name: 'x', size: 1, colour: 'red' },
      status: { size: 3, colour: 'red' },
    });
  });
});

it('copies deeply without undefined values', () => {
  const inner = { b: [1, { c: undefined, d: null }] };
  const copy = clone({ a: inner, e: undefined });
  expect(JSON.stringify(copy)).toBe('{"a":{"b":[1,{"d":null}]}}');
  expect(Object.keys(copy)).toEqual(['a']);
  expect(copy.a).not.toBe(inner);
});

it('lists by name after any additions and removals', () => {
  const names = (): string =>
    objects
      .list({ apiVersion: 'v1', kind: 'ConfigMap' }, 'default')
      .map(({ metadata }) => metadata.name)
      .join(' ');
  const add = (name: string): unknown =>
    objects.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' } });
  for (const name of ['m', 'c']) add(name);
  expect(names()).toBe('c m');
  for (const name of ['z', 'a', 'd']) add(name);
  expect(names()).toBe('a c d m z');
  for (const name of ['a', 'm', 'z'])
    objects.delete({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name });
  expect(names()).toBe('c d');
  add('b');
  expect(names()).toBe('b c d');
});

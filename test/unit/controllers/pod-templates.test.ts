import { describe, expect, it } from '@jest/globals';
import type { KubeObject, Pod } from '#api/objects';
import { ApiError, type KubeClient } from '#kube/client';
import { settled } from '#kube/reconcilers';
import { silent } from '#observe/logger';
import { PodTemplates } from '#state/testing';
import { podTemplates } from '../../../src/controllers/pod-templates.ts';
import { partial } from '../../support/partial.ts';

const CONTROLLERS = [
  ['apps/v1', 'ReplicaSet'],
  ['apps/v1', 'StatefulSet'],
  ['batch/v1', 'Job'],
  ['v1', 'ReplicationController'],
] as const;

const resized = (apiVersion: string, kind: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'web-1',
    namespace: 'shop',
    uid: 'pod',
    managedFields: [{ subresource: 'resize' }],
    ownerReferences: [{ apiVersion, kind, name: 'web', uid: 'web', controller: true }],
  },
  spec: { nodeName: 'n', containers: [{ name: 'app', resources: { requests: { cpu: '500m' } } }] },
});

/** Creates the worker with `find` as its client. */
function reader(pod: Pod, find: (...of: unknown[]) => Promise<KubeObject | undefined>) {
  const changed: string[] = [];
  const templates = new PodTemplates((nodes) => changed.push(...nodes));
  templates.podChanged(false, pod);
  const worker = podTemplates(partial({ client: { find: find as KubeClient['find'] }, cluster: { templates } }));
  const reconcile = () => worker.reconcile('web', { log: silent, signal: new AbortController().signal });
  return { templates, changed, worker, reconcile };
}

const owner = (kind: string, uid = 'web', cpu = '2500m'): KubeObject =>
  ({
    apiVersion: 'apps/v1',
    kind,
    metadata: { name: 'web', namespace: 'shop', uid },
    spec: { template: { spec: { containers: [{ name: 'app', image: 'large', resources: { requests: { cpu } } }] } } },
  }) as KubeObject;

const cpuOf = (templates: PodTemplates, pod: Pod) => templates.of(pod)?.containers[0]?.resources?.requests?.cpu;

describe('podTemplates', () => {
  it.each(CONTROLLERS)('reads the template of the controller of a resized pod: %s %s', async (apiVersion, kind) => {
    const pod = resized(apiVersion, kind);
    const read: unknown[] = [];
    const { templates, changed, worker, reconcile } = reader(pod, async (of, ref) => {
      read.push([(of as { kind: string }).kind, (ref as { namespace: string }).namespace]);
      return owner(kind);
    });
    const added: string[] = [];
    worker.bind((key) => added.push(key));
    expect(added).toEqual(['web']);
    expect(await reconcile()).toMatchObject({ kind: 'after' });
    expect(read).toEqual([[kind, 'shop']]);
    expect(cpuOf(templates, pod)).toBe('2500m');
    expect(templates.of(pod)).toEqual({ containers: [{ name: 'app', resources: { requests: { cpu: '2500m' } } }] });
    expect(changed).toEqual(['n']);
  });

  it('reads no template after the last resized pod is gone', async () => {
    const pod = resized('apps/v1', 'ReplicaSet');
    const { templates, reconcile } = reader(pod, async () => {
      throw new Error('must not be read');
    });
    templates.podChanged(true, pod);
    expect(await reconcile()).toEqual(settled);
  });

  it('keeps the known template if it cannot be read again', async () => {
    const pod = resized('apps/v1', 'ReplicaSet');
    const answers: (() => KubeObject)[] = [
      () => owner('ReplicaSet'),
      () => {
        throw new ApiError(500, 'InternalError', 'etcd is down');
      },
      () => {
        throw new ApiError(403, 'Forbidden', 'replicasets is forbidden');
      },
      () => owner('ReplicaSet', 'web', '3'),
    ];
    const { templates, reconcile } = reader(pod, async () => answers.shift()?.());
    await reconcile();
    await expect(reconcile()).rejects.toThrow('etcd is down');
    expect(cpuOf(templates, pod)).toBe('2500m');
    expect(await reconcile()).toMatchObject({ kind: 'after' });
    expect(cpuOf(templates, pod)).toBe('2500m');
    await reconcile();
    expect(cpuOf(templates, pod)).toBe('3');
  });

  it('uses no template of a controller that does not exist or has the same name as the owner', async () => {
    const pod = resized('apps/v1', 'ReplicaSet');
    const answers = [owner('ReplicaSet', 'another'), undefined];
    const { templates, reconcile } = reader(pod, async () => answers.shift());
    for (const _ of [1, 2]) {
      expect(await reconcile()).toMatchObject({ kind: 'after' });
      expect(templates.of(pod)).toBeUndefined();
    }
  });
});

/** The pods of budgets, after any changes of pods and selectors. */
import { setImmediate as turn } from 'node:timers/promises';
import { beforeEach, expect, it } from '@jest/globals';
import { realClock } from '#lib/clock';
import { openApi } from '../../../../../src/local/kubernetes/apiserver/api.ts';
import type { Objects } from '../../../../../src/local/kubernetes/apiserver/objects.ts';

const POD = { apiVersion: 'v1', kind: 'Pod', namespace: 'default' };
const BUDGET = { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', namespace: 'default' };

let objects: Objects;

beforeEach(() => {
  ({ objects } = openApi({ clock: realClock() }));
});

const pod = (name: string, labels: object, namespace = 'default'): void => {
  objects.create({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels },
    spec: { containers: [{ name: 'main', image: 'x' }] },
  });
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  objects.patch({ ...POD, namespace, name }, 'merge', { status }, { subresource: 'status' });
};
const budget = (name: string, matchLabels: object): void => {
  objects.create({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace: 'default' },
    spec: { minAvailable: 0, selector: { matchLabels } },
  });
};

async function healthy(name: string): Promise<unknown> {
  for (let round = 0; round < 5; round += 1) await turn();
  return (objects.get({ ...BUDGET, name }).status as { currentHealthy?: number }).currentHealthy;
}

it('counts existing and new pods, and follows label changes, completions and deletions', async () => {
  pod('one', { app: 'web' });
  pod('elsewhere', { app: 'web' }, 'kube-system');
  budget('web', { app: 'web' });
  expect(await healthy('web')).toBe(1);
  pod('two', { app: 'web' });
  pod('three', { app: 'other' });
  expect(await healthy('web')).toBe(2);
  objects.patch({ ...POD, name: 'three' }, 'merge', { metadata: { labels: { app: 'web' } } });
  expect(await healthy('web')).toBe(3);
  objects.patch({ ...POD, name: 'one' }, 'merge', { metadata: { labels: { app: 'other' } } });
  expect(await healthy('web')).toBe(2);
  objects.patch({ ...POD, name: 'two' }, 'merge', { status: { phase: 'Failed' } }, { subresource: 'status' });
  expect(await healthy('web')).toBe(1);
  objects.delete({ ...POD, name: 'three' });
  expect(await healthy('web')).toBe(0);
});

it('counts the selected pods of each budget for any kind of selector', async () => {
  pod('one', { app: 'web', tier: 'front' });
  const selectors = {
    'by-label': { matchLabels: { app: 'web' } },
    'by-both': { matchLabels: { app: 'web', tier: 'back' } },
    'by-expression': { matchExpressions: [{ key: 'tier', operator: 'Exists' }] },
    all: {},
  };
  for (const [name, selector] of Object.entries(selectors))
    objects.create({
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name, namespace: 'default' },
      spec: { minAvailable: 0, selector },
    });
  const counts = async () => Promise.all(Object.keys(selectors).map(healthy));
  expect(await counts()).toEqual([1, 0, 1, 1]);
  pod('two', { app: 'web', tier: 'back' });
  pod('three', { app: 'other' });
  expect(await counts()).toEqual([2, 1, 2, 3]);
  objects.patch({ ...POD, name: 'two' }, 'merge', { metadata: { labels: { tier: null } } });
  objects.delete({ ...POD, name: 'three' });
  expect(await counts()).toEqual([2, 0, 1, 2]);
});

it('expects the number of replicas of the controllers, and follows changes', async () => {
  const labels = { app: 'web' };
  const controller = (name: string, replicas: number) =>
    objects.create({
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: { name, namespace: 'default' },
      spec: {
        replicas,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'x' }] } },
      },
    });
  const own = (name: string, owner: string, uid = ''): void => {
    pod(name, labels);
    const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: owner, uid, controller: true }];
    objects.patch({ ...POD, name }, 'merge', { metadata: { ownerReferences } });
  };
  own('one', 'a', controller('a', 3).metadata.uid);
  own('two', 'b', controller('b', 5).metadata.uid);
  objects.create({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'web', namespace: 'default' },
    spec: { maxUnavailable: 1, selector: { matchLabels: labels } },
  });
  const expected = async (): Promise<unknown> => {
    await healthy('web');
    return (objects.get({ ...BUDGET, name: 'web' }).status as { expectedPods?: number }).expectedPods;
  };
  expect(await expected()).toBe(8);
  objects.patch({ ...POD, apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'a' }, 'merge', { spec: { replicas: 4 } });
  expect(await expected()).toBe(9);
  objects.delete({ ...POD, name: 'two' });
  expect(await expected()).toBe(4);
});

it('selects pods again if its selector changes or it is recreated', async () => {
  pod('one', { app: 'web' });
  pod('two', { app: 'other' });
  pod('three', { app: 'other' });
  budget('some', { app: 'web' });
  expect(await healthy('some')).toBe(1);
  objects.patch({ ...BUDGET, name: 'some' }, 'merge', { spec: { selector: { matchLabels: { app: 'other' } } } });
  expect(await healthy('some')).toBe(2);
  objects.delete({ ...BUDGET, name: 'some' });
  objects.delete({ ...POD, name: 'two' });
  budget('some', { app: 'other' });
  expect(await healthy('some')).toBe(1);
});

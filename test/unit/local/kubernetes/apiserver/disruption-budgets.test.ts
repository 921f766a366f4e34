/** The pods that budgets count, whatever becomes of the pods and of the budgets' selectors. */
import { setImmediate as turn } from 'node:timers/promises';
import { beforeEach, expect, it } from '@jest/globals';
import { realClock } from '../../../../../src/kube/clock.ts';
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

it('counts pods that were there and that come, change their labels, end and go', async () => {
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

it('looks for its pods anew when its selector changes, and when it comes back', async () => {
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

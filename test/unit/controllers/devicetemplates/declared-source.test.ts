import { expect, it } from '@jest/globals';
import type { ConfigMap } from '#api/objects';
import type { EventNote } from '#observe/events';
import { silent } from '#observe/logger';
import { DeclaredDeviceSource } from '../../../../src/controllers/devicetemplates/declared-source.ts';
import { partial } from '../../../support/partial.ts';
import { settableClock } from '../../virtualclock.ts';

const configMap = (resourceVersion: string, text: string): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'devices', namespace: 'karpenter', uid: 'u', resourceVersion },
  data: { 'd.yaml': text },
});
const VALID = 'driver: d.example.com\npools: []';

it('reads the labelled ConfigMaps of the namespace every few seconds, reports invalid documents, and survives failures', async () => {
  const clock = settableClock();
  const notes: EventNote[] = [];
  const queries: unknown[] = [];
  let found: readonly ConfigMap[] | Error = [configMap('1', `${VALID}\n---\ndriver: 1`)];
  const source = new DeclaredDeviceSource({
    client: {
      listAll: async (_, query) => {
        queries.push(query);
        if (found instanceof Error) throw found;
        return partial(found);
      },
    },
    events: { publish: (note) => void notes.push(note) },
    clock,
    log: silent,
    namespace: 'karpenter',
  });
  const drivers = async () => (await source.current()).devices.map(({ template }) => template.driver);
  expect(await Promise.all([drivers(), drivers()])).toEqual([['d.example.com'], ['d.example.com']]);
  expect(queries).toEqual([{ namespace: 'karpenter', labelSelector: 'karpenter.sh/device-templates=true' }]);
  expect(notes).toMatchObject([
    {
      reason: 'InvalidDeviceTemplate',
      message: 'Skipping declared devices: d.yaml, document 2: driver must be a string, not "1"',
    },
  ]);
  found = [configMap('2', VALID.replace('d.', 'e.'))];
  expect(await drivers()).toEqual(['d.example.com']);
  await clock.advance(5_000);
  expect(await drivers()).toEqual(['e.example.com']);
  found = new Error('forbidden');
  await clock.advance(5_000);
  expect(await drivers()).toEqual(['e.example.com']);
  expect(notes).toHaveLength(1);
});

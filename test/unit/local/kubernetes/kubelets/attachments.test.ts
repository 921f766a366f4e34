/** Volumes are detached after their last use, in any order of deletions. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import {
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  type PersistentVolume,
  type PersistentVolumeClaim,
  POD,
  type Pod,
  VOLUME_ATTACHMENT,
} from '#api/objects';
import { steadyClock } from '#lib/clock';
import type { Caches } from '../../../../../src/local/cache.ts';
import type { ObjectClient } from '../../../../../src/local/client.ts';
import { cachesInProcess, connectInProcess } from '../../../../../src/local/in-process.ts';
import { openApi } from '../../../../../src/local/kubernetes/apiserver/api.ts';
import { startAttachments } from '../../../../../src/local/kubernetes/kubelets/attachments.ts';

const stop = new AbortController();
let client: ObjectClient;
let caches: Caches;
const DATA = { name: 'data', namespace: 'default' };
const WRITER = { name: 'writer', namespace: 'default' };

beforeEach(async () => {
  // A volume is released two seconds after its last pod. This is a tenth of a second here.
  const clock = steadyClock(20);
  const api = openApi({ clock });
  client = connectInProcess(api);
  caches = cachesInProcess(api);
  const parts = { client, caches, clock, signal: stop.signal, log: () => {} };
  await startAttachments(parts);
  const volume = {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'v' },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      csi: { driver: 'ebs.csi.aws.com', volumeHandle: 'vol-1' },
    },
  };
  await client.create(PERSISTENT_VOLUME, volume as unknown as PersistentVolume);
  const claim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: DATA,
    spec: { volumeName: 'v', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  };
  await client.create(PERSISTENT_VOLUME_CLAIM, claim as unknown as PersistentVolumeClaim);
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: WRITER,
    spec: {
      nodeName: 'n1',
      containers: [{ name: 'main', image: 'x' }],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
    },
  };
  await client.create(POD, pod as unknown as Pod);
  await until(async () => (await attached()) === 1);
});

afterEach(() => stop.abort());

const attached = async (): Promise<number> => caches.of(VOLUME_ATTACHMENT).list().length;

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let round = 0; round < 100 && !(await holds()); round += 1) await sleep(10);
  expect(await holds()).toBe(true);
}

it('detaches the volume of a claim that was deleted together with its pod', async () => {
  await client.patch(PERSISTENT_VOLUME_CLAIM, DATA, { metadata: { finalizers: null } });
  await client.delete(PERSISTENT_VOLUME_CLAIM, DATA);
  // The volumes of the pod can no longer be determined.
  await client.delete(POD, WRITER, { gracePeriodSeconds: 0 });
  await until(async () => (await attached()) === 0);
});

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  type PersistentVolume,
  type PersistentVolumeClaim,
} from '#api/objects';
import { startVolumes } from '../../../../../src/local/kubernetes/controllers/volumes.ts';
import { startCluster, type TestCluster } from '../../world-cluster.ts';

const CLAIM = { name: 'data', namespace: 'default' };

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startCluster();
  await startVolumes(cluster.parts);
});
afterEach(() => cluster.stop());

const volume = (policy: 'Delete' | 'Retain'): Promise<PersistentVolume> =>
  cluster.client.create(PERSISTENT_VOLUME, {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'disk' },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      csi: { driver: 'ebs.csi.aws.com', volumeHandle: 'vol-1' },
      persistentVolumeReclaimPolicy: policy,
    } as PersistentVolume['spec'],
  });

const claim = (): Promise<PersistentVolumeClaim> =>
  cluster.client.create(PERSISTENT_VOLUME_CLAIM, {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: CLAIM,
    spec: { storageClassName: '', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  });

const find = (): Promise<PersistentVolume | undefined> => cluster.client.find(PERSISTENT_VOLUME, { name: 'disk' });
const phase = (wanted: string): Promise<unknown> =>
  cluster.until(`the volume to be ${wanted}`, async () => (await find())?.status?.phase === wanted);
const gone = (): Promise<unknown> => cluster.until('the volume to be gone', async () => (await find()) === undefined);

describe('a persistent volume', () => {
  it('is Available, then Bound to its claim, then Released, and can be deleted', async () => {
    await volume('Retain');
    await phase('Available');
    await claim();
    await phase('Bound');
    await cluster.client.delete(PERSISTENT_VOLUME_CLAIM, CLAIM);
    await phase('Released');
    await cluster.client.delete(PERSISTENT_VOLUME, { name: 'disk' });
    await gone();
  });

  it('is deleted with its claim if its policy is Delete', async () => {
    await volume('Delete');
    await claim();
    await phase('Bound');
    await cluster.client.delete(PERSISTENT_VOLUME_CLAIM, CLAIM);
    await gone();
  });

  it.each([
    'Delete',
    'Retain',
  ] as const)('remains with the policy %s until its claim is deleted if it is deleted while it is Bound', async (policy) => {
    await volume(policy);
    await claim();
    await phase('Bound');
    await cluster.client.delete(PERSISTENT_VOLUME, { name: 'disk' });
    expect((await find())?.metadata.deletionTimestamp).toBeDefined();
    await cluster.client.delete(PERSISTENT_VOLUME_CLAIM, CLAIM);
    await gone();
  });

  it('is Released if its claim was deleted before it was created', async () => {
    const { metadata } = await claim();
    await cluster.client.delete(PERSISTENT_VOLUME_CLAIM, CLAIM);
    const made = await volume('Retain');
    const claimRef = { ...CLAIM, uid: metadata.uid ?? '' };
    await cluster.client.patch(PERSISTENT_VOLUME, made.metadata, { spec: { claimRef } });
    await phase('Released');
  });
});

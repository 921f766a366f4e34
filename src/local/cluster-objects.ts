/** What an EKS cluster usually holds from the start, beside what its API server makes itself. */
import { STORAGE_CLASS } from '../api/kinds.ts';
import type { StorageClass } from '../api/kubernetes.ts';
import { isConflict, type ObjectClient } from './client.ts';

const GP3: StorageClass & { readonly reclaimPolicy: string } = {
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: { name: 'gp3', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
  provisioner: 'ebs.csi.aws.com',
  reclaimPolicy: 'Delete',
  volumeBindingMode: 'WaitForFirstConsumer',
};

/** Creates the default storage class unless there is one of its name. */
export async function createClusterObjects(client: ObjectClient): Promise<void> {
  try {
    await client.create(STORAGE_CLASS, GP3);
  } catch (error) {
    if (!isConflict(error)) throw error;
  }
}

/** Objects of a new EKS cluster that the API server does not create itself. */
import { STORAGE_CLASS, type StorageClass } from '#api/objects';
import { isAnyConflict, type ObjectClient } from './client.ts';

const GP3: StorageClass & { readonly reclaimPolicy: string } = {
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: { name: 'gp3', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
  provisioner: 'ebs.csi.aws.com',
  reclaimPolicy: 'Delete',
  volumeBindingMode: 'WaitForFirstConsumer',
};

/** Creates the default storage class unless it exists. */
export async function createClusterObjects(client: ObjectClient): Promise<void> {
  try {
    await client.create(STORAGE_CLASS, GP3);
  } catch (error) {
    if (!isAnyConflict(error)) throw error;
  }
}

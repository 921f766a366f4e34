/** What every EKS cluster holds from the start and pods or the operator look for. */

import type { Kind } from '../api/kinds.ts';
import { NAMESPACE, SERVICE, STORAGE_CLASS } from '../api/kinds.ts';
import type { KubeObject, StorageClass } from '../api/kubernetes.ts';
import { isConflict, type KubeApi } from './client.ts';

/** The cluster's DNS, as kubelets are told it. */
export const DNS_IP = '10.100.0.10';

const namespaces = ['default', 'kube-system', 'kube-public', 'kube-node-lease'].map((name) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name },
}));

const dns = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'kube-dns', namespace: 'kube-system', labels: { 'k8s-app': 'kube-dns' } },
  spec: {
    clusterIP: DNS_IP,
    clusterIPs: [DNS_IP],
    selector: { 'k8s-app': 'kube-dns' },
    ports: [
      { name: 'dns', port: 53, protocol: 'UDP', targetPort: 53 },
      { name: 'dns-tcp', port: 53, protocol: 'TCP', targetPort: 53 },
    ],
  },
};

const storageClass: StorageClass & { readonly reclaimPolicy: string } = {
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: { name: 'gp3', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
  provisioner: 'ebs.csi.aws.com',
  reclaimPolicy: 'Delete',
  volumeBindingMode: 'WaitForFirstConsumer',
};

/** Creates them where they are missing. */
export async function createClusterObjects(client: KubeApi): Promise<void> {
  const ensure = async <T extends KubeObject>(kind: Kind<T>, object: T): Promise<void> => {
    try {
      await client.create(kind, object);
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  };
  for (const namespace of namespaces) await ensure(NAMESPACE, namespace);
  await ensure(SERVICE, dns);
  await ensure(STORAGE_CLASS, storageClass);
}

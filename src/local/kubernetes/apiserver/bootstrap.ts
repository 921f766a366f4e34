/** Objects that exist in every new cluster. */
import type { IpFamily } from './admission/services.ts';
import type { Objects } from './objects.ts';

const NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];

const PRIORITIES = [
  {
    name: 'system-cluster-critical',
    value: 2_000_000_000,
    description:
      'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
  },
  {
    name: 'system-node-critical',
    value: 2_000_001_000,
    description: 'Used for system critical pods that must not be moved from their current node.',
  },
];

const SERVICES = [
  {
    metadata: { name: 'kubernetes', namespace: 'default', labels: { component: 'apiserver', provider: 'kubernetes' } },
    spec: {
      clusterIP: { ipv4: '172.20.0.1', ipv6: 'fd00:10:96::1' },
      ports: [{ name: 'https', port: 443, targetPort: 443 }],
    },
  },
  {
    metadata: {
      name: 'kube-dns',
      namespace: 'kube-system',
      labels: { 'k8s-app': 'kube-dns', 'kubernetes.io/name': 'CoreDNS' },
    },
    spec: {
      clusterIP: { ipv4: '172.20.0.10', ipv6: 'fd00:10:96::a' },
      selector: { 'k8s-app': 'kube-dns' },
      ports: [
        { name: 'dns', port: 53, protocol: 'UDP' },
        { name: 'dns-tcp', port: 53, protocol: 'TCP' },
      ],
    },
  },
];

/** @param ipFamily family of the addresses of services */
export function bootstrap(objects: Objects, ipFamily: IpFamily): void {
  for (const name of NAMESPACES) objects.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  for (const { name, value, description } of PRIORITIES) {
    objects.create({
      apiVersion: 'scheduling.k8s.io/v1',
      kind: 'PriorityClass',
      metadata: { name },
      value,
      description,
    });
  }
  for (const { metadata, spec } of SERVICES)
    objects.create({
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { ...spec, clusterIP: spec.clusterIP[ipFamily] },
    });
  objects.create({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'cluster-admin' },
    rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
  });
}

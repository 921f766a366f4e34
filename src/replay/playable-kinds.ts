/** What a trace may create: everything that decides where pods may run, and nothing that somebody else makes of it. */
import type { Kind } from '../api/kinds.ts';

const kind = (group: string, version: string, name: string, plural: string, namespaced: boolean): Kind => ({
  group,
  version,
  kind: name,
  plural,
  namespaced,
});

export const PLAYABLE_KINDS: readonly Kind[] = [
  kind('', 'v1', 'Namespace', 'namespaces', false),
  kind('', 'v1', 'Pod', 'pods', true),
  kind('', 'v1', 'PersistentVolume', 'persistentvolumes', false),
  kind('', 'v1', 'PersistentVolumeClaim', 'persistentvolumeclaims', true),
  kind('apps', 'v1', 'Deployment', 'deployments', true),
  kind('apps', 'v1', 'ReplicaSet', 'replicasets', true),
  kind('apps', 'v1', 'StatefulSet', 'statefulsets', true),
  kind('apps', 'v1', 'DaemonSet', 'daemonsets', true),
  kind('batch', 'v1', 'Job', 'jobs', true),
  kind('policy', 'v1', 'PodDisruptionBudget', 'poddisruptionbudgets', true),
  kind('scheduling.k8s.io', 'v1', 'PriorityClass', 'priorityclasses', false),
  kind('storage.k8s.io', 'v1', 'StorageClass', 'storageclasses', false),
  kind('karpenter.sh', 'v1', 'NodePool', 'nodepools', false),
  kind('karpenter.sh', 'v1alpha1', 'NodeOverlay', 'nodeoverlays', false),
  kind('autoscaling.x-k8s.io', 'v1beta1', 'CapacityBuffer', 'capacitybuffers', true),
  kind('karpenter.k8s.aws', 'v1', 'EC2NodeClass', 'ec2nodeclasses', false),
];

const BY_NAME = new Map(
  PLAYABLE_KINDS.map((each) => [`${each.group === '' ? '' : `${each.group}/`}${each.version} ${each.kind}`, each]),
);

/** Undefined for what is not played. */
export const playableKind = ({ apiVersion, kind: name }: { readonly apiVersion: string; readonly kind: string }) =>
  BY_NAME.get(`${apiVersion} ${name}`);

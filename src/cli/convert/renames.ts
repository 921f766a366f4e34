/** Names of Karpenter's alpha and beta APIs, and their names in v1. */
import { DO_NOT_DISRUPT_ANNOTATION, NODEPOOL_HASH_ANNOTATION, NODEPOOL_LABEL } from '#api/objects';

export const OLD_POOL_LABEL = 'karpenter.sh/provisioner-name';

/** Labels, and tags with the same names. */
export const RENAMED_LABELS: ReadonlyMap<string, string> = new Map([[OLD_POOL_LABEL, NODEPOOL_LABEL]]);

/** Labels that nodes no longer have, with an explanation. */
export const GONE_LABELS: ReadonlyMap<string, string> = new Map([
  ['karpenter.k8s.aws/instance-pods', 'nodes do not have this label since v1beta1; use instance-cpu or instance-size'],
]);

export const ANNOTATIONS: ReadonlyMap<string, string> = new Map([
  ['karpenter.sh/do-not-evict', DO_NOT_DISRUPT_ANNOTATION],
  ['karpenter.sh/do-not-consolidate', DO_NOT_DISRUPT_ANNOTATION],
  ['karpenter.sh/provisioner-hash', NODEPOOL_HASH_ANNOTATION],
  ['karpenter.k8s.aws/nodetemplate-hash', 'karpenter.k8s.aws/ec2nodeclass-hash'],
]);

/** Taint of v1beta1 on nodes that are being disrupted, with the value `disrupting`. */
export const OLD_DISRUPTION_TAINT = 'karpenter.sh/disruption';

/**
 * Taint that users put on Provisioners, so that no new pods are scheduled to their nodes during a migration to
 * NodePools.
 */
export const LEGACY_TAINT = 'karpenter.sh/legacy';

/** Annotations of v1 objects that the webhooks of Karpenter 0.33 to 1.0 converted. */
export const COMPATIBILITY = {
  kubelet: 'compatibility.karpenter.sh/v1beta1-kubelet-conversion',
  nodeClass: 'compatibility.karpenter.sh/v1beta1-nodeclass-reference',
  ubuntu: 'compatibility.karpenter.k8s.aws/v1beta1-ubuntu',
} as const;

export const V1 = 'karpenter.sh/v1';
export const AWS_V1 = 'karpenter.k8s.aws/v1';

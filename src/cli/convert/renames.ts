/** Names of Karpenter's alpha and beta APIs, and what they are called in v1. */
import { DO_NOT_DISRUPT_ANNOTATION, NODEPOOL_HASH_ANNOTATION, NODEPOOL_LABEL } from '../../api/labels.ts';

export const OLD_POOL_LABEL = 'karpenter.sh/provisioner-name';

/** Labels, and tags of the same names. */
export const LABELS: ReadonlyMap<string, string> = new Map([[OLD_POOL_LABEL, NODEPOOL_LABEL]]);

/** Labels that no node carries any longer, and why. */
export const GONE_LABELS: ReadonlyMap<string, string> = new Map([
  ['karpenter.k8s.aws/instance-pods', 'nodes have no such label since v1beta1; use instance-cpu or instance-size'],
]);

export const ANNOTATIONS: ReadonlyMap<string, string> = new Map([
  ['karpenter.sh/do-not-evict', DO_NOT_DISRUPT_ANNOTATION],
  ['karpenter.sh/do-not-consolidate', DO_NOT_DISRUPT_ANNOTATION],
  ['karpenter.sh/provisioner-hash', NODEPOOL_HASH_ANNOTATION],
  ['karpenter.k8s.aws/nodetemplate-hash', 'karpenter.k8s.aws/ec2nodeclass-hash'],
]);

/** Taint on nodes that are being disrupted, in v1beta1; it had the value `disrupting`. */
export const OLD_DISRUPTION_TAINT = 'karpenter.sh/disruption';

/** Put on Provisioners, by hand, so that nothing new lands on their nodes while NodePools take over. */
export const LEGACY_TAINT = 'karpenter.sh/legacy';

/** On v1 objects that were converted by the webhooks of Karpenter 0.33 to 1.0. */
export const COMPATIBILITY = {
  kubelet: 'compatibility.karpenter.sh/v1beta1-kubelet-conversion',
  nodeClass: 'compatibility.karpenter.sh/v1beta1-nodeclass-reference',
  ubuntu: 'compatibility.karpenter.k8s.aws/v1beta1-ubuntu',
} as const;

export const V1 = 'karpenter.sh/v1';
export const AWS_V1 = 'karpenter.k8s.aws/v1';

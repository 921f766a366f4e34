/** Rules for objects that several kinds have in common. */
import type {
  Affinity,
  ContainerPort,
  LabelSelector,
  LabelSelectorRequirement,
  NodeAffinity,
  NodeSelectorTerm,
  OwnerReference,
  PodAffinity,
  PodAffinityTerm,
  ResourceRequirements,
  Taint,
  Toleration,
  TopologySpreadConstraint,
} from '../../api/kubernetes.ts';
import type { KeepOf } from './keep.ts';

/** Without messages, because kubelets quote the output of containers in them. */
export const CONDITIONS = {
  type: true,
  status: true,
  reason: true,
  lastTransitionTime: true,
  observedGeneration: true,
} as const;

export const OWNER: KeepOf<OwnerReference> = {
  apiVersion: true,
  kind: true,
  name: true,
  uid: true,
  controller: true,
  blockOwnerDeletion: true,
};

export const OBJECT_REFERENCE = { apiVersion: true, group: true, kind: true, name: true } as const;

export const SELECTOR_REQUIREMENT: KeepOf<LabelSelectorRequirement> = { key: true, operator: true, values: true };

export const SELECTOR: KeepOf<LabelSelector> = { matchLabels: 'map', matchExpressions: SELECTOR_REQUIREMENT };

export const TAINT: KeepOf<Taint> = { key: true, value: true, effect: true, timeAdded: true };

export const TOLERATION: KeepOf<Toleration> = {
  key: true,
  operator: true,
  value: true,
  effect: true,
  tolerationSeconds: true,
};

export const NODE_TERM: KeepOf<NodeSelectorTerm> = {
  matchExpressions: SELECTOR_REQUIREMENT,
  matchFields: SELECTOR_REQUIREMENT,
};

const NODE_AFFINITY: KeepOf<NodeAffinity> = {
  requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: NODE_TERM },
  preferredDuringSchedulingIgnoredDuringExecution: { weight: true, preference: NODE_TERM },
};

const POD_TERM: KeepOf<PodAffinityTerm> = {
  labelSelector: SELECTOR,
  namespaces: true,
  namespaceSelector: SELECTOR,
  topologyKey: true,
  matchLabelKeys: true,
  mismatchLabelKeys: true,
};

const POD_AFFINITY: KeepOf<PodAffinity> = {
  requiredDuringSchedulingIgnoredDuringExecution: POD_TERM,
  preferredDuringSchedulingIgnoredDuringExecution: { weight: true, podAffinityTerm: POD_TERM },
};

export const AFFINITY: KeepOf<Affinity> = {
  nodeAffinity: NODE_AFFINITY,
  podAffinity: POD_AFFINITY,
  podAntiAffinity: POD_AFFINITY,
};

export const SPREAD: KeepOf<TopologySpreadConstraint> = {
  maxSkew: true,
  topologyKey: true,
  whenUnsatisfiable: true,
  labelSelector: SELECTOR,
  minDomains: true,
  nodeAffinityPolicy: true,
  nodeTaintsPolicy: true,
  matchLabelKeys: true,
};

export const PORT: KeepOf<ContainerPort> = {
  containerPort: true,
  hostPort: true,
  hostIP: true,
  protocol: true,
  name: true,
};

export const RESOURCES: KeepOf<ResourceRequirements> = {
  requests: 'map',
  limits: 'map',
  claims: { name: true, request: true },
};

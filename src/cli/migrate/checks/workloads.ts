/** Checks pods and workloads for annotations, tolerations and labels that later versions do not support. */
import {
  DO_NOT_DISRUPT_ANNOTATION,
  type KubeObject,
  type NodeSelectorRequirement,
  type Pod,
  type PodDisruptionBudget,
  type PodSpec,
  type Workload,
} from '#api/objects';
import { counted, inShort } from '../../render/table.ts';
import type { Facts } from '../facts.ts';
import { type Item, itemsIn } from '../items.ts';
import { PROVISIONER_LABEL } from '../origins.ts';
import { stageIn } from './installation.ts';

const { itemsOf, ok, todo } = itemsIn('workloads');
const KINDS = ['Pod', 'Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet', 'Job'] as const;
const MANIFESTS = 'karpenter convert -f FILE, for the source files';

/** Pod or pod template, with the name of its object. */
interface Template {
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: PodSpec;
}

/** Condition to search for, and the required change. */
interface Rule {
  readonly subject: string;
  readonly applies: (template: Template) => boolean;
  readonly message: string;
  readonly next: string;
}

const annotated =
  (key: string): Rule['applies'] =>
  ({ annotations }) =>
    Object.hasOwn(annotations, key) && !Object.hasOwn(annotations, DO_NOT_DISRUPT_ANNOTATION);

const RULES: readonly Rule[] = [
  ...['karpenter.sh/do-not-evict', 'karpenter.sh/do-not-consolidate'].map((key) => ({
    subject: `annotation ${key}`,
    applies: annotated(key),
    message: 'no version since 1.0 uses it, so these pods are not protected',
    next: `${MANIFESTS}; the annotation becomes ${DO_NOT_DISRUPT_ANNOTATION}: "true"`,
  })),
  {
    subject: 'annotation cluster-autoscaler.kubernetes.io/safe-to-evict: "false"',
    applies: (template) =>
      annotated('cluster-autoscaler.kubernetes.io/safe-to-evict')(template) &&
      template.annotations['cluster-autoscaler.kubernetes.io/safe-to-evict'] === 'false',
    message: 'Karpenter does not use it, so these pods are not protected from consolidation',
    next: `${MANIFESTS}; the annotation becomes ${DO_NOT_DISRUPT_ANNOTATION}: "true"`,
  },
  {
    subject: 'toleration of karpenter.sh/disruption',
    applies: ({ spec }) => (spec.tolerations ?? []).some(({ key }) => key === 'karpenter.sh/disruption'),
    message: 'since 1.0, the taint is karpenter.sh/disrupted:NoSchedule',
    next: MANIFESTS,
  },
  {
    subject: `label ${PROVISIONER_LABEL} in selectors`,
    applies: ({ spec }) => selectsProvisioner(spec),
    message: 'nodes of NodePools do not have it, so pods that select it are not scheduled on new nodes',
    next: `${MANIFESTS}; nodes of NodePools have the label karpenter.sh/nodepool`,
  },
];

function selectsProvisioner({ nodeSelector = {}, affinity, topologySpreadConstraints = [] }: PodSpec): boolean {
  const node = affinity?.nodeAffinity;
  const terms = [
    ...(node?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []),
    ...(node?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ preference }) => preference),
  ];
  const expressions: readonly NodeSelectorRequirement[] = terms.flatMap(
    ({ matchExpressions = [] }) => matchExpressions,
  );
  return (
    Object.hasOwn(nodeSelector, PROVISIONER_LABEL) ||
    expressions.some(({ key }) => key === PROVISIONER_LABEL) ||
    topologySpreadConstraints.some(({ topologyKey }) => topologyKey === PROVISIONER_LABEL)
  );
}

export const workloadItems = (facts: Facts): readonly Item[] => [
  ...itemsOf(facts, { subject: 'pods and workloads', kinds: KINDS }, () => {
    const templates = KINDS.flatMap((kind) => facts.of<Pod | Workload>(kind).flatMap(templateOf));
    const items = RULES.flatMap((rule) => ruleItem(rule, templates));
    return items.length > 0 || templates.length === 0
      ? items
      : [ok('pods and workloads', `${templates.length} checked: none has fields that later versions do not support`)];
  }),
  ...budgets(facts),
];

/** Returns the pod template of an object. Skips pods and ReplicaSets with an owner, because their owner is checked. */
function templateOf(object: KubeObject): readonly Template[] {
  if ((object.metadata.ownerReferences ?? []).length > 0) return [];
  const { namespace = 'default' } = object.metadata;
  const name = `${object.kind} ${namespace}/${object.metadata.name}`;
  const isPod = object.kind === 'Pod';
  const template = isPod ? (object as Pod) : (object as Workload).spec?.template;
  if (template?.spec === undefined) return [];
  return [{ name, annotations: template.metadata?.annotations ?? {}, spec: template.spec }];
}

function ruleItem({ subject, applies, message, next }: Rule, templates: readonly Template[]): readonly Item[] {
  const found = templates.filter(applies).map(({ name }) => name);
  return found.length === 0 ? [] : [todo(subject, `on ${inShort(found)}; ${message}`, next)];
}

/**
 * Reports PodDisruptionBudgets that block evictions. Since 1.0, expiration drains nodes immediately, so a blocked
 * drain is forced or never ends.
 */
function budgets(facts: Facts): readonly Item[] {
  const stage = stageIn(facts);
  if (stage === 'v1' || stage === undefined) return [];
  return itemsOf(facts, { subject: 'PodDisruptionBudgets', kinds: ['PodDisruptionBudget'] }, () => {
    const shut = facts
      .of<PodDisruptionBudget>('PodDisruptionBudget')
      .filter(({ status }) => status?.disruptionsAllowed === 0 && (status.expectedPods ?? 1) > 0)
      .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
    return shut.length === 0
      ? []
      : [
          todo(
            'PodDisruptionBudgets',
            `${counted(shut.length, 'budget')} allow no eviction now: ${inShort(shut)}; replaced and expired nodes wait for them`,
            'kubectl get poddisruptionbudgets -A, and allow evictions before nodes are replaced',
          ),
        ];
  });
}

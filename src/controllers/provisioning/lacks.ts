/**
 * What of a node keeps kube-scheduler from binding a pod to it. This looks at the Node as it is, by kube-scheduler's rules
 * and under the names that the pod uses, not at what the solver expects of it.
 */
import type { NodeSelectorRequirement, Pod, StringMap, Taint } from '../../api/kubernetes.ts';
import { normalizeLabel } from '../../api/labels.ts';
import { own } from '../../api/own.ts';
import { hostPortsOf, portConflict } from '../../engine/host-ports.ts';
import type { StateNode } from '../../engine/model.ts';
import { isOwnedByDaemonSet, isTerminal } from '../../engine/pods.ts';
import { Requirements, STRICT } from '../../engine/requirements.ts';
import { addResources, podRequests, quantityList, subtractResources } from '../../engine/resources.ts';
import { formatTaint, untolerated } from '../../engine/taints.ts';
import { ValueSet } from '../../engine/value-set.ts';
import { VolumeSlots, type Volumes } from '../../engine/volumes.ts';

export type Suitability =
  /** The node could never have held the pod. */
  | { readonly kind: 'lacking'; readonly text: string }
  /** Other pods have what the pod needs. */
  | { readonly kind: 'taken' }
  /** Nothing of the node speaks against the pod. */
  | { readonly kind: 'free' };

/** Where a label is looked up: a node that has not joined has no aliases yet. */
const labelReader =
  ({ registered, labels }: StateNode) =>
  (key: string): string | undefined =>
    own(labels, key) ?? (registered ? undefined : own(labels, normalizeLabel(key)));

const meets = ({ operator, values }: NodeSelectorRequirement, value: string | undefined): boolean => {
  const set = ValueSet.of(operator, values);
  if (value === undefined) return operator === 'NotIn' || operator === 'DoesNotExist';
  return set.has(value);
};

const wanted = ({ key, operator, values = [] }: NodeSelectorRequirement): string =>
  `${key} ${operator}${values.length > 0 ? ` [${values.join(' ')}]` : ''}`;

const labelText = (requirement: NodeSelectorRequirement, value: string | undefined): string =>
  value === undefined
    ? `it has no label ${requirement.key}, and the pod selects ${wanted(requirement)}`
    : `its label ${requirement.key} is "${value}", and the pod selects ${wanted(requirement)}`;

/** The first label that the pod's selector, or all of its affinity's terms, do not find. */
function missingLabel({ spec }: Pod, labelOf: (key: string) => string | undefined): string | undefined {
  for (const [key, value] of Object.entries((spec.nodeSelector ?? {}) as StringMap)) {
    const requirement: NodeSelectorRequirement = { key, operator: 'In', values: [value] };
    if (!meets(requirement, labelOf(key))) return labelText(requirement, labelOf(key));
  }
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const failures = terms.map(({ matchExpressions = [] }) =>
    matchExpressions.find((requirement) => !meets(requirement, labelOf(requirement.key))),
  );
  const [first] = failures;
  return first === undefined || failures.includes(undefined) ? undefined : labelText(first, labelOf(first.key));
}

/** A node that has joined is judged by its own taints: those that go by themselves have gone when it is initialized. */
function refusedTaint({ spec }: Pod, node: StateNode): Taint | undefined {
  const taints = (node.initialized ? node.node?.spec?.taints : undefined) ?? node.taints;
  return untolerated(
    spec.tolerations,
    taints.filter(({ effect }) => effect !== 'PreferNoSchedule'),
  )[0];
}

function shortOf(pod: Pod, { allocatable }: StateNode, running: readonly Pod[]): string | undefined {
  const requests = podRequests(pod);
  const rest = subtractResources(allocatable, addResources(...running.map(podRequests)));
  const short = Object.keys(requests).find((name) => (own(requests, name) ?? 0) > (own(rest, name) ?? 0));
  if (short === undefined) return undefined;
  const amount = (of: number | undefined): string => own(quantityList({ [short]: of ?? 0 }), short) ?? '0';
  return `it has ${amount(own(rest, short))} of ${short} for pods, and the pod requests ${amount(own(requests, short))}`;
}

const takenPort = (pod: Pod, running: readonly Pod[]): number | undefined =>
  portConflict(hostPortsOf(pod), running.flatMap(hostPortsOf))?.port;

function misplacedVolume(pod: Pod, { labels, csiNode }: StateNode, volumes: Volumes): string | undefined {
  const { alternatives, leaveFree, claims } = volumes.of(pod);
  const there = Requirements.fromLabels(labels);
  if (!leaveFree && !alternatives.some((place) => there.compatible(place, STRICT)))
    return `the pod's volumes can only be used where ${alternatives[0]}`;
  return new VolumeSlots(csiNode, []).hasRoomFor(claims)
    ? undefined
    : 'it cannot attach as many volumes as the pod has';
}

/** What the node lacks for the pod, whoever else runs there. */
function lackOf(pod: Pod, node: StateNode, volumes: () => Volumes): string | undefined {
  const daemons = node.pods.filter((other) => isOwnedByDaemonSet(other) && !isTerminal(other));
  const label = missingLabel(pod, labelReader(node));
  if (label !== undefined) return label;
  const taint = refusedTaint(pod, node);
  if (taint !== undefined) return `it has the taint ${formatTaint(taint)}, which the pod does not tolerate`;
  const short = shortOf(pod, node, daemons);
  if (short !== undefined) return short;
  const port = takenPort(pod, daemons);
  if (port !== undefined) return `a daemon pod has its host port ${port}`;
  return (pod.spec.volumes ?? []).length === 0 ? undefined : misplacedVolume(pod, node, volumes());
}

const hasRoom = (pod: Pod, node: StateNode, volumes: () => Volumes): boolean => {
  const running = node.pods.filter((other) => !isTerminal(other));
  if (shortOf(pod, node, running) !== undefined || takenPort(pod, running) !== undefined) return false;
  if ((pod.spec.volumes ?? []).length === 0) return true;
  const used = running.map((other) => volumes().claimsOf(other));
  return new VolumeSlots(node.csiNode, used).hasRoomFor(volumes().claimsOf(pod));
};

/** Rules between pods change with every pod that comes or goes: where others run, they may be why this one does not. */
const maybeKeptAway = (pod: Pod, node: StateNode): boolean => {
  const { affinity, topologySpreadConstraints = [] } = pod.spec;
  const hasRules = affinity?.podAffinity !== undefined || affinity?.podAntiAffinity !== undefined;
  const others = node.pods.filter((other) => !isTerminal(other) && !isOwnedByDaemonSet(other));
  const avoided = others.some((other) => other.spec.affinity?.podAntiAffinity !== undefined);
  return others.length > 0 && (hasRules || avoided || topologySpreadConstraints.length > 0);
};

export function suitability(pod: Pod, node: StateNode, volumes: () => Volumes): Suitability {
  const text = lackOf(pod, node, volumes);
  if (text !== undefined) return { kind: 'lacking', text };
  return hasRoom(pod, node, volumes) && !maybeKeptAway(pod, node) ? { kind: 'free' } : { kind: 'taken' };
}

/** For events about a node that nothing speaks against. */
export const unexplained = ({ spec }: Pod): string =>
  `nothing of the node speaks against it: the scheduler ${spec.schedulerName ?? 'default-scheduler'} has not bound it, ` +
  'rules between pods keep it away, or an admission webhook has changed it';

export const nodeText = (node: StateNode): string => `node/${node.name}`;

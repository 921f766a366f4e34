/**
 * Finds the property of a node that keeps kube-scheduler from binding a pod to it. Checks the actual Node by kube-scheduler's
 * rules and with the label names that the pod uses, not the node that the solver expects.
 */
import { DISRUPTED_TAINT, type NodeSelectorRequirement, normalizeLabel, type Pod, type Taint } from '#api/objects';
import {
  addResources,
  formatTaint,
  hostPortsOf,
  isOwnedByDaemonSet,
  isTerminal,
  limitsOn,
  podRequests,
  portConflict,
  quantityList,
  Requirements,
  STRICT,
  type StateNode,
  sameTaint,
  subtractResources,
  untolerated,
  type VolumeLimits,
  VolumeSlots,
  type Volumes,
} from '#engine/model';
import { affinityTerms, isSatisfied, type LaunchCause, selectorRequirements } from '#engine/solve';
import { own } from '#lib';
import { likenessOf } from '#state';

/** Property of a node that keeps kube-scheduler from binding a pod to it, independent of the pods that run there. */
interface Lack {
  readonly text: string;
  readonly cause: LaunchCause;
}

type Suitability =
  /** The node could never have held the pod. */
  | ({ readonly kind: 'lacking' } & Lack)
  /** Other pods use the resources that the pod needs. */
  | { readonly kind: 'taken' }
  /** The node is suitable for the pod. */
  | { readonly kind: 'free' };

/**
 * Reads labels of a node. A node that has not joined does not have alias labels yet, so the reader also tries the normalized
 * name.
 */
const labelReader =
  ({ registered, labels }: StateNode) =>
  (key: string): string | undefined =>
    own(labels, key) ?? (registered ? undefined : own(labels, normalizeLabel(key)));

const wanted = ({ key, operator, values = [] }: NodeSelectorRequirement): string =>
  `${key} ${operator}${values.length > 0 ? ` [${values.join(' ')}]` : ''}`;

const labelText = (requirement: NodeSelectorRequirement, value: string | undefined): string =>
  value === undefined
    ? `the node does not have the label ${requirement.key}, but the pod selects ${wanted(requirement)}`
    : `the label ${requirement.key} of the node is "${value}", but the pod selects ${wanted(requirement)}`;

/**
 * Returns the first label that the node selector requires and the node does not have. If every affinity term fails, returns the
 * first label of these.
 */
function missingLabel(pod: Pod, labelOf: (key: string) => string | undefined): Lack | undefined {
  const isMissed = (requirement: NodeSelectorRequirement): boolean =>
    !isSatisfied(requirement, labelOf(requirement.key));
  const lackOfLabels = (first: NodeSelectorRequirement, all: readonly NodeSelectorRequirement[]): Lack => ({
    text: labelText(first, labelOf(first.key)),
    cause: { code: 'label', labels: new Map(all.map(({ key }) => [key, labelOf(key)])) },
  });
  const selected = selectorRequirements(pod).find(isMissed);
  if (selected !== undefined) return lackOfLabels(selected, [selected]);
  const terms = affinityTerms(pod);
  const failures = terms.flatMap((term) => term.find(isMissed) ?? []);
  const [first] = failures;
  return first === undefined || failures.length < terms.length ? undefined : lackOfLabels(first, failures);
}

/**
 * Returns the first taint that the pod does not tolerate. For an initialized node, reads the taints of the Node, because
 * ephemeral taints are removed before the initialization.
 */
function refusedTaint({ spec }: Pod, node: StateNode): Taint | undefined {
  const taints = (node.initialized ? node.node?.spec?.taints : undefined) ?? node.taints;
  return untolerated(
    spec.tolerations,
    taints.filter((taint) => taint.effect !== 'PreferNoSchedule' && !sameTaint(taint, DISRUPTED_TAINT)),
  )[0];
}

/** A pod with at most this many times the requests is expected on a node of the same size. */
const SAME_SIZE = 2;

function shortOf(pod: Pod, { allocatable }: StateNode, running: readonly Pod[]): Lack | undefined {
  const requests = podRequests(pod);
  const rest = subtractResources(allocatable, addResources(...running.map(podRequests)));
  const short = Object.keys(requests).find((name) => (own(requests, name) ?? 0) > (own(rest, name) ?? 0));
  if (short === undefined) return undefined;
  const [has, wants] = [own(rest, short) ?? 0, own(requests, short) ?? 0];
  const amount = (of: number): string => own(quantityList({ [short]: of }), short) ?? '0';
  return {
    text: `the node has ${amount(has)} of ${short} for pods, but the pod requests ${amount(wants)}`,
    cause: { code: 'resource', resource: short, over: has, upTo: SAME_SIZE * wants },
  };
}

const takenPort = (pod: Pod, running: readonly Pod[]): number | undefined =>
  portConflict(hostPortsOf(pod), running.flatMap(hostPortsOf))?.port;

/** Returns the limits that drivers report. A node without reports counts as one without limits, as for kube-scheduler. */
const driverLimits = (node: StateNode): VolumeLimits => limitsOn(node, () => ({}));

function misplacedVolume(pod: Pod, node: StateNode, volumes: Volumes): string | undefined {
  const { alternatives, leaveFree, attachments } = volumes.of(pod);
  const there = Requirements.fromLabels(node.labels);
  if (!leaveFree && !alternatives.some((place) => there.compatible(place, STRICT)))
    return `volumes of the pod require ${alternatives[0]}`;
  const slots = new VolumeSlots(driverLimits(node), []);
  return slots.hasRoomFor(attachments) ? undefined : 'the node cannot attach all volumes of the pod';
}

/** Returns the first lack of the node for the pod. Only daemon pods are taken into account. */
function lackOf(pod: Pod, node: StateNode, volumes: () => Volumes): Lack | undefined {
  const daemons = node.pods.filter((other) => isOwnedByDaemonSet(other) && !isTerminal(other));
  const label = missingLabel(pod, labelReader(node));
  if (label !== undefined) return label;
  const taint = refusedTaint(pod, node);
  if (taint !== undefined) {
    const text = `the node has the taint ${formatTaint(taint)}, which the pod does not tolerate`;
    return { text, cause: { code: 'taint', taint } };
  }
  const short = shortOf(pod, node, daemons);
  if (short !== undefined) return short;
  const port = takenPort(pod, daemons);
  if (port !== undefined)
    return { text: `a DaemonSet pod uses its host port ${port}`, cause: { code: 'host-port', port } };
  const volume = (pod.spec.volumes ?? []).length === 0 ? undefined : misplacedVolume(pod, node, volumes());
  return volume === undefined ? undefined : { text: volume, cause: { code: 'volume', likeness: likenessOf(pod) } };
}

const hasRoom = (pod: Pod, node: StateNode, volumes: () => Volumes): boolean => {
  const running = node.pods.filter((other) => !isTerminal(other));
  if (shortOf(pod, node, running) !== undefined || takenPort(pod, running) !== undefined) return false;
  if ((pod.spec.volumes ?? []).length === 0) return true;
  const used = running.map((other) => volumes().attachmentsOf(other));
  const attached = volumes().attached(node.attachedVolumes ?? []);
  return new VolumeSlots(driverLimits(node), [...used, attached]).hasRoomFor(volumes().attachmentsOf(pod));
};

/**
 * Returns true if rules between pods may keep the pod away. Such rules depend on the pods that run on the node, and pods come
 * and go.
 */
const maybeKeptAway = (pod: Pod, node: StateNode): boolean => {
  const { affinity, topologySpreadConstraints = [] } = pod.spec;
  const hasRules = affinity?.podAffinity !== undefined || affinity?.podAntiAffinity !== undefined;
  const others = node.pods.filter((other) => !isTerminal(other) && !isOwnedByDaemonSet(other));
  const avoided = others.some((other) => other.spec.affinity?.podAntiAffinity !== undefined);
  return others.length > 0 && (hasRules || avoided || topologySpreadConstraints.length > 0);
};

export function suitability(pod: Pod, node: StateNode, volumes: () => Volumes): Suitability {
  const lack = lackOf(pod, node, volumes);
  if (lack !== undefined) return { kind: 'lacking', ...lack };
  return hasRoom(pod, node, volumes) && !maybeKeptAway(pod, node) ? { kind: 'free' } : { kind: 'taken' };
}

/** Text for events about a node that is suitable for the pod. */
export const unexplained = ({ spec }: Pod): string =>
  `the node is suitable, but the scheduler ${spec.schedulerName ?? 'default-scheduler'} has not bound the pod, ` +
  'affinity or spread rules between pods exclude the node, or an admission webhook has changed the pod';

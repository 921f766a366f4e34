/** Preemption: pods with lower priority make room for a pod that fits on no node. The rules are those of kube-scheduler. */
import { getCondition, type LabelSelector, type Pod, type PodDisruptionBudget } from '#api/objects';
import { selects } from '#engine/model';
import { own } from '#lib';
import { podRequests } from './amounts.ts';
import { withPods } from './changed-node.ts';
import { firstRefusalOn, nodeAffinity, nodeUnschedulable } from './filters.ts';
import { priorityOf } from './priority.ts';
import { taintToleration } from './taints.ts';
import { type Check, type ClusterView, type Filter, isRefusal, type NodeView } from './view.ts';

/** Reason of the condition `DisruptionTarget` of preempted pods. */
export const PREEMPTED = 'PreemptionByScheduler';

export interface Preemption {
  readonly node: NodeView;
  /** Pods to delete, the most important one first. */
  readonly victims: readonly Pod[];
}

interface Candidate extends Preemption {
  /** Number of victims that a PodDisruptionBudget protects. */
  readonly violations: number;
}

/** kube-scheduler evaluates at least a hundred candidates, and a tenth of all nodes. */
const FEWEST_CANDIDATES = 100;
const CANDIDATE_SHARE = 0.1;

/** Returns the start of a pod. A pod that has not started is the latest one. */
const startOf = ({ status }: Pod): number => Date.parse(status?.startTime ?? '') || Number.MAX_SAFE_INTEGER;

const lowest = new WeakMap<readonly Pod[], number>();

/** Returns the lowest priority of the pods of a node. The list of a node's pods does not change. */
function lowestPriority(pods: readonly Pod[]): number {
  const known =
    lowest.get(pods) ?? pods.reduce((least, pod) => Math.min(least, priorityOf(pod)), Number.POSITIVE_INFINITY);
  lowest.set(pods, known);
  return known;
}

/** Orders pods by importance: higher priority first, then the earlier start. */
const byImportance = (a: Pod, b: Pod): number => priorityOf(b) - priorityOf(a) || startOf(a) - startOf(b);

/** Filters that depend only on the node. Preemption does not change their result. */
const NODE_FILTERS: readonly Filter[] = [nodeUnschedulable, taintToleration, nodeAffinity];

/** Reports whether a pod may fit on a node, with or without preemption. This is cheaper than the filters. */
export function mayFit(pod: Pod, node: NodeView, cluster: ClusterView): boolean {
  const hasVictims = lowestPriority(node.pods) < priorityOf(pod);
  if (!hasVictims && !hasRoomWithout(node, [], pod)) return false;
  return firstRefusalOn(pod, node, cluster, NODE_FILTERS) === undefined;
}

/** Returns the best preemptions, which kube-scheduler rates equally. The list is empty if no preemption helps. */
export function findPreemptions(
  pod: Pod,
  cluster: ClusterView,
  filters: readonly Filter[],
  budgets: readonly PodDisruptionBudget[],
): readonly Preemption[] {
  if (pod.spec.preemptionPolicy === 'Never') return [];
  const most = Math.max(FEWEST_CANDIDATES, Math.floor(cluster.nodes.length * CANDIDATE_SHARE));
  const checks = NODE_FILTERS.map((filter) => filter(pod, cluster)).filter(
    (check): check is Check => check !== undefined && !isRefusal(check),
  );
  const candidates: Candidate[] = [];
  let isFree = false;
  for (const node of cluster.nodes) {
    if (isFree && candidates.length >= most) break;
    const candidate = checks.some((check) => check(node) !== undefined)
      ? undefined
      : candidateOn(node, pod, { cluster, filters, budgets });
    if (candidate === undefined) continue;
    candidates.push(candidate);
    isFree ||= candidate.violations === 0;
  }
  const [best] = candidates.toSorted(byQuality);
  return best === undefined ? [] : candidates.filter((candidate) => byQuality(candidate, best) === 0);
}

/** Reports whether a pod waits for the pods that it preempted. Meanwhile, the pod must not preempt more pods. */
export function isWaitingForVictims(pod: Pod, nominated: string, cluster: ClusterView): boolean {
  const node = cluster.nodes.find(({ name }) => name === nominated);
  if (node === undefined || firstRefusalOn(pod, node, cluster, NODE_FILTERS) !== undefined) return false;
  return node.pods.some((other) => priorityOf(other) < priorityOf(pod) && isLeavingByPreemption(other));
}

function isLeavingByPreemption(pod: Pod): boolean {
  const condition = getCondition(pod, 'DisruptionTarget');
  return pod.metadata.deletionTimestamp !== undefined && condition?.status === 'True' && condition.reason === PREEMPTED;
}

interface Situation {
  readonly cluster: ClusterView;
  readonly filters: readonly Filter[];
  readonly budgets: readonly PodDisruptionBudget[];
}

function candidateOn(node: NodeView, pod: Pod, { cluster, filters, budgets }: Situation): Candidate | undefined {
  if (lowestPriority(node.pods) >= priorityOf(pod)) return undefined;
  const lower = node.pods.filter((other) => priorityOf(other) < priorityOf(pod));
  if (!hasRoomWithout(node, lower, pod)) return undefined;
  const removed = new Set(lower);
  const fits = (): boolean => {
    const changed = withPods(cluster, node, { removed });
    return firstRefusalOn(pod, changed.node, changed.cluster, filters) === undefined;
  };
  if (!fits()) return undefined;
  const { guarded, free } = divideByBudgets(lower.toSorted(byImportance), budgets);
  let violations = 0;
  // guarded pods are kept first, and within both groups the more important ones
  for (const other of [...guarded, ...free]) {
    removed.delete(other);
    if (fits()) continue;
    removed.add(other);
    if (guarded.includes(other)) violations += 1;
  }
  const victims = [...removed].toSorted(byImportance);
  return victims.length === 0 ? undefined : { node, victims, violations };
}

/** Reports whether the requests of a pod fit without some pods. This is cheaper than the filters. */
function hasRoomWithout({ allocatable, requested }: NodeView, pods: readonly Pod[], pod: Pod): boolean {
  return Object.entries(podRequests(pod)).every(([name, amount]) => {
    // devices may provide extended resources
    if (amount === 0 || name.includes('/')) return true;
    const released = pods.reduce((sum, other) => sum + (own(podRequests(other), name) ?? 0), 0);
    return amount <= (own(allocatable, name) ?? 0) - (own(requested, name) ?? 0) + released;
  });
}

/** Separates pods if their deletion violates a PodDisruptionBudget. Each deletion uses a part of the budget. */
function divideByBudgets(
  pods: readonly Pod[],
  budgets: readonly PodDisruptionBudget[],
): { readonly guarded: readonly Pod[]; readonly free: readonly Pod[] } {
  const left = new Map(budgets.map((budget) => [budget, budget.status?.disruptionsAllowed ?? 0]));
  const guarded: Pod[] = [];
  const free: Pod[] = [];
  for (const pod of pods) {
    const own = budgets.filter((budget) => isGuardedBy(pod, budget));
    for (const budget of own) left.set(budget, (left.get(budget) ?? 0) - 1);
    (own.some((budget) => (left.get(budget) ?? 0) < 0) ? guarded : free).push(pod);
  }
  return { guarded, free };
}

/** Reports whether a budget counts a pod. For kube-scheduler, an empty selector matches no pod. */
function isGuardedBy({ metadata }: Pod, { metadata: { namespace }, spec, status }: PodDisruptionBudget): boolean {
  if (namespace !== metadata.namespace || Object.keys(metadata.labels ?? {}).length === 0) return false;
  if (isEmpty(spec.selector) || !selects(spec.selector, metadata.labels)) return false;
  // the API server has already counted this eviction
  const { disruptedPods = {} } = (status ?? {}) as { readonly disruptedPods?: Readonly<Record<string, unknown>> };
  return own(disruptedPods, metadata.name) === undefined;
}

const isEmpty = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector = {}): boolean =>
  matchExpressions.length === 0 && Object.keys(matchLabels).length === 0;

/** kube-scheduler adds this to each priority, because the sum of negative priorities should grow with their number. */
const PRIORITY_OFFSET = 2 ** 31;

/**
 * Orders candidates: fewer violated budgets first, then the lower priority of the most important victim, the lower sum of all
 * priorities, fewer victims, and the later start of the most important victims.
 */
function byQuality(a: Candidate, b: Candidate): number {
  const [ours, theirs] = [measuresOf(a), measuresOf(b)];
  return ours.map((value, at) => value - (theirs[at] ?? 0)).find((difference) => difference !== 0) ?? 0;
}

function measuresOf({ victims, violations }: Candidate): readonly number[] {
  const [first] = victims;
  const highest = first === undefined ? 0 : priorityOf(first);
  const starts = victims.filter((victim) => priorityOf(victim) === highest).map(startOf);
  const sum = victims.reduce((total, victim) => total + priorityOf(victim) + PRIORITY_OFFSET, 0);
  return [violations, highest, sum, victims.length, -Math.min(...starts)];
}

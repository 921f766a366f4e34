/** Preemption: pods with lower priority make room for a pod that fits on no node. The rules are those of kube-scheduler. */
import type { Pod, PodDisruptionBudget } from '../../../api/kubernetes.ts';
import type { Resources } from '../../../engine/model.ts';
import { selects } from '../../../engine/selectors.ts';
import { keyOf } from '../../../kube/store.ts';
import { add, podRequests, scoredRequests } from './amounts.ts';
import { type Counted, isSpread, type Spread } from './domain-counts.ts';
import { FILTERS } from './filters.ts';
import { antiTerms, hasAffinity } from './pod-affinity.ts';
import { type ClusterView, isRefusal, type NodeView } from './view.ts';

export interface Preemption {
  readonly node: NodeView;
  /** Pods to delete. */
  readonly victims: readonly Pod[];
}

interface Candidate extends Preemption {
  /** Number of victims that a PodDisruptionBudget protects. */
  readonly violations: number;
}

/** kube-scheduler evaluates at least a hundred candidates, and a tenth of all nodes. */
const FEWEST_CANDIDATES = 100;
const CANDIDATE_SHARE = 0.1;

export const priorityOf = ({ spec }: Pod): number => spec.priority ?? 0;

const startOf = ({ status, metadata }: Pod): number =>
  Date.parse((status as { readonly startTime?: string } | undefined)?.startTime ?? metadata.creationTimestamp ?? '') ||
  0;

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

/** Returns the pods to delete on one node, or undefined if no node helps. */
export function findPreemption(
  pod: Pod,
  cluster: ClusterView,
  budgets: readonly PodDisruptionBudget[],
): Preemption | undefined {
  if (pod.spec.preemptionPolicy === 'Never') return undefined;
  const most = Math.max(FEWEST_CANDIDATES, Math.floor(cluster.nodes.length * CANDIDATE_SHARE));
  const candidates: Candidate[] = [];
  for (const node of cluster.nodes) {
    if (candidates.length >= most) break;
    const candidate = candidateOn(node, pod, cluster, budgets);
    if (candidate !== undefined) candidates.push(candidate);
  }
  return candidates.length === 0 ? undefined : candidates.reduce((best, each) => (isBetter(each, best) ? each : best));
}

/** Reports whether a pod waits for terminating pods. Meanwhile, the pod must not preempt more pods. */
export function isWaitingForVictims(pod: Pod, cluster: ClusterView): boolean {
  const name = pod.status?.nominatedNodeName;
  const node = name === undefined ? undefined : cluster.nodes.find((each) => each.name === name);
  return (
    node?.pods.some((other) => other.metadata.deletionTimestamp !== undefined && priorityOf(other) < priorityOf(pod)) ??
    false
  );
}

function candidateOn(
  node: NodeView,
  pod: Pod,
  cluster: ClusterView,
  budgets: readonly PodDisruptionBudget[],
): Candidate | undefined {
  if (lowestPriority(node.pods) >= priorityOf(pod)) return undefined;
  const lower = node.pods.filter((other) => priorityOf(other) < priorityOf(pod));
  const removed = new Set(lower);
  if (!fits(pod, node, removed, cluster)) return undefined;
  const { guarded, free } = divideByBudgets(lower.toSorted(byImportance), budgets);
  let violations = 0;
  // guarded pods are kept first, and within both groups the more important ones
  for (const other of [...guarded, ...free]) {
    removed.delete(other);
    if (fits(pod, node, removed, cluster)) continue;
    removed.add(other);
    if (guarded.includes(other)) violations += 1;
  }
  const victims = [...removed].toSorted(byImportance);
  return victims.length === 0 ? undefined : { node, victims, violations };
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

const isGuardedBy = ({ metadata }: Pod, { metadata: { namespace }, spec }: PodDisruptionBudget): boolean =>
  namespace === metadata.namespace && metadata.labels !== undefined && selects(spec.selector, metadata.labels);

/**
 * Reports whether a candidate is better. If two candidates violate equally many budgets, the highest priority of the victims
 * decides, then the sum of the priorities, the number of victims, and the start of the most important victims.
 */
function isBetter(a: Candidate, b: Candidate): boolean {
  const [ours, theirs] = [a, b].map(measuresOf) as [readonly number[], readonly number[]];
  const at = ours.findIndex((value, index) => value !== theirs[index]);
  return at >= 0 && (ours[at] ?? 0) < (theirs[at] ?? 0);
}

/** kube-scheduler adds this to each priority, because the sum of negative priorities should grow with their number. */
const PRIORITY_OFFSET = 2 ** 31;

function measuresOf({ victims, violations }: Candidate): readonly number[] {
  const [first] = victims;
  const highest = first === undefined ? 0 : priorityOf(first);
  const starts = victims.filter((victim) => priorityOf(victim) === highest).map(startOf);
  const sum = victims.reduce((total, victim) => total + priorityOf(victim) + PRIORITY_OFFSET, 0);
  return [violations, highest, sum, victims.length, -Math.min(...starts)];
}

function fits(pod: Pod, node: NodeView, removed: ReadonlySet<Pod>, cluster: ClusterView): boolean {
  const changed = clusterWith(cluster, [{ node, removed, added: [] }]);
  const view = changed.nodes.find(({ name }) => name === node.name) ?? node;
  return FILTERS.every((filter) => {
    const check = filter(pod, changed);
    return check === undefined || (!isRefusal(check) && check(view) === undefined);
  });
}

interface NodeChange {
  readonly node: NodeView;
  readonly removed: ReadonlySet<Pod>;
  readonly added: readonly Pod[];
}

/** Returns the cluster with other pods on some nodes. */
export function clusterWith(cluster: ClusterView, changes: readonly NodeChange[]): ClusterView {
  const replaced = new Map<
    string,
    { readonly before: NodeView; readonly view: NodeView; readonly change: NodeChange }
  >();
  for (const change of changes) replaced.set(change.node.name, { before: change.node, view: nodeWith(change), change });
  const viewOf = (node: NodeView): NodeView => replaced.get(node.name)?.view ?? node;
  const nodes = cluster.nodes.map(viewOf);
  return {
    nodes,
    repelling: nodesWhere(nodes, cluster.repelling, replaced, (pod) => antiTerms(pod).length > 0),
    withAffinity: nodesWhere(nodes, cluster.withAffinity, replaced, hasAffinity),
    domainCounts: {
      of: (spread) => countsWith(cluster.domainCounts.of(spread), spread, [...replaced.values()]),
    },
    defaultSelector: (pod) => cluster.defaultSelector(pod),
    namespace: (name) => cluster.namespace(name),
    claim: (namespace, name) => cluster.claim(namespace, name),
    volume: (name) => cluster.volume(name),
    volumes: () => cluster.volumes(),
    storageClass: (name) => cluster.storageClass(name),
    csiNode: (name) => cluster.csiNode(name),
    devices: cluster.devices,
  };
}

function nodeWith({ node, removed, added }: NodeChange): NodeView {
  const requested: Record<string, number> = { ...node.requested };
  const scored: Record<string, number> = { ...node.scored };
  const change = (pod: Pod, sign: 1 | -1): void => {
    add(requested, podRequests(pod), sign);
    add(scored, scoredRequests(pod), sign);
  };
  for (const pod of removed) change(pod, -1);
  for (const pod of added) change(pod, 1);
  return {
    ...{ node: node.node, name: node.name, labels: node.labels, allocatable: node.allocatable as Resources },
    ...{ requested, scored },
    pods: [...node.pods.filter((pod) => !removed.has(pod)), ...added],
  };
}

function nodesWhere(
  nodes: readonly NodeView[],
  before: readonly NodeView[],
  replaced: ReadonlyMap<string, unknown>,
  isWanted: (pod: Pod) => boolean,
): readonly NodeView[] {
  const names = new Set(before.map(({ name }) => name));
  return nodes.filter((node) => (replaced.has(node.name) ? node.pods.some(isWanted) : names.has(node.name)));
}

function countsWith(
  counted: Counted,
  spread: Spread,
  replaced: readonly { readonly before: NodeView; readonly view: NodeView; readonly change: NodeChange }[],
): Counted {
  const pods = new Map(counted.pods);
  const parts = new Map<object, { readonly domain: string; readonly pods: number }>();
  for (const { before, view, change } of replaced) {
    const part = counted.on(before);
    if (part === undefined) continue;
    const matching = (all: Iterable<Pod>): number => [...all].filter((pod) => isSpread(spread, pod)).length;
    const difference = matching(change.added) - matching(change.removed);
    parts.set(view, { domain: part.domain, pods: part.pods + difference });
    pods.set(part.domain, (pods.get(part.domain) ?? 0) + difference);
  }
  return { pods, on: (node) => parts.get(node) ?? counted.on(node) };
}

/** Pods that wait for the termination of preempted pods. Pods with lower or equal priority must not use this room. */
export class NominatedPods {
  readonly #nominated = new Map<string, { readonly pod: Pod; readonly node: string }>();

  put(pod: Pod, node: string): void {
    this.#nominated.set(keyOf(pod.metadata), { pod, node });
  }

  /** Removes a pod, and returns true if it was nominated. */
  remove(pod: Pod): boolean {
    return this.#nominated.delete(keyOf(pod.metadata));
  }

  /** Returns nominated pods of a node with a lower priority. If the pod is nominated, they lose their nomination. */
  lowerOn(node: string, pod: Pod): readonly Pod[] {
    return [...this.#nominated.values()].flatMap((each) =>
      each.node === node && priorityOf(each.pod) < priorityOf(pod) ? [each.pod] : [],
    );
  }

  /** Returns the cluster in which the nominated pods with at least the priority of a pod already run. */
  reservedFor(pod: Pod, cluster: ClusterView): ClusterView {
    if (this.#nominated.size === 0) return cluster;
    const own = keyOf(pod.metadata);
    const senior = [...this.#nominated].filter(([key, each]) => key !== own && priorityOf(each.pod) >= priorityOf(pod));
    const byNode = Map.groupBy(senior, ([, { node }]) => node);
    const changes = cluster.nodes.flatMap((node): NodeChange | [] => {
      const added = byNode.get(node.name)?.map(([, each]) => each.pod);
      return added === undefined ? [] : { node, removed: new Set(), added };
    });
    return changes.length === 0 ? cluster : clusterWith(cluster, changes);
  }
}

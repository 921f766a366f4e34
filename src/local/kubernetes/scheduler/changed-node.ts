/** A cluster in which one node has other pods, to evaluate preemptions and nominations without changing the cluster. */
import type { Pod } from '#api/objects';
import { add, podRequests, scoredRequests } from './amounts.ts';
import { type Counted, isSpread } from './domain-counts.ts';
import { antiTerms, hasAffinity } from './pod-affinity.ts';
import type { ClusterView, NodeView } from './view.ts';

interface PodChange {
  readonly removed?: ReadonlySet<Pod>;
  readonly added?: readonly Pod[];
}

const NO_PODS: ReadonlySet<Pod> = new Set();

/** Returns the cluster with other pods on one node, and this node. */
export function withPods(
  cluster: ClusterView,
  before: NodeView,
  { removed = NO_PODS, added = [] }: PodChange,
): { readonly cluster: ClusterView; readonly node: NodeView } {
  const node = nodeWith(before, removed, added);
  const others = (nodes: readonly NodeView[]): readonly NodeView[] => nodes.filter(({ name }) => name !== node.name);
  let nodes: readonly NodeView[] | undefined;
  const changed: ClusterView = {
    get nodes() {
      nodes ??= cluster.nodes.map((each) => (each.name === node.name ? node : each));
      return nodes;
    },
    get repelling() {
      return [...others(cluster.repelling), ...(node.pods.some((pod) => antiTerms(pod).length > 0) ? [node] : [])];
    },
    get withAffinity() {
      return [...others(cluster.withAffinity), ...(node.pods.some(hasAffinity) ? [node] : [])];
    },
    domainCounts: {
      of(spread) {
        const matching = (pods: Iterable<Pod>): number => [...pods].filter((pod) => isSpread(spread, pod)).length;
        return countsWith(cluster.domainCounts.of(spread), { before, node }, matching(added) - matching(removed));
      },
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
  return { cluster: changed, node };
}

function nodeWith(before: NodeView, removed: ReadonlySet<Pod>, added: readonly Pod[]): NodeView {
  const requested: Record<string, number> = { ...before.requested };
  const scored: Record<string, number> = { ...before.scored };
  const change = (pod: Pod, sign: 1 | -1): void => {
    add(requested, podRequests(pod), sign);
    add(scored, scoredRequests(pod), sign);
  };
  for (const pod of removed) change(pod, -1);
  for (const pod of added) change(pod, 1);
  const { node, name, labels, allocatable } = before;
  const pods = [...before.pods.filter((pod) => !removed.has(pod)), ...added];
  return { node, name, labels, allocatable, requested, scored, pods };
}

function countsWith(
  counted: Counted,
  { before, node }: { readonly before: NodeView; readonly node: NodeView },
  difference: number,
): Counted {
  const part = counted.on(before);
  if (part === undefined || difference === 0)
    return { pods: counted.pods, on: (each) => counted.on(each === node ? before : each) };
  const { domain } = part;
  const pods = new Map(counted.pods).set(domain, (counted.pods.get(domain) ?? 0) + difference);
  const changed = { domain, pods: part.pods + difference };
  return { pods, on: (each) => (each === node ? changed : counted.on(each)) };
}

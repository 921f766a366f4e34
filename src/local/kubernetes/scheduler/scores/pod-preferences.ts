/** InterPodAffinity: preferences of the pod for other pods, and preferences of other pods for the pod. */
import type { Pod, PodAffinityTerm, WeightedPodAffinityTerm } from '#api/objects';
import { own } from '#lib';
import { type AffinityTerm, hasAffinity, termOf } from '../pod-affinity.ts';
import type { ClusterView, NodeView } from '../view.ts';
import { BEST, type Score } from './score.ts';

/** Weight of another pod's required affinity to the pod. */
const REQUIRED_WEIGHT = 1;

interface Weighted {
  readonly weight: number;
  readonly term: AffinityTerm;
}

/** Sums by topology key and value. */
class Sums {
  readonly #byKey = new Map<string, Map<string, number>>();

  /** Adds the weights of the terms that match the pod, in the node's domains. */
  addMatching(terms: readonly Weighted[], pod: Pod, { labels }: NodeView): void {
    for (const { weight, term } of terms) {
      const value = own(labels, term.topologyKey);
      if (value === undefined || !term.matches(pod)) continue;
      const sums = this.#byKey.get(term.topologyKey) ?? new Map<string, number>();
      this.#byKey.set(term.topologyKey, sums);
      sums.set(value, (sums.get(value) ?? 0) + weight);
    }
  }

  get isEmpty(): boolean {
    return this.#byKey.size === 0;
  }

  of({ labels }: NodeView): number {
    let sum = 0;
    for (const [key, sums] of this.#byKey) sum += sums.get(own(labels, key) ?? '') ?? 0;
    return sum;
  }
}

export const podPreferences: Score = (pod, cluster, nodes) => {
  const sums = new Sums();
  const wanted = preferredTerms(pod, cluster);
  if (wanted.length > 0) for (const [node, other] of podsOn(cluster.nodes)) sums.addMatching(wanted, other, node);
  for (const [node, other] of podsOn(cluster.withAffinity)) {
    if (!hasAffinity(other)) continue;
    sums.addMatching(requiredTerms(other, cluster), pod, node);
    sums.addMatching(preferredTerms(other, cluster), pod, node);
  }
  return sums.isEmpty ? undefined : stretchScores(nodes.map((node) => sums.of(node)));
};

function* podsOn(nodes: readonly NodeView[]): Generator<readonly [NodeView, Pod]> {
  for (const node of nodes) for (const pod of node.pods) yield [node, pod];
}

function preferredTerms(owner: Pod, cluster: ClusterView): readonly Weighted[] {
  const { podAffinity, podAntiAffinity } = owner.spec.affinity ?? {};
  const weighted = (terms: readonly WeightedPodAffinityTerm[] = [], sign: 1 | -1): readonly Weighted[] =>
    terms.map(({ weight, podAffinityTerm }) => ({
      weight: sign * weight,
      term: termOf(podAffinityTerm, owner, cluster),
    }));
  return [
    ...weighted(podAffinity?.preferredDuringSchedulingIgnoredDuringExecution, 1),
    ...weighted(podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution, -1),
  ];
}

function requiredTerms(owner: Pod, cluster: ClusterView): readonly Weighted[] {
  const terms: readonly PodAffinityTerm[] =
    owner.spec.affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  return terms.map((term) => ({ weight: REQUIRED_WEIGHT, term: termOf(term, owner, cluster) }));
}

/** Scales scores, which may be negative, to the range from 0 to 100. */
function stretchScores(raw: readonly number[]): readonly number[] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const one of raw) {
    if (one < low) low = one;
    if (one > high) high = one;
  }
  return raw.map((one) => (high > low ? Math.trunc(BEST * ((one - low) / (high - low))) : 0));
}

import type { Pod, PodAffinityTerm } from '#api/objects';
import { selects } from '#engine/model';
import { own } from '#lib';
import { withLabelKeys } from './selectors.ts';
import type { Check, ClusterView, Filter } from './view.ts';

/** A compiled term of `owner`. */
export interface AffinityTerm {
  readonly topologyKey: string;
  matches(other: Pod): boolean;
}

export function termOf(term: PodAffinityTerm, owner: Pod, cluster: ClusterView): AffinityTerm {
  const selector = withLabelKeys(term.labelSelector, owner, term.matchLabelKeys, term.mismatchLabelKeys);
  const own = !term.namespaces?.length && !term.namespaceSelector;
  const named = new Set(own ? [owner.metadata.namespace ?? ''] : term.namespaces);
  const inScope = (namespace: string): boolean =>
    named.has(namespace) ||
    selects(term.namespaceSelector, {
      'kubernetes.io/metadata.name': namespace,
      ...cluster.namespace(namespace)?.metadata.labels,
    });
  return {
    topologyKey: term.topologyKey,
    matches: (other) => selects(selector, other.metadata.labels) && inScope(other.metadata.namespace ?? ''),
  };
}

/** Topology values, as `key=value`, with matching pods. */
type Places = Set<string>;

const placeOf = (key: string, value: string): string => `${key}=${value}`;

/** Returns the terms of the pod's required anti-affinity. */
export const antiTerms = (pod: Pod): readonly PodAffinityTerm[] =>
  pod.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];

/** Reports whether the pod has pod affinity or anti-affinity. */
export const hasAffinity = ({ spec }: Pod): boolean =>
  spec.affinity?.podAffinity !== undefined || spec.affinity?.podAntiAffinity !== undefined;

/** Returns topology values with pods that reject this pod. */
function forbiddenByOthers(pod: Pod, cluster: ClusterView): Places {
  const places: Places = new Set();
  for (const { labels, pods } of cluster.repelling)
    for (const other of pods)
      for (const raw of antiTerms(other)) {
        const value = own(labels, raw.topologyKey);
        if (value !== undefined && termOf(raw, other, cluster).matches(pod))
          places.add(placeOf(raw.topologyKey, value));
      }
  return places;
}

/** Returns topology values with pods that match any of the terms (anti-affinity) or all of them (affinity). */
function placesOf(terms: readonly AffinityTerm[], cluster: ClusterView, mode: 'some' | 'every'): Places {
  const places: Places = new Set();
  for (const { labels, pods } of cluster.nodes)
    for (const other of pods) {
      if (mode === 'every' && !terms.every((term) => term.matches(other))) continue;
      for (const term of terms) {
        const value = own(labels, term.topologyKey);
        if (value !== undefined && (mode === 'every' || term.matches(other)))
          places.add(placeOf(term.topologyKey, value));
      }
    }
  return places;
}

/** Required pod affinity and anti-affinity, and the required anti-affinity of running pods. */
export const interPodAffinity: Filter = (pod, cluster): Check | undefined => {
  const compile = (terms: readonly PodAffinityTerm[] = []): readonly AffinityTerm[] =>
    terms.map((term) => termOf(term, pod, cluster));
  const wanted = compile(pod.spec.affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution);
  const avoided = compile(antiTerms(pod));
  const forbidden = forbiddenByOthers(pod, cluster);
  if (wanted.length + avoided.length + forbidden.size === 0) return undefined;

  const near = placesOf(wanted, cluster, 'every');
  const far = placesOf(avoided, cluster, 'some');
  // The first pod of a group with affinity to itself may run anywhere.
  const first = near.size === 0 && wanted.every((term) => term.matches(pod));

  return ({ labels }) => {
    const has = (places: Places, { topologyKey }: AffinityTerm): boolean => {
      const value = own(labels, topologyKey);
      return value !== undefined && places.has(placeOf(topologyKey, value));
    };
    const attracted = wanted.every((term) => (first ? own(labels, term.topologyKey) !== undefined : has(near, term)));
    if (!attracted) return ["node(s) didn't match pod affinity rules"];
    if (avoided.some((term) => has(far, term))) return ["node(s) didn't match pod anti-affinity rules"];
    for (const [key, value] of Object.entries(labels))
      if (forbidden.has(placeOf(key, value))) return ["node(s) didn't satisfy existing pods anti-affinity rules"];
    return undefined;
  };
};

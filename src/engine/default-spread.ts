/**
 * Topology spread constraints that the cluster's scheduler applies to pods without constraints. Their selector is derived from
 * the Services that select the pod and from the workload that controls the pod.
 */
import {
  controllerOf,
  type LabelSelector,
  type LabelSelectorRequirement,
  type PodSpec,
  type StringMap,
  type TopologySpreadConstraint,
} from '#api/objects';
import type { EnginePod } from './input.ts';
import { selects } from './selectors.ts';

/** Plain data, so that a snapshot can contain it. Missing objects count as absent. */
export interface DefaultSpread {
  readonly constraints: readonly TopologySpreadConstraint[];
  /** Services with a selector. */
  readonly services: readonly { readonly namespace: string; readonly selector: StringMap }[];
  readonly workloads: readonly SpreadWorkload[];
}

export interface SpreadWorkload {
  readonly apiVersion: 'v1' | 'apps/v1';
  readonly kind: 'ReplicationController' | 'ReplicaSet' | 'StatefulSet';
  readonly namespace: string;
  readonly name: string;
  readonly selector: LabelSelector;
}

/**
 * Returns a function that adds the constraints to a pod. It returns the pod unchanged if the pod has constraints or belongs to
 * no Service or workload.
 */
export function spreading({ constraints, services, workloads }: DefaultSpread): (pod: EnginePod) => EnginePod {
  const byNamespace = Map.groupBy(services, ({ namespace }) => namespace);
  const byName = new Map(workloads.map((workload) => [idOf(workload, workload.namespace), workload]));
  /**
   * Cached specs. Pods of one workload share their spec and must still share it afterwards, so that the solver treats them as
   * equal.
   */
  const known = new WeakMap<PodSpec, Map<string, PodSpec>>();

  function selectorOf(pod: EnginePod): LabelSelector | undefined {
    const { namespace = 'default', labels = {} } = pod.metadata;
    const selecting = (byNamespace.get(namespace) ?? [])
      .map(({ selector }) => selector)
      .filter((matchLabels) => selects({ matchLabels }, labels));
    const owner = controllerOf(pod);
    const workload = owner && byName.get(idOf(owner, namespace));
    const isPlain = workload?.kind === 'ReplicationController';
    const matchLabels: StringMap = Object.assign({}, ...selecting, isPlain ? workload.selector.matchLabels : {});
    const matchExpressions = isPlain ? [] : expressionsOf(workload?.selector);
    const isEmpty = Object.keys(matchLabels).length + matchExpressions.length === 0;
    return isEmpty ? undefined : { matchLabels, matchExpressions };
  }

  return (pod) => {
    if ((pod.spec.topologySpreadConstraints ?? []).length > 0) return pod;
    const labelSelector = selectorOf(pod);
    if (labelSelector === undefined) return pod;
    const specs = known.get(pod.spec) ?? new Map<string, PodSpec>();
    known.set(pod.spec, specs);
    const id = JSON.stringify(labelSelector);
    const spec = specs.get(id) ?? {
      ...pod.spec,
      topologySpreadConstraints: constraints.map((constraint) => ({ ...constraint, labelSelector })),
    };
    specs.set(id, spec);
    return { ...pod, spec };
  };
}

type Named = Pick<SpreadWorkload, 'name'> & { readonly apiVersion: string; readonly kind: string };

const idOf = ({ apiVersion, kind, name }: Named, namespace: string): string =>
  `${apiVersion}/${kind}/${namespace}/${name}`;

/**
 * Returns the labels of a workload's selector as expressions, so that they add to the labels of Services and never replace them.
 */
const expressionsOf = (selector: LabelSelector | undefined): readonly LabelSelectorRequirement[] => [
  ...Object.entries(selector?.matchLabels ?? {}).map(
    ([key, value]): LabelSelectorRequirement => ({ key, operator: 'In', values: [value] }),
  ),
  ...(selector?.matchExpressions ?? []),
];

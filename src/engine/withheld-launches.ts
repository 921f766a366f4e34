/** Finds the pods that the causes of unproductive launches affect. */
import type { NodeSelectorRequirement, StringMap } from '#api/objects';
import { hostPortsOf } from './host-ports.ts';
import type { EnginePod } from './input.ts';
import type { LaunchCause, WithheldLaunch } from './launch-causes.ts';
import { podKey } from './pods.ts';
import { usesExistingNodesOnly } from './provisioning-requests.ts';
import { amountIn, podRequests } from './resources.ts';
import { formatTaint, untolerated } from './taints.ts';
import { ValueSet } from './value-set.ts';

/** Reports whether kube-scheduler finds the requirement satisfied by the value of the label. */
export function isSatisfied({ operator, values }: NodeSelectorRequirement, value: string | undefined): boolean {
  if (value === undefined) return operator === 'NotIn' || operator === 'DoesNotExist';
  return ValueSet.of(operator, values).has(value);
}

/** Requirements that a pod's `nodeSelector` places on labels. */
export const selectorRequirements = ({ spec }: EnginePod): readonly NodeSelectorRequirement[] =>
  Object.entries((spec.nodeSelector ?? {}) as StringMap).map(([key, value]) => ({
    key,
    operator: 'In',
    values: [value],
  }));

/** Alternatives of a pod's required node affinity, each a list of requirements. */
export const affinityTerms = ({ spec }: EnginePod): readonly (readonly NodeSelectorRequirement[])[] =>
  (spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []).map(
    ({ matchExpressions = [] }) => matchExpressions,
  );

/**
 * Reports whether the cause keeps the pod from further nodes of the NodePool. Causes with a likeness are not
 * compared here: see `WithheldLaunch.pods`.
 */
export function isAffected(pod: EnginePod, cause: LaunchCause): boolean {
  switch (cause.code) {
    case 'taint':
      return untolerated(pod.spec.tolerations, [cause.taint]).length > 0;
    case 'label': {
      const isMissed = (requirement: NodeSelectorRequirement): boolean =>
        cause.labels.has(requirement.key) && !isSatisfied(requirement, cause.labels.get(requirement.key));
      const terms = affinityTerms(pod);
      return (
        selectorRequirements(pod).some(isMissed) || (terms.length > 0 && terms.every((term) => term.some(isMissed)))
      );
    }
    case 'resource': {
      const amount = amountIn(podRequests(pod), cause.resource);
      return amount > cause.over && amount <= cause.upTo;
    }
    case 'host-port':
      return hostPortsOf(pod).some(({ port }) => port === cause.port);
    case 'volume':
    case 'not-used':
      return false;
    case 'never-joined':
    case 'terminated':
      return true;
  }
}

/** Identity of a cause: equal for causes that are counted together. */
export function causeKey(cause: LaunchCause): string {
  switch (cause.code) {
    case 'taint':
      return `taint ${formatTaint(cause.taint)}`;
    case 'label':
      return `label ${[...cause.labels.keys()].sort().join()}`;
    case 'resource':
      return `resource ${cause.resource}`;
    case 'host-port':
      return `host-port ${cause.port}`;
    case 'volume':
    case 'not-used':
      return `${cause.code} ${cause.likeness}`;
    case 'never-joined':
    case 'terminated':
      return cause.code;
  }
}

/** Combines two causes of one key: the amounts of both, the labels of the later. */
export function mergeCauses(earlier: LaunchCause, later: LaunchCause): LaunchCause {
  if (earlier.code !== 'resource' || later.code !== 'resource') return later;
  return { ...later, over: Math.min(earlier.over, later.over), upTo: Math.max(earlier.upTo, later.upTo) };
}

const CHECKED = 'the class check-capacity.autoscaling.x-k8s.io launches no nodes';

/** Withheld launches of one solve, by pod. */
export class WithheldLaunches {
  readonly #all: readonly WithheldLaunch[];
  readonly #gangOf: ReadonlyMap<string, unknown>;

  readonly #ofCheck: ReadonlyMap<string, string>;

  /**
   * @param gangOf gang by namespaced name of the pod. A gang is tried as a whole if one of its pods may try
   * @param nodePools names of all NodePools
   */
  constructor(
    all: readonly WithheldLaunch[] = [],
    gangOf: ReadonlyMap<string, unknown> = new Map(),
    nodePools: readonly string[] = [],
  ) {
    this.#all = all;
    this.#gangOf = gangOf;
    this.#ofCheck = new Map(nodePools.map((name) => [name, CHECKED]));
  }

  /** Returns by NodePool why it must not launch a node for the pod; undefined if all NodePools may. */
  of(pod: EnginePod): ReadonlyMap<string, string> | undefined {
    if (usesExistingNodesOnly(pod)) return this.#ofCheck;
    if (this.#all.length === 0) return undefined;
    const key = podKey(pod);
    const { namespace = '' } = pod.metadata;
    const gang = this.#gangOf.get(key);
    const found = this.#all.filter(({ cause, namespaces, pods, trial = '' }) => {
      if (
        trial === key ||
        (gang !== undefined && this.#gangOf.get(trial) === gang) ||
        namespaces?.has(namespace) === false
      )
        return false;
      return pods === undefined ? isAffected(pod, cause) : pods.has(key);
    });
    return found.length === 0 ? undefined : new Map(found.map(({ nodePool, text }) => [nodePool, text]));
  }
}

/**
 * Pods that scheduling cannot tell apart form a class: compiled once, and what is learnt about one holds for all. Giving
 * up a preference moves a pod into another class.
 */
import type { Pod, PodSpec } from '../../api/kubernetes.ts';
import { type HostPort, hostPortsOf } from '../hostports.ts';
import type { Resources } from '../model.ts';
import { type Requirements, requirementsOfPod } from '../requirements.ts';
import { type PodVolumes, Volumes } from '../volumes.ts';
import type { Amounts, Dimensions } from './dimensions.ts';
import { relax } from './relax.ts';

export interface PodClass {
  /** Position among the classes of this solve. */
  readonly id: number;
  /** One pod of the class, in the form that is tried. */
  readonly pod: Pod;
  readonly requests: Resources;
  readonly amounts: Amounts;
  /** What its node must satisfy, the heaviest preference of node affinity included unless preferences are ignored. */
  readonly requirements: Requirements;
  /** What its node must satisfy, preferences aside. */
  readonly strict: Requirements;
  readonly ports: readonly HostPort[];
  readonly volumes: PodVolumes;
}

export interface PodClassOptions {
  readonly dimensions: Dimensions;
  readonly preferences: boolean;
  /** Whether some NodePool has a `PreferNoSchedule` taint, so that tolerating those is worth trying. */
  readonly preferenceTaints: boolean;
  /** Keys of pod labels that some rule of this solve looks at. */
  readonly labelKeys: readonly string[];
  readonly volumes: Volumes;
  requestsOf(pod: Pod): Resources;
}

export class PodClasses {
  readonly #options: PodClassOptions;
  readonly #classes = new Map<string, PodClass>();
  readonly #relaxed = new Map<PodClass, PodClass | undefined>();
  /** Pods of one workload often share their spec object. */
  readonly #bySpec = new WeakMap<PodSpec, Map<string, PodClass>>();

  constructor(options: PodClassOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#classes.size;
  }

  of(pod: Pod): PodClass {
    const visible = this.#visibleIdentity(pod);
    let classes = this.#bySpec.get(pod.spec);
    if (classes === undefined) {
      classes = new Map();
      this.#bySpec.set(pod.spec, classes);
    }
    let known = classes.get(visible);
    if (known === undefined) {
      known = this.#classOf(pod, visible);
      classes.set(visible, known);
    }
    return known;
  }

  /** The class of the pods of this class with their next preference given up; undefined when there is none left. */
  relaxed(podClass: PodClass): PodClass | undefined {
    if (!this.#relaxed.has(podClass)) {
      const softer = relax(podClass.pod, this.#options);
      this.#relaxed.set(podClass, softer === undefined ? undefined : this.of(softer));
    }
    return this.#relaxed.get(podClass);
  }

  /** What the rules of other pods see of a pod, and the claims of its volumes, which can bear its own name. */
  #visibleIdentity(pod: Pod): string {
    const { metadata } = pod;
    const { labelKeys } = this.#options;
    const claims = Volumes.claimNames(pod);
    if (labelKeys.length === 0 && claims.length === 0) return '';
    const values = labelKeys.map((key) => metadata.labels?.[key] ?? null);
    return JSON.stringify([metadata.namespace ?? 'default', values, claims]);
  }

  #classOf(pod: Pod, visible: string): PodClass {
    const { spec } = pod;
    const { dimensions, preferences, requestsOf } = this.#options;
    const requests = requestsOf(pod);
    const ports = hostPortsOf(pod);
    const { nodeSelector, affinity, tolerations, topologySpreadConstraints } = spec;
    const rules = [nodeSelector, affinity, tolerations, topologySpreadConstraints];
    const id = JSON.stringify([visible, pod.metadata.namespace, requests, ports, ...rules]);
    let podClass = this.#classes.get(id);
    if (podClass === undefined) {
      const strict = requirementsOfPod(pod);
      const requirements = preferences ? requirementsOfPod(pod, { preferences }) : strict;
      const amounts = dimensions.amounts(requests);
      const volumes = this.#options.volumes.of(pod);
      podClass = { id: this.#classes.size, pod, requests, amounts, requirements, strict, ports, volumes };
      this.#classes.set(id, podClass);
    }
    return podClass;
  }
}

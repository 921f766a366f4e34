/**
 * Pods that are equal to scheduling form a class: compiled once, and what is learnt about one holds for all. Giving
 * up a preference moves a pod into another class, known by the class that it comes from: what is left of a pod after each
 * of a thousand steps would be too much to compare. Classes that differ in topology alone are of one kind.
 */
import type { PodSpec, Toleration } from '../../api/kubernetes.ts';
import { own } from '../../lib/own.ts';
import { isVirtual } from '../capacity-buffers.ts';
import { usesDevices } from '../devices.ts';
import { type HostPort, hostPortsOf } from '../host-ports.ts';
import type { EnginePod } from '../input.ts';
import type { Resources } from '../model.ts';
import { Requirements, requirementsOfPod } from '../requirements.ts';
import { amountIn } from '../resources.ts';
import type { TopologyPods } from '../topology/topology.ts';
import { type PodVolumes, Volumes } from '../volumes.ts';
import type { Amounts, Dimensions } from './dimensions.ts';
import { relax } from './relax.ts';

/** What is the same for all classes that differ in rules of topology alone. */
export interface PodKind {
  /** Position among the kinds of this solve. */
  readonly id: number;
}

export interface PodClass extends TopologyPods {
  /** Position among the classes of this solve. */
  readonly id: number;
  readonly kind: PodKind;
  readonly requests: Resources;
  readonly amounts: Amounts;
  /** What its node must satisfy, the heaviest preference of node affinity included unless preferences are ignored. */
  readonly requirements: Requirements;
  readonly ports: readonly HostPort[];
  readonly volumes: PodVolumes;
}

/** What giving up preferences leaves as it is. */
type Unsoftened = Pick<PodClass, 'visible' | 'requests' | 'amounts' | 'ports' | 'volumes'>;

const NO_TOLERATIONS: readonly Toleration[] = [];

interface PodClassOptions {
  readonly dimensions: Dimensions;
  readonly preferences: boolean;
  /** Whether some NodePool has a `PreferNoSchedule` taint, so that tolerating those is worth trying. */
  readonly preferenceTaints: boolean;
  /** Keys of pod labels that some rule of this solve looks at. */
  readonly labelKeys: readonly string[];
  readonly volumes: Volumes;
  requestsOf(pod: EnginePod): Resources;
}

/** Joins parts of an identity; no name or label value contains it. */
const SEPARATOR = '\u0001';
const ABSENT = '\u0002';

export class PodClasses {
  readonly #options: PodClassOptions;
  readonly #classes = new Map<string, PodClass>();
  readonly #kinds = new Map<string, PodKind>();
  readonly #relaxed = new Map<PodClass, PodClass | undefined>();
  readonly #requirements = new Map<string, Requirements>([['', Requirements.EMPTY]]);
  /** Numbers of objects that stand for equal ones in identities, by object and by text. */
  readonly #numbers = new WeakMap<object, number>();
  readonly #numbersOfTexts = new Map<string, number>();
  #count = 0;
  /** Identities of specs, which the pods of one workload often share. */
  readonly #specs = new WeakMap<PodSpec, string>();

  constructor(options: PodClassOptions) {
    this.#options = options;
  }

  of(pod: EnginePod): PodClass {
    const requests = this.#options.requestsOf(pod);
    const visible = this.#visibleIdentity(pod);
    let id = visible + SEPARATOR + this.#specIdentity(pod);
    for (const name in requests) id += `${SEPARATOR}${name}=${amountIn(requests, name)}`;
    let podClass = this.#classes.get(id);
    if (podClass === undefined) {
      podClass = this.#compile(pod, {
        visible,
        requests,
        amounts: this.#options.dimensions.amounts(requests),
        ports: hostPortsOf(pod),
        volumes: this.#options.volumes.of(pod),
      });
      this.#classes.set(id, podClass);
    }
    return podClass;
  }

  /** The class of the pods of this class with their next preference given up; undefined when there is none left. */
  relaxed(podClass: PodClass): PodClass | undefined {
    if (!this.#relaxed.has(podClass)) {
      const softer = relax(podClass.pod, this.#options);
      this.#relaxed.set(podClass, softer === undefined ? undefined : this.#compile(softer, podClass));
    }
    return this.#relaxed.get(podClass);
  }

  /** What the rules of other pods see of a pod, and the claims of its volumes, which can bear its own name. */
  #visibleIdentity(pod: EnginePod): string {
    const { metadata, spec } = pod;
    let id = metadata.namespace ?? 'default';
    for (const key of this.#options.labelKeys) id += SEPARATOR + (own(metadata.labels, key) ?? ABSENT);
    if (isVirtual(pod)) id += `${SEPARATOR}virtual`;
    if (spec.volumes === undefined && spec.resourceClaims === undefined) return id;
    return id + SEPARATOR + Volumes.identity(pod);
  }

  #specIdentity(pod: EnginePod): string {
    const { spec } = pod;
    let id = this.#specs.get(spec);
    if (id === undefined) {
      const { nodeSelector, affinity, tolerations, topologySpreadConstraints } = spec;
      const ports = hostPortsOf(pod);
      const rules = [nodeSelector, affinity, tolerations, topologySpreadConstraints];
      const devices = usesDevices(pod);
      const hasNone = ports.length === 0 && !devices && rules.every((rule) => rule === undefined);
      id = hasNone ? '' : JSON.stringify([ports, devices, ...rules]);
      this.#specs.set(spec, id);
    }
    return id;
  }

  #compile(pod: EnginePod, { visible, requests, amounts, ports, volumes }: Unsoftened): PodClass {
    const { preferences } = this.#options;
    const strict = this.#shared(requirementsOfPod(pod));
    const requirements = preferences ? this.#shared(requirementsOfPod(pod, { preferences })) : strict;
    const id = this.#count++;
    const hasVolumes = volumes.claims.size > 0 || !volumes.leaveFree;
    const { tolerations = NO_TOLERATIONS } = pod.spec;
    const parts = [requirements, tolerations, ports].map((part) => this.#numberOf(part));
    const kindId = `${parts.join()} ${amounts.join()} ${hasVolumes ? id : ''}`;
    return { id, kind: this.#kindOf(kindId), visible, pod, requests, amounts, requirements, strict, ports, volumes };
  }

  /** The same number for equal parts of pods: the text of each object is made once. */
  #numberOf(part: Requirements | readonly object[]): number {
    const known = this.#numbers.get(part);
    if (known !== undefined) return known;
    // a space stands in front of no JSON
    const text = part instanceof Requirements ? ` ${part.identity}` : JSON.stringify(part);
    const number = this.#numbersOfTexts.get(text) ?? this.#numbersOfTexts.size;
    this.#numbersOfTexts.set(text, number);
    this.#numbers.set(part, number);
    return number;
  }

  /** One object for equal requirements, so that what follows from them is found by object. */
  #shared(requirements: Requirements): Requirements {
    const known = this.#requirements.get(requirements.identity);
    if (known === undefined) this.#requirements.set(requirements.identity, requirements);
    return known ?? requirements;
  }

  #kindOf(id: string): PodKind {
    let kind = this.#kinds.get(id);
    if (kind === undefined) {
      kind = { id: this.#kinds.size };
      this.#kinds.set(id, kind);
    }
    return kind;
  }
}

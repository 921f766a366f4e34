/**
 * Pods that are equal for scheduling form a class. A class is compiled once, and results for one pod apply to all pods of the
 * class. If a pod drops a preference, it moves to another class, which is found by its previous class, because a comparison of
 * the rest of a pod after each of up to a thousand steps would cost too much. Classes that differ only in topology have the same
 * kind.
 */
import type { PodSpec, Toleration } from '#api/objects';
import { own } from '#lib';
import { isVirtual } from '../capacity-buffers.ts';
import type { DeviceNeeds, DeviceWorld } from '../dra/device-world.ts';
import { usesDevices } from '../dra/pod-claims.ts';
import { type HostPort, hostPortsOf } from '../host-ports.ts';
import type { EnginePod } from '../input.ts';
import type { Resources } from '../model.ts';
import { placementRequests } from '../placement-requests.ts';
import { Requirements, requirementsOfPod } from '../requirements.ts';
import { amountIn } from '../resources.ts';
import type { TopologyPods } from '../topology/topology.ts';
import { slotResource } from '../volume-limits.ts';
import { type PodVolumes, Volumes } from '../volumes.ts';
import type { Amounts, Dimensions } from './dimensions.ts';
import { relax } from './relax.ts';

/** Shared identity of all classes that differ only in topology rules. */
export interface PodKind {
  /** Position among the kinds of this solve. */
  readonly id: number;
}

export interface PodClass extends TopologyPods {
  /** Position among the classes of this solve. */
  readonly id: number;
  readonly kind: PodKind;
  readonly requests: Resources;
  /** Requests, and the number of volumes for drivers whose volumes some instance type limits. */
  readonly amounts: Amounts;
  /** Volumes that the amounts count. */
  readonly slots: readonly CountedVolumes[];
  /**
   * Requirements for the node. They include the preference of node affinity with the highest weight, unless preferences are
   * ignored.
   */
  readonly requirements: Requirements;
  readonly ports: readonly HostPort[];
  readonly volumes: PodVolumes;
  /** Undefined if the pod uses no devices, or if dynamic resources are ignored. */
  readonly devices: DeviceNeeds | undefined;
}

/** Volumes of a driver, with the position of their number in amounts. */
export interface CountedVolumes {
  readonly driver: string;
  readonly at: number;
  readonly volumes: ReadonlySet<string>;
}

const NO_SLOTS: readonly CountedVolumes[] = [];

/** Properties that do not change if a pod drops preferences. */
type Unsoftened = Pick<PodClass, 'visible' | 'requests' | 'amounts' | 'slots' | 'ports' | 'volumes' | 'devices'>;

const NO_TOLERATIONS: readonly Toleration[] = [];

interface PodClassOptions {
  readonly dimensions: Dimensions;
  readonly preferences: boolean;
  /** True if a NodePool has a `PreferNoSchedule` taint, so that it is useful to tolerate such taints. */
  readonly preferenceTaints: boolean;
  /** Keys of pod labels that rules of this solve read. */
  readonly labelKeys: readonly string[];
  readonly volumes: Volumes;
  readonly devices: DeviceWorld | undefined;
}

/** Joins parts of an identity. Names and label values cannot contain this character. */
const SEPARATOR = '\u0001';
const ABSENT = '\u0002';

const identities = new WeakMap<Resources, string>();

function identityOfRequests(requests: Resources): string {
  let id = identities.get(requests);
  if (id === undefined) {
    id = '';
    for (const name in requests) id += `${SEPARATOR}${name}=${amountIn(requests, name)}`;
    identities.set(requests, id);
  }
  return id;
}

/** Returns true if the spec has no rules, ports or devices, as those of most pods. Faster than to compare with an identity. */
const isPlain = ({
  nodeSelector,
  affinity,
  tolerations,
  topologySpreadConstraints,
  resourceClaims,
  initContainers,
  containers,
}: PodSpec): boolean =>
  nodeSelector === undefined &&
  affinity === undefined &&
  tolerations === undefined &&
  topologySpreadConstraints === undefined &&
  resourceClaims === undefined &&
  initContainers === undefined &&
  containers.every(({ ports, resources }) => ports === undefined && resources?.claims === undefined);

export class PodClasses {
  readonly #options: PodClassOptions;
  readonly #classes = new Map<string, PodClass>();
  readonly #kinds = new Map<string, PodKind>();
  readonly #relaxed = new Map<PodClass, PodClass | undefined>();
  readonly #requirements = new Map<string, Requirements>([['', Requirements.EMPTY]]);
  /** Numbers of objects in identities, by object and by text. Equal objects have the same number. */
  readonly #numbers = new WeakMap<object, number>();
  readonly #numbersOfTexts = new Map<string, number>();
  #count = 0;
  /** Identities of specs. Pods of one workload often share their spec. */
  readonly #specs = new WeakMap<PodSpec, string>();

  constructor(options: PodClassOptions) {
    this.#options = options;
  }

  of(pod: EnginePod): PodClass {
    const requests = placementRequests(pod);
    const visible = this.#visibleIdentity(pod);
    const id = visible + SEPARATOR + this.#specIdentity(pod) + identityOfRequests(requests);
    let podClass = this.#classes.get(id);
    if (podClass === undefined) {
      const volumes = this.#options.volumes.of(pod);
      podClass = this.#compile(pod, {
        visible,
        requests,
        ...this.#amountsOf(requests, volumes),
        ports: hostPortsOf(pod),
        volumes,
        devices: this.#options.devices?.needsOf(pod),
      });
      this.#classes.set(id, podClass);
    }
    return podClass;
  }

  /**
   * Returns the class of the pods of this class after they drop their next preference. Returns undefined if there are no
   * preferences left.
   */
  relaxed(podClass: PodClass): PodClass | undefined {
    if (!this.#relaxed.has(podClass)) {
      const softer = relax(podClass.pod, this.#options);
      this.#relaxed.set(podClass, softer === undefined ? undefined : this.#compile(softer, podClass));
    }
    return this.#relaxed.get(podClass);
  }

  /**
   * Returns the identity of the parts of a pod that the rules of other pods read, and of its volume claims, whose names can
   * contain the name of the pod.
   */
  #visibleIdentity(pod: EnginePod): string {
    const { metadata, spec } = pod;
    let id = metadata.namespace ?? 'default';
    for (const key of this.#options.labelKeys) id += SEPARATOR + (own(metadata.labels, key) ?? ABSENT);
    if (isVirtual(pod)) id += `${SEPARATOR}virtual`;
    if (spec.volumes === undefined && spec.resourceClaims === undefined) return id;
    const devices = this.#options.devices?.needsOf(pod)?.identity ?? '';
    return [id, ...Volumes.identitiesOf(pod)].join(SEPARATOR) + SEPARATOR + devices;
  }

  #amountsOf(requests: Resources, { attachments }: PodVolumes): Pick<PodClass, 'amounts' | 'slots'> {
    const { dimensions } = this.#options;
    const amounts = dimensions.amounts(requests);
    if (attachments.size === 0) return { amounts, slots: NO_SLOTS };
    const slots: CountedVolumes[] = [];
    for (const [driver, volumes] of attachments) {
      const at = dimensions.position(slotResource(driver));
      if (at === undefined) continue;
      amounts[at] = volumes.size;
      slots.push({ driver, at, volumes });
    }
    return { amounts, slots };
  }

  #specIdentity(pod: EnginePod): string {
    const { spec } = pod;
    if (isPlain(spec)) return '';
    let id = this.#specs.get(spec);
    if (id === undefined) {
      const { nodeSelector, affinity, tolerations, topologySpreadConstraints } = spec;
      const ports = hostPortsOf(pod);
      const rules = [nodeSelector, affinity, tolerations, topologySpreadConstraints];
      const devices = usesDevices(pod);
      const hasNone = ports.length === 0 && !devices && rules.every((rule) => rule === undefined);
      // a number, because the identity of each pod contains the text
      id = hasNone ? '' : String(this.#numberOfText(JSON.stringify([ports, devices, ...rules])));
      this.#specs.set(spec, id);
    }
    return id;
  }

  #compile(pod: EnginePod, { visible, requests, amounts, slots, ports, volumes, devices }: Unsoftened): PodClass {
    const { preferences } = this.#options;
    const strict = this.#shared(requirementsOfPod(pod));
    const requirements = preferences ? this.#shared(requirementsOfPod(pod, { preferences })) : strict;
    const id = this.#count++;
    const isUnlikeOthers = volumes.attachments.size > 0 || !volumes.leaveFree || devices !== undefined;
    const { tolerations = NO_TOLERATIONS } = pod.spec;
    const parts = [requirements, tolerations, ports].map((part) => this.#numberOf(part));
    const kindId = `${parts.join()} ${amounts.join()} ${isUnlikeOthers ? id : ''}`;
    return {
      id,
      kind: this.#kindOf(kindId),
      visible,
      pod,
      requests,
      amounts,
      slots,
      requirements,
      strict,
      ports,
      volumes,
      devices,
    };
  }

  /** Returns the same number for equal parts of pods. Computes the text of each object once. */
  #numberOf(part: Requirements | readonly object[]): number {
    const known = this.#numbers.get(part);
    if (known !== undefined) return known;
    // JSON never starts with a space
    const text = part instanceof Requirements ? ` ${part.identity}` : JSON.stringify(part);
    const number = this.#numberOfText(text);
    this.#numbers.set(part, number);
    return number;
  }

  #numberOfText(text: string): number {
    let number = this.#numbersOfTexts.get(text);
    if (number === undefined) {
      number = this.#numbersOfTexts.size;
      this.#numbersOfTexts.set(text, number);
    }
    return number;
  }

  /** Returns one shared object for equal requirements, so that derived values can be found by object. */
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

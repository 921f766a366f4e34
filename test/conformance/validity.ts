/** Checks that a cluster would accept the result of a simulation, with every rule over the whole result. */
import type { SimulatedClaim, SimulationAnswer } from '#cli/testing';
import {
  type Amounts,
  addTo,
  amountOf,
  type Expression,
  holds,
  type Labels,
  objection,
  type PodSpec,
  type Quantities,
  requestsOf,
  type Selector,
  selected,
  type Taint,
  type Term,
} from './rules.ts';

const ZONE = 'topology.kubernetes.io/zone';
const HOST = 'kubernetes.io/hostname';

/** Any object of a scenario, with the relevant fields. */
export interface ScenarioObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: Labels };
  readonly spec: PodSpec & {
    readonly replicas?: number;
    readonly taints?: readonly Taint[];
    readonly template: {
      readonly metadata?: { readonly labels?: Labels };
      readonly spec: PodSpec & { readonly requirements: readonly Expression[]; readonly taints?: readonly Taint[] };
    };
  };
  readonly status?: { readonly allocatable?: Quantities };
}

export interface TypeEntry {
  readonly name: string;
  readonly requirements: readonly Expression[];
  readonly capacity: Quantities;
  readonly overhead?: Readonly<Record<string, Quantities | undefined>>;
  readonly offerings: readonly {
    readonly requirements: readonly Expression[];
    readonly price: number;
    readonly available: boolean;
  }[];
}

interface PlacedPod {
  /** Undefined for pods that were running before. */
  readonly key?: string;
  readonly labels: Labels;
  readonly spec: PodSpec;
}

interface Place {
  readonly id: string;
  readonly zones: readonly string[];
  readonly pods: readonly PlacedPod[];
}

export function problemsOf(
  objects: readonly ScenarioObject[],
  types: readonly TypeEntry[],
  result: SimulationAnswer,
): readonly string[] {
  const judge = new Judge(objects, types, result);
  return judge.verdict();
}

class Judge {
  readonly #objects: readonly ScenarioObject[];
  readonly #types: ReadonlyMap<string, TypeEntry>;
  readonly #result: SimulationAnswer;
  readonly #pods = new Map<string, PlacedPod>();
  readonly #seen = new Set<string>();
  readonly #problems: string[] = [];

  constructor(objects: readonly ScenarioObject[], types: readonly TypeEntry[], result: SimulationAnswer) {
    this.#objects = objects;
    this.#types = new Map(types.map((type) => [type.name, type]));
    this.#result = result;
    for (const { metadata, spec } of this.#ofKind('Deployment')) {
      for (let index = 0; index < (spec.replicas ?? 1); index++) {
        const key = `${metadata.namespace ?? 'default'}/${metadata.name}-${index}`;
        this.#pods.set(key, { key, labels: spec.template.metadata?.labels ?? {}, spec: spec.template.spec });
      }
    }
    for (const { metadata, spec } of this.#ofKind('Pod')) {
      if (spec.nodeName) continue;
      const key = `${metadata.namespace ?? 'default'}/${metadata.name}`;
      this.#pods.set(key, { key, labels: metadata.labels ?? {}, spec });
    }
  }

  verdict(): readonly string[] {
    const places = [...this.#ofKind('Node').map((node) => this.#nodePlace(node)), ...this.#claimPlaces()];
    for (const key of Object.keys(this.#result.unschedulable)) this.#once(key);
    for (const key of this.#pods.keys()) if (!this.#seen.has(key)) this.#problems.push(`${key} is not in the result`);
    for (const place of places) this.#checkPorts(place);
    for (const place of places) for (const pod of place.pods) if (pod.key) this.#checkTopology(pod, place, places);
    return this.#problems;
  }

  #ofKind(kind: string): readonly ScenarioObject[] {
    return this.#objects.filter((object) => object.kind === kind);
  }

  #once(key: string): PlacedPod | undefined {
    const pod = this.#pods.get(key);
    if (pod === undefined) this.#problems.push(`unknown pod ${key}`);
    if (this.#seen.has(key)) this.#problems.push(`${key} is placed twice`);
    this.#seen.add(key);
    return pod;
  }

  #withDaemons(used: Amounts, labels: Labels, taints: readonly Taint[]): Amounts {
    for (const { spec } of this.#ofKind('DaemonSet'))
      if (objection(spec.template.spec, labels, taints) === undefined) addTo(used, requestsOf(spec.template.spec));
    return used;
  }

  #nodePlace({ metadata, spec, status }: ScenarioObject): Place {
    const { name, labels = {} } = metadata;
    const running = this.#ofKind('Pod')
      .filter((pod) => pod.spec.nodeName === name)
      .map((pod): PlacedPod => ({ labels: pod.metadata.labels ?? {}, spec: pod.spec }));
    const placed = this.#result.existingNodes.find((node) => node.name === name)?.pods ?? [];
    const added = placed.flatMap((key) => this.#once(key) ?? []);
    for (const pod of added) {
      const why = objection(pod.spec, labels, spec.taints ?? []);
      if (why !== undefined) this.#problems.push(`${pod.key} on ${name}: ${why}`);
    }
    const pods = [...running, ...added];
    const used = this.#withDaemons(totalOf(pods), labels, spec.taints ?? []);
    for (const [resource, amount] of Object.entries(used)) {
      const room = amountOf(status?.allocatable?.[resource] ?? 0);
      if (added.length > 0 && amount > room + 1e-6) this.#problems.push(`${name}: ${resource} ${amount} over ${room}`);
    }
    return { id: name, zones: [labels[ZONE] ?? ''], pods };
  }

  #claimPlaces(): readonly Place[] {
    return this.#result.nodeClaims.map((claim, index) => {
      const id = `claim ${index}`;
      const pods = claim.pods.flatMap((key) => this.#once(key) ?? []);
      const pool = this.#ofKind('NodePool').find(({ metadata }) => metadata.name === claim.nodePool);
      if (pool === undefined) this.#problems.push(`${id}: unknown pool ${claim.nodePool}`);
      if (pods.length === 0) this.#problems.push(`${id}: no pods`);
      if (claim.instanceTypes.length === 0) this.#problems.push(`${id}: no instance types`);
      const zones =
        pool === undefined ? [] : claim.instanceTypes.flatMap((name) => this.#checkType(id, name, claim, pool, pods));
      return { id, zones: [...new Set(zones)], pods };
    });
  }

  /** Returns the zones in which the type could be launched for the NodeClaim. */
  #checkType(
    id: string,
    name: string,
    claim: SimulatedClaim,
    pool: ScenarioObject,
    pods: readonly PlacedPod[],
  ): readonly string[] {
    const type = this.#types.get(name);
    if (type === undefined) {
      this.#problems.push(`${id}: unknown type ${name}`);
      return [];
    }
    const { metadata, spec } = pool.spec.template;
    const wanted = [...claim.requirements, ...spec.requirements];
    const single = type.requirements.filter(({ operator, values = [] }) => operator === 'In' && values.length === 1);
    const own = Object.fromEntries(single.map(({ key, values = [] }) => [key, values[0] ?? '']));
    const fixed = claim.requirements.filter(({ operator, values = [] }) => operator === 'In' && values.length === 1);
    const chosen = Object.fromEntries(fixed.map(({ key, values = [] }) => [key, values[0] ?? '']));
    const nodes = type.offerings
      .filter(({ available }) => available)
      .map((offering) =>
        Object.fromEntries(offering.requirements.map(({ key, values = [] }) => [key, values[0] ?? ''])),
      )
      .map((offered): Labels => ({ ...own, ...offered }))
      .filter((labels) => wanted.every((requirement) => !(requirement.key in labels) || holds(requirement, labels)))
      .map(
        (labels): Labels => ({
          ...chosen,
          ...metadata?.labels,
          'karpenter.sh/nodepool': claim.nodePool,
          [HOST]: id,
          ...labels,
        }),
      );
    if (nodes.length === 0) this.#problems.push(`${id}: ${name} has no offering that the claim allows`);
    for (const labels of nodes) this.#checkNode(`${id} as ${name}`, type, pods, labels, spec.taints ?? []);
    return nodes.map((labels) => labels[ZONE] ?? '');
  }

  #checkNode(id: string, type: TypeEntry, pods: readonly PlacedPod[], labels: Labels, taints: readonly Taint[]): void {
    for (const { key, spec } of pods) {
      const why = objection(spec, labels, taints);
      if (why !== undefined) this.#problems.push(`${key} on ${id}: ${why}`);
    }
    const used = this.#withDaemons(totalOf(pods), labels, taints);
    for (const [resource, amount] of Object.entries(used)) {
      const kept = Object.values(type.overhead ?? {}).reduce((sum, list) => sum + amountOf(list?.[resource] ?? 0), 0);
      const room = amountOf(type.capacity[resource] ?? 0) - kept;
      if (amount > room + 1e-6) this.#problems.push(`${id}: ${resource} ${amount} over ${room}`);
    }
  }

  #checkPorts({ id, pods }: Place): void {
    const taken = new Set<number>();
    const wanted = pods.flatMap(({ spec }) => spec.containers.flatMap(({ ports = [] }) => ports));
    for (const { hostPort } of wanted) {
      if (!hostPort) continue;
      if (taken.has(hostPort)) this.#problems.push(`${id}: host port ${hostPort} twice`);
      taken.add(hostPort);
    }
  }

  #checkTopology(pod: PlacedPod, place: Place, places: readonly Place[]): void {
    const { affinity, topologySpreadConstraints = [] } = pod.spec;
    const selectedNear = ({ topologyKey, labelSelector = {} }: Term): readonly PlacedPod[] =>
      places
        .filter((other) => meet(place, other, topologyKey))
        .flatMap(({ pods }) => pods.filter(({ labels }) => selected(labelSelector, labels)));
    for (const term of affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []) {
      const clash = selectedNear(term).find((other) => other !== pod);
      if (clash) this.#problems.push(`${pod.key} is with ${clash.key ?? 'a running pod'} by ${term.topologyKey}`);
    }
    for (const term of affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []) {
      const open = term.topologyKey === ZONE && place.zones.length > 1;
      if (open || selectedNear(term).length === 0)
        this.#problems.push(`${pod.key} on ${place.id}: affinity by ${term.topologyKey} is not met`);
    }
    for (const constraint of topologySpreadConstraints) {
      if (constraint.whenUnsatisfiable !== 'DoNotSchedule') continue;
      if (constraint.topologyKey === HOST && selectedNear(constraint).length > constraint.maxSkew)
        this.#problems.push(`${pod.key} on ${place.id}: more than ${constraint.maxSkew} on a host`);
      if (constraint.topologyKey === ZONE)
        this.#checkSpread(constraint.labelSelector ?? {}, constraint.maxSkew, places);
    }
  }

  #checkSpread(selector: Selector, maxSkew: number, places: readonly Place[]): void {
    const counts = new Map<string, number>();
    for (const { id, zones, pods } of places) {
      const count = pods.filter(({ labels }) => selected(selector, labels)).length;
      if (count === 0) continue;
      const [zone = '', ...more] = zones;
      if (more.length > 0) this.#problems.push(`${id}: the zone of spread pods is open`);
      counts.set(zone, (counts.get(zone) ?? 0) + count);
    }
    const values = [...counts.values()];
    if (values.length > 1 && Math.max(...values) - Math.min(...values) > maxSkew)
      this.#problems.push(`${JSON.stringify(selector)}: zone counts ${values} over a skew of ${maxSkew}`);
  }
}

const totalOf = (pods: readonly PlacedPod[]): Amounts => {
  const total: Amounts = {};
  for (const { spec } of pods) addTo(total, requestsOf(spec));
  return total;
};

const meet = (a: Place, b: Place, topologyKey: string): boolean =>
  topologyKey === HOST ? a === b : topologyKey === ZONE && a.zones.some((zone) => b.zones.includes(zone));

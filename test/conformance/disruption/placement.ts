/** Checks by the rules of Kubernetes whether evicted pods fit on the nodes that a decision assigns to them. */
import type { Pod } from '#api/objects';
import type { SimulatedReplacement } from '#cli/testing';
import {
  type Amounts,
  addTo,
  amountOf,
  type Labels,
  objection,
  type PodSpec,
  requestsOf,
  type Selector,
  selected,
  type Taint,
  type Term,
} from '../rules.ts';
import type { TypeEntry } from '../validity.ts';
import { active, durationOf, type Facts, type Machine, totalOf } from './facts.ts';
import type { Decided } from './play.ts';
import { buyable, nodeLabels, roomOf, withValues } from './purchases.ts';

const ZONE = 'topology.kubernetes.io/zone';
const HOST = 'kubernetes.io/hostname';

interface Place {
  readonly id: string;
  /** Possible zones; several if the zone is not decided yet. */
  readonly zones: readonly string[];
  readonly arriving: readonly Pod[];
  readonly staying: readonly Pod[];
}

const keyOf = ({ metadata }: Pod): string => `${metadata.namespace ?? 'default'}/${metadata.name}`;
const specOf = ({ spec }: Pod): PodSpec => spec as unknown as PodSpec;
const isRunning = ({ status }: Pod): boolean => status?.phase !== 'Succeeded' && status?.phase !== 'Failed';

export function placementProblems(
  command: Decided,
  facts: Facts,
  waiting: readonly Pod[],
  isDrift: boolean,
): readonly string[] {
  return new Placement(command, facts, waiting, isDrift).problems();
}

class Placement {
  readonly #command: Decided;
  readonly #facts: Facts;
  readonly #problems: string[] = [];
  readonly #left: readonly Machine[];
  /** Pods that may be placed, with the reason. */
  readonly #free = new Map<string, { readonly pod: Pod; readonly from: 'gone' | 'leaving' | 'waiting' }>();
  readonly #seen = new Set<string>();
  readonly #isDrift: boolean;

  constructor(command: Decided, facts: Facts, waiting: readonly Pod[], isDrift: boolean) {
    this.#command = command;
    this.#facts = facts;
    this.#isDrift = isDrift;
    const gone = new Set(command.candidates);
    this.#left = facts.machines.filter(({ name, leaving }) => !gone.has(name) && !leaving);
    for (const pod of waiting) this.#free.set(keyOf(pod), { pod, from: 'waiting' });
    for (const { name, leaving, movable } of facts.machines) {
      if (!leaving && !gone.has(name)) continue;
      const from = leaving ? 'leaving' : 'gone';
      for (const pod of movable) if (facts.movesNow(pod)) this.#free.set(keyOf(pod), { pod, from });
    }
  }

  problems(): readonly string[] {
    const { placements = {}, replacements } = this.#command;
    const places = [
      ...this.#left.map((machine) => this.#node(machine, placements[machine.name] ?? [])),
      ...replacements.map((each, at) => this.#claim(`replacement ${at}`, each)),
    ];
    for (const name of Object.keys(placements))
      if (!this.#left.some((machine) => machine.name === name)) this.#say(`pods go to ${name}, which is no place`);
    for (const [key, { from }] of this.#free)
      if (from !== 'waiting' && !this.#seen.has(key)) this.#say(`${key} has no place`);
    for (const place of places) for (const pod of place.arriving) this.#checkTopology(pod, place, places);
    return this.#problems;
  }

  #say(problem: string): void {
    this.#problems.push(problem);
  }

  #arrivals(keys: readonly string[], id: string): readonly Pod[] {
    return keys.flatMap((key) => {
      if (this.#seen.has(key)) this.#say(`${key} has two places`);
      this.#seen.add(key);
      const { pod } = this.#free.get(key) ?? {};
      if (pod === undefined) this.#say(`${key} goes to ${id} although it stays where it is`);
      return pod ?? [];
    });
  }

  #node(machine: Machine, keys: readonly string[]): Place {
    const { name, labels, node, claim, initialized } = machine;
    const arriving = this.#arrivals(keys, name);
    const staying = machine.pods.filter(isRunning);
    const taints = (node?.spec?.taints ?? []) as readonly Taint[];
    for (const pod of arriving) {
      const { from } = this.#free.get(keyOf(pod)) ?? {};
      if (initialized) this.#checkPod(pod, name, labels, taints);
      if (from === 'gone' && claim !== undefined && !initialized) this.#say(`${keyOf(pod)} counts on ${name}`);
      if (from === 'gone' && pod.status?.phase !== 'Pending' && !this.#isDrift && this.#isQuiet(machine))
        this.#say(`${keyOf(pod)} disturbs ${name}, which is within consolidateAfter`);
    }
    const used = totalOf([...staying, ...arriving]);
    for (const [resource, amount] of Object.entries(arriving.length > 0 ? used : {})) {
      const room = amountOf(node?.status?.allocatable?.[resource] ?? 0);
      if (amount > room + 1e-6) this.#say(`${name}: ${resource} ${amount} over ${room}`);
    }
    // terminating pods use resources, but do not count for affinity
    return { id: name, zones: [labels[ZONE] ?? ''], arriving, staying: staying.filter(active) };
  }

  #isQuiet({ claim, pool, initialized }: Machine): boolean {
    const after = durationOf(pool?.spec.disruption?.consolidateAfter ?? '0s');
    const since = claim?.status?.conditions?.find(({ type }) => type === 'Initialized');
    if (!(after > 0) || !initialized || since?.status !== 'True') return false;
    return this.#facts.nowMs - Date.parse(claim?.status?.lastPodEventTime ?? since.lastTransitionTime ?? '') < after;
  }

  #claim(id: string, replacement: SimulatedReplacement): Place {
    const { nodePool, instanceTypes, pods } = replacement;
    const arriving = this.#arrivals(pods, id);
    const pool = this.#facts.pools.get(nodePool);
    if (pool === undefined || pool.spec.replicas !== undefined) this.#say(`${id}: no pods buy in pool ${nodePool}`);
    const zones = instanceTypes.flatMap((name) => {
      const type = this.#facts.types.get(name);
      if (type === undefined) this.#say(`${id}: unknown type ${name}`);
      return type === undefined ? [] : this.#checkType(id, type, replacement, arriving);
    });
    this.#checkLimit(id, nodePool, 'nodes', 1, 'a node');
    return { id, zones: [...new Set(zones)], arriving, staying: [] };
  }

  /** Returns the zones in which the type may be launched. */
  #checkType(
    id: string,
    type: TypeEntry,
    { nodePool, requirements }: SimulatedReplacement,
    arriving: readonly Pod[],
  ): readonly string[] {
    const template = this.#facts.pools.get(nodePool)?.spec.template;
    const wanted = [...requirements, ...(template?.spec.requirements ?? [])];
    const chosen = Object.fromEntries(requirements.map(({ key, values = [] }) => [key, values[0] ?? '']));
    const taints = (template?.spec.taints ?? []) as readonly Taint[];
    const nodes = buyable(type, wanted.map(withValues)).map(
      (offering): Labels => ({ ...chosen, ...template?.metadata?.labels, [HOST]: id, ...nodeLabels(type, offering) }),
    );
    if (nodes.length === 0) this.#say(`${id}: ${type.name} is not for sale under its requirements`);
    for (const labels of nodes) {
      for (const pod of arriving) this.#checkPod(pod, `${id} as ${type.name}`, labels, taints);
      for (const [resource, amount] of Object.entries(this.#withDaemons(totalOf(arriving), labels))) {
        const room = roomOf(type, resource);
        if (amount > room + 1e-6) this.#say(`${id} as ${type.name}: ${resource} ${amount} over ${room}`);
      }
    }
    this.#checkLimit(id, nodePool, 'cpu', amountOf(type.capacity.cpu ?? 0), type.name);
    return nodes.map((labels) => labels[ZONE] ?? '');
  }

  #checkLimit(id: string, nodePool: string, resource: string, amount: number, what: string): void {
    const limit = this.#facts.pools.get(nodePool)?.spec.limits?.[resource];
    if (limit === undefined) return;
    const own = this.#left.filter(({ labels }) => labels['karpenter.sh/nodepool'] === nodePool);
    const used = own.reduce(
      (sum, { node }) => sum + (resource === 'nodes' ? 1 : amountOf(node?.status?.capacity?.[resource] ?? 0)),
      0,
    );
    if (used + amount > amountOf(limit)) this.#say(`${id}: ${what} passes the limit of ${limit} ${resource}`);
  }

  #withDaemons(used: Amounts, labels: Labels): Amounts {
    for (const pod of this.#facts.daemonPods)
      if (objection(specOf(pod), labels, []) === undefined) addTo(used, requestsOf(specOf(pod)));
    return used;
  }

  #checkPod(pod: Pod, id: string, labels: Labels, taints: readonly Taint[]): void {
    const why = objection(specOf(pod), labels, taints);
    if (why !== undefined) this.#say(`${keyOf(pod)} on ${id}: ${why}`);
    for (const { persistentVolumeClaim } of pod.spec.volumes ?? [])
      if (persistentVolumeClaim && persistentVolumeClaim.claimName !== `bound-${labels[ZONE]}`)
        this.#say(`${keyOf(pod)} on ${id}: its volume is ${persistentVolumeClaim.claimName}`);
  }

  #checkTopology(pod: Pod, place: Place, places: readonly Place[]): void {
    const { affinity, topologySpreadConstraints = [] } = specOf(pod);
    const near = ({ topologyKey, labelSelector = {} }: Term, others = places): readonly Pod[] =>
      others
        .filter((other) => meet(place, other, topologyKey))
        .flatMap(({ arriving, staying }) => [...arriving, ...staying])
        .filter(({ metadata }) => selected(labelSelector, metadata.labels ?? {}));
    for (const term of affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [])
      if (near(term).some((other) => other !== pod)) this.#say(`${keyOf(pod)} is not alone by ${term.topologyKey}`);
    for (const term of affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [])
      if (near(term).length === 0) this.#say(`${keyOf(pod)} has no company by ${term.topologyKey}`);
    for (const constraint of topologySpreadConstraints) {
      if (constraint.whenUnsatisfiable !== 'DoNotSchedule') continue;
      const { topologyKey, maxSkew, labelSelector = {} } = constraint;
      if (topologyKey === HOST && near(constraint).length > maxSkew)
        this.#say(`${keyOf(pod)}: more than ${maxSkew} on ${place.id}`);
      if (topologyKey === ZONE) this.#checkSpread(pod, place, places, maxSkew, labelSelector);
    }
  }

  /** Domains are the zones with pods of this kind; an empty zone would only make the rule stricter. */
  #checkSpread(pod: Pod, place: Place, places: readonly Place[], maxSkew: number, selector: Selector): void {
    const [zone = '', ...more] = place.zones;
    if (more.length > 0) this.#say(`${keyOf(pod)} on ${place.id}: its zone is open`);
    if (pod.spec.nodeSelector?.[ZONE] !== undefined || pod.spec.volumes) return; // the pod's rule may not include other zones
    const counts = new Map<string, number>();
    for (const { zones, arriving, staying } of places) {
      const count = [...arriving, ...staying].filter(({ metadata }) =>
        selected(selector, metadata.labels ?? {}),
      ).length;
      if (count > 0 && zones.length === 1) counts.set(zones[0] ?? '', (counts.get(zones[0] ?? '') ?? 0) + count);
    }
    const skew = (counts.get(zone) ?? 0) - Math.min(...counts.values());
    if (skew > maxSkew) this.#say(`${keyOf(pod)} in ${zone}: a skew of ${skew}`);
  }
}

const meet = (a: Place, b: Place, topologyKey: string): boolean =>
  topologyKey === HOST ? a === b : a.zones.some((zone) => b.zones.includes(zone));

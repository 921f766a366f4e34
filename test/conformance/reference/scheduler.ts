/**
 * A second scheduler that was written from the specification: simple, slow, and stateless between attempts. It shares
 * with the engine the parsing of quantities, the matching of tolerations, the sum of a pod's requests, and the list
 * of well-known labels. If the specification leaves a choice open, it follows the engine.
 */
import type { Pod } from '#api/objects';
import {
  type InstanceType,
  podRequests,
  type Resources,
  type Snapshot,
  type SolveOptions,
  type StateNode,
} from '#engine/model';
import {
  fits,
  hostPorts,
  isAdmitted,
  isDaemon,
  isTerminal,
  keyOf,
  podRequirements,
  portsClash,
  relaxed,
  sum,
  toleratesAll,
  uidOf,
} from './pods.ts';
import { and, compatible, labelRequirements, oneOf, type Requirements, valuesAt } from './requirements.ts';
import { CAPACITY_TYPE, hasReserved, RESERVATION_ID, Reservations } from './reservations.ts';
import {
  CLOSED,
  canLaunch,
  Daemon,
  type DaemonGroup,
  inOrder,
  OPEN,
  offered,
  remainingTypes,
  SIMULATED,
  type Template,
  templateOf,
  tooFewValues,
} from './templates.ts';
import { HOSTNAME, placeOf, ReferenceTopology } from './topology.ts';
import { Attached, ReferenceVolumes } from './volumes.ts';

export interface ReferenceClaim {
  readonly nodePool: string;
  readonly pods: readonly string[];
  readonly instanceTypes: readonly string[];
  readonly requirements: Requirements;
}

export interface ReferencePlan {
  readonly claims: readonly ReferenceClaim[];
  readonly placements: readonly { readonly node: string; readonly pods: readonly string[] }[];
  readonly refused: readonly string[];
}

/** A pod in its present form, possibly with relaxed preferences. */
interface Candidate {
  readonly pod: Pod;
  readonly wanted: Requirements;
  readonly required: Requirements;
  readonly requests: Resources;
  readonly ports: ReturnType<typeof hostPorts>;
  readonly volumes: readonly Requirements[];
  readonly attachments: ReturnType<ReferenceVolumes['attachments']>;
}

interface ExistingNode {
  readonly node: StateNode;
  readonly requirements: Requirements;
  readonly attached: Attached;
  free: Resources;
  ports: Candidate['ports'];
  readonly pods: string[];
}

interface ClaimState {
  readonly template: Template;
  readonly pods: string[];
  requirements: Requirements;
  types: readonly InstanceType[];
  requests: Resources;
  groups: readonly DaemonGroup[];
  held: ReadonlySet<string>;
}

type Joined = Pick<ClaimState, 'requirements' | 'types' | 'held'>;
type Outcome = 'placed' | 'reserved' | 'refused';

const minus = (a: Resources, b: Resources): Resources =>
  Object.fromEntries(Object.entries(a).map(([name, amount]) => [name, amount - (b[name] ?? 0)]));

export class ReferenceScheduler {
  readonly #options: SolveOptions;
  readonly #volumes: ReferenceVolumes;
  readonly #templates: readonly Template[];
  readonly #topology: ReferenceTopology;
  readonly #reservations: Reservations;
  readonly #nodes: readonly ExistingNode[];
  readonly #pending: readonly Pod[];
  /** NodeClaims in order of creation. */
  readonly #claims: ClaimState[] = [];
  /** NodeClaims with the fewest pods first. Equal ones keep their order. */
  #tried: ClaimState[] = [];

  constructor(snapshot: Snapshot, options: SolveOptions) {
    this.#options = options;
    this.#pending = snapshot.pendingPods;
    this.#volumes = new ReferenceVolumes(snapshot);
    const pools = inOrder(snapshot.pools);
    const nodes = snapshot.nodes.filter(({ markedForDeletion }) => !markedForDeletion);
    const daemons = snapshot.daemonPods.map((pod) => new Daemon(pod));
    // nodes that leave count toward limits
    const parts = { daemons, nodes: snapshot.nodes, minValuesAreStrict: this.#minValuesAreStrict };
    this.#templates = pools.flatMap((pool) => templateOf(pool, parts) ?? []);
    const preferencesCount = options.preferencePolicy === 'Respect';
    const launching = (some: readonly Template[]) =>
      pools.filter(({ nodePool }) => some.some(({ name }) => name === nodePool.metadata.name));
    this.#topology = new ReferenceTopology({
      ...{ snapshot, nodes, preferencesCount },
      pools: launching(this.#templates.filter(canLaunch)),
      unlimited: launching(this.#templates),
      volumesOf: (pod) => this.#volumes.alternatives(pod),
    });
    this.#reservations = new Reservations(pools, options.reservedMode === 'strict');
    this.#nodes = nodes
      .map((node) => this.#existing(node, daemons))
      .sort(({ node: a }, { node: b }) => Number(b.initialized) - Number(a.initialized) || (a.name < b.name ? -1 : 1));
  }

  solve(): ReferencePlan {
    this.#announce();
    const refused = this.#placeAll();
    return {
      claims: this.#claims.map((claim) => finalised(claim)),
      placements: this.#nodes
        .filter(({ pods }) => pods.length > 0)
        .map(({ node, pods }) => ({ node: node.name, pods })),
      refused: [...refused].sort(),
    };
  }

  get #minValuesAreStrict(): boolean {
    return this.#options.minValuesPolicy === 'Strict';
  }

  #existing(node: StateNode, daemons: readonly Daemon[]): ExistingNode {
    const running = node.pods.filter((pod) => !isTerminal(pod));
    const { requirements } = placeOf(node);
    const expected = daemons.filter((daemon) => daemon.runsOn(requirements, node.taints, CLOSED));
    const present = sum(...running.filter(isDaemon).map(podRequests));
    const missing = Object.entries(minus(sum(...expected.map(({ requests }) => requests)), present));
    const kept = Object.fromEntries(missing.map(([name, amount]) => [name, Math.max(0, amount)]));
    const attached = new Attached(node);
    for (const pod of running) attached.add(this.#volumes.attachments(pod));
    return {
      node,
      requirements,
      attached,
      free: minus(node.allocatable, sum(...running.map(podRequests), kept)),
      ports: running.flatMap(hostPorts),
      pods: [],
    };
  }

  /** Registers the topology rules of every form of every pod before the first placement, in the order of placement. */
  #announce(): void {
    for (const pod of byDemand(this.#pending)) {
      for (let form: Pod | undefined = pod; form; form = this.#relaxed(form)) this.#topology.update(form);
      this.#topology.update(pod);
      this.#topology.follow(pod);
    }
  }

  #relaxed(pod: Pod): Pod | undefined {
    const taints = this.#templates.flatMap((template) => template.taints);
    return relaxed(pod, { taintsArePreferred: taints.some(({ effect }) => effect === 'PreferNoSchedule') });
  }

  /**
   * Places pods until a whole round places none. A pod that could not be placed is retried after the remaining pods.
   */
  #placeAll(): ReadonlySet<string> {
    const queue = byDemand(this.#pending);
    const refused = new Set<string>();
    const lengthAtLast = new Map<string, number>();
    for (let pod = queue.shift(); pod && lengthAtLast.get(keyOf(pod)) !== queue.length + 1; pod = queue.shift()) {
      if (this.#place(pod)) {
        refused.delete(keyOf(pod));
        continue;
      }
      refused.add(keyOf(pod));
      this.#topology.update(pod);
      queue.push(pod);
      lengthAtLast.set(keyOf(pod), queue.length);
    }
    return refused;
  }

  /** Does not relax preferences because of a missing reservation, which may be free in the next run. */
  #place(pod: Pod): boolean {
    if (this.#placeInSomeForm(pod)) return true;
    this.#topology.update(pod);
    return this.#topology.release(pod) && this.#placeInSomeForm(pod);
  }

  #placeInSomeForm(pod: Pod): boolean {
    for (let form: Pod | undefined = pod; form; form = this.#relaxed(form)) {
      if (form !== pod) this.#topology.update(form);
      const outcome = this.#add(this.#candidate(form));
      if (outcome !== 'refused') return outcome === 'placed';
    }
    return false;
  }

  #candidate(pod: Pod): Candidate {
    return {
      pod,
      wanted: podRequirements(pod, { preferences: this.#options.preferencePolicy === 'Respect' }),
      required: podRequirements(pod, { preferences: false }),
      requests: podRequests(pod),
      ports: hostPorts(pod),
      volumes: this.#volumes.alternatives(pod),
      attachments: this.#volumes.attachments(pod),
    };
  }

  #add(candidate: Candidate): Outcome {
    if (this.#nodes.some((node) => this.#addToNode(candidate, node))) return 'placed';
    this.#tried.sort((a, b) => a.pods.length - b.pods.length);
    if (this.#tried.some((claim) => this.#addToClaim(candidate, claim))) return 'placed';
    return this.#addNewClaim(candidate);
  }

  #addToNode(candidate: Candidate, existing: ExistingNode): boolean {
    const { pod, wanted, required, requests, ports, attachments } = candidate;
    const { node, requirements: place, attached } = existing;
    if (!isAdmitted(pod.spec, node.taints) || !attached.takes(attachments)) return false;
    if (portsClash(ports, existing.ports) || !fits(requests, existing.free)) return false;
    if (!compatible(place, wanted, CLOSED)) return false;
    for (const volume of candidate.volumes) {
      if (!compatible(place, volume, CLOSED)) continue;
      const joined = and(place, wanted, volume);
      const requirements = this.#topology.narrowed({ pod, required, joined, place, taints: node.taints, open: CLOSED });
      if (!requirements) continue;
      // Decision 17, "Labels that a pod lends to a node": the node's own requirements do not change.
      existing.free = minus(existing.free, requests);
      existing.ports = [...existing.ports, ...ports];
      attached.add(attachments);
      existing.pods.push(keyOf(pod));
      this.#topology.record(pod, { requirements, taints: node.taints });
      return true;
    }
    return false;
  }

  #addToClaim(candidate: Candidate, claim: ClaimState): boolean {
    const joined = this.#joined(candidate, claim, false);
    if (!joined || joined === 'reserved') return false;
    this.#commit(candidate, claim, joined);
    return true;
  }

  #commit({ pod, requests, ports }: Candidate, claim: ClaimState, joined: Joined): void {
    this.#reservations.exchange(claim.held, joined.held);
    Object.assign(claim, joined);
    claim.requests = sum(claim.requests, requests);
    claim.pods.push(keyOf(pod));
    claim.groups = claim.groups.map((group) => ({ ...group, ports: [...group.ports, ...ports] }));
    this.#topology.record(pod, { requirements: claim.requirements, taints: claim.template.taints });
  }

  #addNewClaim(candidate: Candidate): Outcome {
    const hostname = `hostname-placeholder-${String(this.#claims.length + 1).padStart(4, '0')}`;
    for (const template of this.#templates) {
      const claim = newClaim(template, hostname);
      if (!claim) continue;
      const joined = this.#joined(candidate, claim, true);
      if (!joined) continue;
      // NodePools of lower weight are not used either while a reservation may become free
      if (joined === 'reserved') return 'reserved';
      this.#topology.addHost(hostname);
      this.#commit(candidate, claim, joined);
      this.#claims.push(claim);
      this.#tried.push(claim);
      for (const [name, left] of template.remaining) {
        const largest = Math.max(...claim.types.map(({ capacity }) => capacity[name] ?? 0));
        template.remaining.set(name, left - (name === 'nodes' ? 1 : largest));
      }
      return 'placed';
    }
    return 'refused';
  }

  #joined(candidate: Candidate, claim: ClaimState, isNew: boolean): Joined | 'reserved' | undefined {
    const { pod, wanted, required, requests, ports } = candidate;
    if (!toleratesAll(pod.spec, claim.template.taints) || !compatible(claim.requirements, wanted, OPEN))
      return undefined;
    let last: 'reserved' | undefined;
    for (const volume of candidate.volumes) {
      last = undefined;
      const base = and(claim.requirements, wanted);
      if (!compatible(base, volume, OPEN)) continue;
      const joined = and(base, volume);
      const { taints } = claim.template;
      const narrowed = this.#topology.narrowed({ pod, required, joined, place: joined, taints, open: OPEN });
      if (!narrowed) continue;
      const all = remainingTypes(narrowed, sum(claim.requests, requests), claim.groups, ports);
      const types = all.filter((type) => claim.types.includes(type));
      const requirements = this.#withMinValues(narrowed, types, isNew);
      if (!requirements) continue;
      const held = this.#reservations.wanted(claim.held, types, requirements);
      if (held) return { requirements, types, held };
      last = 'reserved';
    }
    return last;
  }

  /**
   * Relaxes minValues of new NodeClaims under the best-effort policy. Returns undefined if types or values are too
   * few.
   */
  #withMinValues(requirements: Requirements, types: readonly InstanceType[], isNew: boolean): Requirements | undefined {
    if (types.length === 0) return undefined;
    const short = tooFewValues(types, requirements);
    if (short.length === 0) return requirements;
    if (!isNew || this.#minValuesAreStrict) return undefined;
    const lowered = short.map(({ key, found }) => [key, { ...valuesAt(requirements, key), minValues: found }] as const);
    return new Map([...requirements, ...lowered]);
  }
}

/** Sorts by CPU and memory in descending order, then by age and UID. */
function byDemand(pods: readonly Pod[]): Pod[] {
  const createdAt = ({ metadata }: Pod): number => Date.parse(metadata.creationTimestamp ?? '') || 0;
  const demands = pods.map((pod) => ({ pod, cpu: 0, memory: 0, ...podRequests(pod) }));
  return demands
    .sort(
      (a, b) =>
        b.cpu - a.cpu ||
        b.memory - a.memory ||
        createdAt(a.pod) - createdAt(b.pod) ||
        (uidOf(a.pod) < uidOf(b.pod) ? -1 : 1),
    )
    .map(({ pod }) => pod);
}

/** Returns undefined if limits exclude all types. */
function newClaim(template: Template, hostname: string): ClaimState | undefined {
  const { groups, remaining } = template;
  const types = groups
    .flatMap((group) => group.types)
    .filter(({ capacity }) =>
      [...remaining].every(([name, left]) => (name === 'nodes' ? 1 : (capacity[name] ?? 0)) <= left),
    );
  if (types.length === 0) return undefined;
  const requirements = and(template.requirements, labelRequirements({ [HOSTNAME]: hostname }));
  return { template, requirements, types, requests: {}, groups, pods: [], held: new Set() };
}

/** Returns the launch request: the remaining types, and the held reservations, if any. */
function finalised({ template, pods, types, requirements, held }: ClaimState): ReferenceClaim {
  const asked = new Map([...requirements].filter(([key]) => key !== HOSTNAME && !SIMULATED.includes(key)));
  if (held.size > 0) asked.set(CAPACITY_TYPE, oneOf(['reserved']));
  const launched = held.size > 0 ? and(asked, new Map([[RESERVATION_ID, oneOf(held)]])) : asked;
  const hasMinValues = [...launched.values()].some(({ minValues }) => minValues > 0);
  const listed = held.size > 0 && !hasMinValues ? types.filter((type) => hasReserved(type, launched)) : types;
  const names = listed.map(({ name }) => name).sort();
  const capacityTypes = listed.flatMap((type) =>
    offered(type, launched).flatMap(
      ({ requirements: own }) => own.find(({ key }) => key === CAPACITY_TYPE)?.values ?? [],
    ),
  );
  const choice = new Map([
    ['node.kubernetes.io/instance-type', oneOf(names)],
    [CAPACITY_TYPE, oneOf(capacityTypes)],
  ]);
  return { nodePool: template.name, pods, instanceTypes: names, requirements: and(launched, choice) };
}

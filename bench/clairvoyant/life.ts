/**
 * Life of a cluster. kube-scheduler places pods, and ReplicaSets choose the pods that a scale-down deletes. A life can be
 * copied, so that a policy can try decisions against the true future.
 */
import type { Demand, DemandedPod, Size } from './demand.ts';
import { type Offer, type Worth, worthOf } from './offers.ts';
import { bestNode, type ScoredNode } from './scores.ts';

export interface LifeWorld {
  readonly demand: Demand;
  readonly offers: readonly Offer[];
  /** Prices that rate pods. */
  readonly worth: Worth;
  /** Seconds from the nth launch until the node is Ready. */
  bootSeconds(launch: number): number;
  /** Seconds from a launch until the instance is paid. */
  readonly unpaid: number;
}

/** Decisions that need no search. */
export interface Rules {
  /** Order of the nodes to mark: by the worth of their pods or by their end. Undefined: no node is marked. */
  readonly marks?: 'worth' | 'end';
  /** Seconds for which an empty node stays, or undefined to keep it if the next pod arrives soon. */
  readonly keepSeconds?: number;
}

export interface LifeNode extends ScoredNode {
  readonly id: number;
  readonly offer: Offer;
  readonly launch: number;
  readonly ready: number;
  cpu: number;
  memory: number;
  pods: number;
  emptySince: number;
  isMarked: boolean;
  /** Overrides the rule. */
  pin: boolean | undefined;
}

interface Timer {
  readonly at: number;
  readonly what: 'ready' | 'end' | 'again' | 'evict' | 'check';
  /** Id of a pod or of a node. */
  readonly id: number;
}

const [NOT_CREATED, WAITING, OVER] = [-1, -2, -3];
/** Time until kube-controller-manager replaces an evicted pod of a Job. */
const BACK_OFF_SECONDS = 10;
const MARK_SECONDS = 30;
const YOUNG_SECONDS = 120;

export class Life {
  readonly world: LifeWorld;
  readonly rules: Rules;
  now = 0;
  evictions = 0;
  launches = 0;
  nodes: LifeNode[] = [];
  pending: number[] = [];
  /** Seconds from the creation until the binding of each pod. */
  waits: Float64Array;
  #usd = 0;
  #markedAt = Number.NEGATIVE_INFINITY;
  #nextPod = 0;
  #nextScale = 0;
  #timers: Timer[] = [];
  /** Id of the node of each pod, or its state. */
  #places: Int32Array;
  #created: Float64Array;
  #bound: Float64Array;

  constructor(world: LifeWorld, rules: Rules) {
    this.world = world;
    this.rules = rules;
    const { length } = world.demand.pods;
    this.#places = new Int32Array(length).fill(NOT_CREATED);
    this.#created = new Float64Array(length);
    this.#bound = new Float64Array(length);
    this.waits = new Float64Array(length);
  }

  copy(): Life {
    const copy = new Life(this.world, this.rules);
    copy.now = this.now;
    copy.evictions = this.evictions;
    copy.launches = this.launches;
    copy.nodes = this.nodes.map((node) => ({ ...node }));
    copy.pending = [...this.pending];
    copy.waits = this.waits.slice();
    copy.#usd = this.#usd;
    copy.#markedAt = this.#markedAt;
    copy.#nextPod = this.#nextPod;
    copy.#nextScale = this.#nextScale;
    copy.#timers = [...this.#timers];
    copy.#places = this.#places.slice();
    copy.#created = this.#created.slice();
    copy.#bound = this.#bound.slice();
    return copy;
  }

  /** Cost in USD until now. */
  get usd(): number {
    return this.nodes.reduce((sum, node) => sum + this.#costOf(node), this.#usd);
  }

  /** Plays the rest of this life by the rules. */
  run(): this {
    while (this.step()) this.launch();
    return this;
  }

  /** Plays the events of the next moment. Returns false at the end of the trace. */
  step(): boolean {
    const { pods, scales, seconds } = this.world.demand;
    const next = Math.min(
      pods[this.#nextPod]?.at ?? seconds,
      scales[this.#nextScale]?.at ?? seconds,
      this.#timers[0]?.at ?? seconds,
    );
    this.now = Math.min(next, seconds);
    if (next >= seconds) return false;
    for (let timer = this.#timers[0]; timer !== undefined && timer.at <= this.now; timer = this.#timers[0]) {
      this.#timers.shift();
      this.#fire(timer);
    }
    for (; (pods[this.#nextPod]?.at ?? seconds) <= this.now; this.#nextPod += 1) this.#create(this.#nextPod);
    for (; (scales[this.#nextScale]?.at ?? seconds) <= this.now; this.#nextScale += 1) this.#scale(this.#nextScale);
    if (this.now - this.#markedAt >= MARK_SECONDS) this.#mark();
    this.#schedule();
    this.#removeEmpty();
    return true;
  }

  /** Returns the waiting pods that no booting node has room for, the most valuable first. */
  uncovered(): readonly number[] {
    if (this.pending.length === 0) return [];
    const rooms = this.nodes.filter(({ ready }) => ready > this.now).map(({ offer }) => ({ ...offer }));
    return this.#byWorth(this.pending).filter((id) => !take(rooms, this.#pod(id)));
  }

  /** Reports whether any uncovered pod fits on a node of this type. */
  fitsAny(offer: Offer): boolean {
    const uncovered = this.uncovered();
    return this.#without(uncovered, offer).length < uncovered.length;
  }

  /**
   * Launches nodes for the uncovered pods.
   * @param preferred type of the first nodes; the others have the lowest price for the worth of their pods
   * @param most number of nodes of the preferred type
   */
  launch(preferred?: Offer, most = 1): void {
    let left = this.uncovered();
    for (let count = 0; left.length > 0; count += 1) {
      const offer = count < most ? preferred : undefined;
      let chosen = offer ?? this.#cheapestFor(left);
      let rest = this.#without(left, chosen);
      if (offer !== undefined && rest.length === left.length) {
        chosen = this.#cheapestFor(left);
        rest = this.#without(left, chosen);
      }
      if (rest.length === left.length) throw new Error('a pod is larger than every instance type');
      left = rest;
      this.#add(chosen);
    }
  }

  /** Marks a node, or keeps it unmarked, until it ends. */
  pin(id: number, isMarked: boolean): void {
    const node = this.#node(id);
    if (node === undefined) return;
    node.pin = isMarked;
    node.isMarked = isMarked;
  }

  /** Reports whether the free room of other nodes suffices for the pods of the node. */
  canMove(id: number): boolean {
    const rooms = this.nodes
      .filter((node) => node.id !== id && node.ready <= this.now)
      .map(({ offer, cpu, memory }) => ({ cpu: offer.cpu - cpu, memory: offer.memory - memory }));
    return this.#byWorth(this.#podsOn(id)).every((pod) => take(rooms, this.#pod(pod)));
  }

  /** Evicts the pods of a node, and terminates it. */
  evict(id: number): void {
    const node = this.#node(id);
    if (node === undefined) return;
    for (const pod of this.#podsOn(id)) {
      this.evictions += 1;
      this.#release(pod, NOT_CREATED);
      if (this.#pod(pod).workload >= 0) this.#create(pod);
      else this.#timer({ at: this.now + BACK_OFF_SECONDS, what: 'again', id: pod });
    }
    this.#terminate(node);
    this.#schedule();
  }

  /** Launches a node of this type, and evicts the pods of the node when it is Ready. */
  replace(id: number, offer: Offer): void {
    this.#timer({ at: this.#add(offer).ready, what: 'evict', id });
  }

  #fire({ what, id }: Timer): void {
    if (what === 'end') this.#release(id, OVER);
    else if (what === 'again') this.#create(id);
    else if (what === 'evict') this.evict(id);
  }

  #pod(id: number): DemandedPod {
    const pod = this.world.demand.pods[id];
    if (pod === undefined) throw new Error(`pod ${id} does not exist`);
    return pod;
  }

  #node(id: number): LifeNode | undefined {
    return this.nodes.find((node) => node.id === id);
  }

  #podsOn(id: number): readonly number[] {
    const found: number[] = [];
    for (let pod = 0; pod < this.#nextPod; pod += 1) if (this.#places[pod] === id) found.push(pod);
    return found;
  }

  #byWorth(pods: readonly number[]): readonly number[] {
    const { worth } = this.world;
    return [...pods].sort((a, b) => worthOf(this.#pod(b), worth) - worthOf(this.#pod(a), worth));
  }

  #timer(timer: Timer): void {
    let at = this.#timers.length;
    while (at > 0 && (this.#timers[at - 1]?.at ?? 0) > timer.at) at -= 1;
    this.#timers.splice(at, 0, timer);
  }

  #create(id: number): void {
    this.#places[id] = WAITING;
    this.#created[id] = this.now;
    this.pending.push(id);
  }

  /** Takes a pod from its node or from the waiting pods. */
  #release(id: number, state: number): void {
    const place = this.#places[id] ?? NOT_CREATED;
    this.#places[id] = state;
    if (place === WAITING) this.pending = this.pending.filter((other) => other !== id);
    const node = this.#node(place);
    if (node === undefined) return;
    const { cpu, memory, runs } = this.#pod(id);
    node.cpu -= cpu;
    node.memory -= memory;
    node.pods -= 1;
    node.emptySince = this.now;
    if (Number.isFinite(runs)) this.#timers = this.#timers.filter((timer) => timer.what !== 'end' || timer.id !== id);
  }

  #replicas(workload: number): readonly number[] {
    const found: number[] = [];
    for (let id = 0; id < this.#nextPod; id += 1) {
      const place = this.#places[id] ?? OVER;
      if ((place >= 0 || place === WAITING) && this.#pod(id).workload === workload) found.push(id);
    }
    return found;
  }

  /** Deletes surplus pods in the order of a ReplicaSet: waiting pods, crowded nodes, the youngest magnitude of age. */
  #scale(index: number): void {
    const { workload = -1, replicas = 0 } = this.world.demand.scales[index] ?? {};
    const pods = this.#replicas(workload);
    if (pods.length <= replicas) return;
    const crowds = new Map<number, number>();
    const placeOf = (id: number): number => this.#places[id] ?? 0;
    for (const id of pods) crowds.set(placeOf(id), (crowds.get(placeOf(id)) ?? 0) + 1);
    const ranks = pods.map((id) => {
      const age = Math.max(0, this.now - (this.#bound[id] ?? 0));
      return {
        id,
        rank: [placeOf(id) === WAITING ? 0 : 1, -(crowds.get(placeOf(id)) ?? 0), magnitude(age), shuffled(id)],
      };
    });
    ranks.sort((a, b) => a.rank.map((one, at) => one - (b.rank[at] ?? 0)).find((difference) => difference !== 0) ?? 0);
    for (const { id } of ranks.slice(0, pods.length - replicas)) this.#release(id, OVER);
  }

  /** Binds waiting pods in the order of their creation. */
  #schedule(): void {
    if (this.pending.length === 0) return;
    const refused = new Set<number>();
    this.pending = this.pending.filter((id) => {
      const pod = this.#pod(id);
      const face = pod.cpu * 1e6 + pod.memory;
      if (refused.has(face)) return true;
      const feasible = this.nodes.filter(
        ({ ready, offer, cpu, memory }) =>
          ready <= this.now && cpu + pod.cpu <= offer.cpu && memory + pod.memory <= offer.memory,
      );
      const node = bestNode(pod, feasible, pod.workload < 0 ? undefined : this.#spread(pod.workload));
      if (node === undefined) {
        refused.add(face);
        return true;
      }
      node.cpu += pod.cpu;
      node.memory += pod.memory;
      node.pods += 1;
      this.#places[id] = node.id;
      this.#bound[id] = this.now;
      this.waits[id] = this.now - (this.#created[id] ?? 0);
      if (Number.isFinite(pod.runs)) this.#timer({ at: this.now + pod.runs, what: 'end', id });
      return false;
    });
  }

  #spread(workload: number): { readonly all: number; on(node: LifeNode): number } {
    const counts = new Map<number, number>();
    let all = 0;
    for (const id of this.#replicas(workload)) {
      const place = this.#places[id] ?? OVER;
      if (place < 0) continue;
      counts.set(place, (counts.get(place) ?? 0) + 1);
      all += 1;
    }
    return { all, on: ({ id }) => counts.get(id) ?? 0 };
  }

  #removeEmpty(): void {
    for (const node of [...this.nodes]) {
      if (node.pods > 0 || node.ready > this.now) continue;
      const { keepSeconds } = this.rules;
      const since = Math.max(node.emptySince, node.ready);
      if (keepSeconds === undefined ? !this.#isSoonNeeded(node) : this.now >= since + keepSeconds)
        this.#terminate(node);
      else if (keepSeconds !== undefined) this.#timer({ at: since + keepSeconds, what: 'check', id: node.id });
    }
  }

  /** Reports whether the next pod arrives before a new node would cost less than this idle one. */
  #isSoonNeeded({ offer }: LifeNode): boolean {
    const next = this.world.demand.pods[this.#nextPod];
    if (next === undefined || next.cpu > offer.cpu || next.memory > offer.memory) return false;
    return next.at - this.now < this.world.bootSeconds(this.launches) - this.world.unpaid;
  }

  #terminate(node: LifeNode): void {
    this.#usd += this.#costOf(node);
    this.nodes = this.nodes.filter((other) => other !== node);
  }

  #costOf({ offer, launch }: LifeNode): number {
    return (offer.usd * Math.max(0, this.now - launch - this.world.unpaid)) / 3600;
  }

  #add(offer: Offer): LifeNode {
    const id = this.launches;
    const ready = this.now + this.world.bootSeconds(id);
    this.launches += 1;
    const node = { id, offer, launch: this.now, ready, cpu: 0, memory: 0, pods: 0, emptySince: ready };
    const added: LifeNode = { ...node, isMarked: false, pin: undefined };
    this.nodes.push(added);
    this.#timer({ at: ready, what: 'ready', id });
    return added;
  }

  /** Returns the pods that a node of this type has no room for. */
  #without(pods: readonly number[], offer: Offer): readonly number[] {
    const rooms = [{ cpu: offer.cpu, memory: offer.memory }];
    return pods.filter((id) => !take(rooms, this.#pod(id)));
  }

  #cheapestFor(pods: readonly number[]): Offer {
    const { offers, worth } = this.world;
    const totalWorth = (some: readonly number[]): number =>
      some.reduce((sum, id) => sum + worthOf(this.#pod(id), worth), 0);
    const all = totalWorth(pods);
    const rated = offers.map((offer) => ({ offer, rate: offer.usd / (all - totalWorth(this.#without(pods, offer))) }));
    return rated.reduce((best, other) => (other.rate < best.rate - 1e-12 ? other : best)).offer;
  }

  /** Marks the first nodes of the order of the rule, while unmarked nodes have room for their pods. */
  #mark(): void {
    this.#markedAt = this.now;
    const { marks } = this.rules;
    if (marks === undefined) return;
    const usable = this.nodes.filter(({ ready }) => ready <= this.now);
    const ends = marks === 'end' ? this.#ends() : undefined;
    const rank = (node: LifeNode): number =>
      ends === undefined ? worthOf(node, this.world.worth) / node.offer.usd : (ends.get(node.id) ?? 0);
    const order = usable.map((node) => ({ node, rank: rank(node) })).sort((a, b) => a.rank - b.rank);
    const room = usable.reduce(
      (sum, { offer, cpu, memory }) => ({ cpu: sum.cpu + offer.cpu - cpu, memory: sum.memory + offer.memory - memory }),
      { cpu: 0, memory: 0 },
    );
    let isFull = false;
    for (const { node } of order) {
      // the node's own room is lost together with the room that its pods take elsewhere
      isFull ||= room.cpu < node.offer.cpu || room.memory < node.offer.memory;
      node.isMarked = node.pin ?? (!isFull && this.now - node.launch >= YOUNG_SECONDS);
      if (!node.isMarked) continue;
      room.cpu -= node.offer.cpu;
      room.memory -= node.offer.memory;
    }
  }

  /** Returns the time at which the last present pod of each node ends. Pods of workloads end at an unknown time. */
  #ends(): ReadonlyMap<number, number> {
    const ends = new Map<number, number>();
    for (let id = 0; id < this.#nextPod; id += 1) {
      const place = this.#places[id] ?? OVER;
      if (place < 0) continue;
      const end = Math.min(this.world.demand.seconds, (this.#bound[id] ?? 0) + this.#pod(id).runs);
      ends.set(place, Math.max(ends.get(place) ?? 0, end));
    }
    return ends;
  }
}

interface Room {
  cpu: number;
  memory: number;
}

/** Takes the room of a pod from the first room that has it. */
function take(rooms: readonly Room[], { cpu, memory }: Size): boolean {
  const room = rooms.find((one) => one.cpu >= cpu && one.memory >= memory);
  if (room === undefined) return false;
  room.cpu -= cpu;
  room.memory -= memory;
  return true;
}

/** Returns the binary logarithm of an age in nanoseconds, as an integer. */
const magnitude = (seconds: number): number => Math.trunc(Math.log2(Math.max(1, seconds * 1e9)));

/** Order of equal pods, which stands for their random UIDs. */
const shuffled = (id: number): number => (id * 7919) % 10_007;

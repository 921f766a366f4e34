/** One solve at work: where each pod goes, pod by pod. */
import type { Pod } from '../../api/kubernetes.ts';
import type { Misfit, PodRefusal, Quiet } from '../model.ts';
import { podKey } from '../pods.ts';
import { Requirements, STRICT } from '../requirements.ts';
import type { Place, Topology } from '../topology/topology.ts';
import { Claim, ClaimState, hostnameOf, Refusal } from './claim.ts';
import { Claims } from './claims.ts';
import type { Amounts } from './dimensions.ts';
import { misfitText } from './misfits.ts';
import type { ExistingNode } from './node.ts';
import type { PodClass, PodClasses } from './podclass.ts';
import type { ReservationIds, Reservations } from './reservations.ts';
import type { Template } from './template.ts';
import { rankedDomains, type TieBreak } from './ties.ts';

export interface SchedulerParts {
  readonly classes: PodClasses;
  readonly topology: Topology;
  readonly nodes: readonly ExistingNode[];
  readonly templates: readonly Template[];
  readonly noAmounts: Amounts;
  /** Under `BestEffort`, a new claim's `minValues` are lowered to what can be had. */
  readonly lowerMinValues: boolean;
  readonly tieBreak: TieBreak;
  readonly reservations: Reservations;
  readonly quiet?: Quiet | undefined;
}

const NO_TEMPLATES = 'nodepool requirements filtered out all available instance types';

/** For a list of alternatives that is empty, which volumes never have. */
const NO_PLACE: Misfit = { code: 'volume', text: 'incompatible volume requirements' };

/** A claim that a pod may join, or a new one. */
interface Candidate {
  readonly hostname: string;
  readonly isNew: boolean;
  readonly held: ReservationIds;
}

const NOTHING_HELD: ReservationIds = new Set();

/** What is known of one class of pods: refusals that will never turn into acceptance. */
interface Knowledge {
  /** Nodes before this position refuse for good. */
  firstNode: number;
  /** 1 at the positions of nodes and claims that refuse for good. */
  readonly closedNodes: Uint8Array;
  closedClaims: Uint8Array;
}

export class Scheduler {
  readonly claims = new Claims();
  /** How many times there was a choice between domains of different price levels. */
  ties = 0;
  readonly #parts: SchedulerParts;
  readonly #knowledge = new Map<PodClass, Knowledge>();
  readonly #starts = new Map<Template, { readonly version: number; readonly state: ClaimState | Refusal }>();

  constructor(parts: SchedulerParts) {
    this.#parts = parts;
  }

  /** Puts a pod somewhere, giving up its preferences one by one; or tells why its last form fits nowhere. */
  place(pod: Pod): PodRefusal | undefined {
    const { classes } = this.#parts;
    let refusal: PodRefusal | undefined;
    for (let at: PodClass | undefined = classes.of(pod); at !== undefined; at = classes.relaxed(at)) {
      refusal = this.#place(pod, at);
      if (refusal === undefined) return undefined;
      // reserved capacity is worth waiting for: nothing is given up for its sake
      if (refusal.code === 'reserved-capacity') return refusal;
    }
    return refusal;
  }

  #place(pod: Pod, podClass: PodClass): PodRefusal | undefined {
    if (this.#onNode(pod, podClass) || this.#onClaim(pod, podClass)) return undefined;
    return this.#onNewClaim(pod, podClass);
  }

  #knowledgeOf(podClass: PodClass): Knowledge {
    let knowledge = this.#knowledge.get(podClass);
    if (knowledge === undefined) {
      knowledge = {
        firstNode: 0,
        closedNodes: new Uint8Array(this.#parts.nodes.length),
        closedClaims: new Uint8Array(64),
      };
      this.#knowledge.set(podClass, knowledge);
    }
    const claimCount = this.claims.all.length;
    if (knowledge.closedClaims.length < claimCount) {
      const wider = new Uint8Array(claimCount * 2);
      wider.set(knowledge.closedClaims);
      knowledge.closedClaims = wider;
    }
    return knowledge;
  }

  #onNode(pod: Pod, podClass: PodClass): boolean {
    const { nodes, quiet } = this.#parts;
    const isBarred = quiet !== undefined && !quiet.exempt.has(podKey(pod));
    const knowledge = this.#knowledgeOf(podClass);
    for (let at = knowledge.firstNode; at < nodes.length; at++) {
      const node = nodes[at];
      if (node === undefined || knowledge.closedNodes[at] === 1) continue;
      if (isBarred && quiet.nodes.has(node.node.providerId)) continue;
      if (this.#joinNode(node, pod, podClass, knowledge)) return true;
    }
    while (knowledge.firstNode < nodes.length && knowledge.closedNodes[knowledge.firstNode] === 1) {
      knowledge.firstNode++;
    }
    return false;
  }

  #joinNode(node: ExistingNode, pod: Pod, podClass: PodClass, knowledge: Knowledge): boolean {
    const { topology } = this.#parts;
    if (!node.admits(podClass)) {
      knowledge.closedNodes[node.index] = 1;
      return false;
    }
    const { alternatives } = podClass.volumes;
    const reachable = alternatives.filter((volume) => node.requirements.compatible(volume, STRICT));
    if (reachable.length === 0) knowledge.closedNodes[node.index] = 1;
    // the node's labels are settled: alternatives that it satisfies leave topology the same choice
    if (reachable.length === 0 || !this.#topologyAllows(node, podClass, knowledge)) return false;
    node.add(pod, podClass);
    topology.record(podClass, placeOf(node));
    return true;
  }

  #topologyAllows(node: ExistingNode, podClass: PodClass, knowledge: Knowledge): boolean {
    const narrowed = this.#parts.topology.narrow(podClass, placeOf(node), (_, domains) => domains[0]);
    if (narrowed instanceof Requirements) return node.requirements.compatible(narrowed, STRICT);
    if (narrowed.permanent) knowledge.closedNodes[node.index] = 1;
    return false;
  }

  #onClaim(pod: Pod, podClass: PodClass): boolean {
    const knowledge = this.#knowledgeOf(podClass);
    const order = this.claims.inOrder;
    for (let position = 0; position < order.length; position++) {
      const claim = order[position];
      if (claim === undefined || knowledge.closedClaims[claim.index] === 1) continue;
      const state = this.#joined(claim.state, { hostname: claim.hostname, isNew: false, held: claim.held }, podClass);
      if (state instanceof ClaimState) {
        this.#put(pod, podClass, claim, state);
        this.claims.grown(position);
        return true;
      }
      if (state.permanent) knowledge.closedClaims[claim.index] = 1;
    }
    return false;
  }

  /** What a claim comes to with a pod more: the first of its volumes' alternatives that works decides. */
  #joined(state: ClaimState, candidate: Candidate, podClass: PodClass): ClaimState | Refusal {
    let refusal: Refusal | undefined;
    let permanent = true;
    for (const volume of podClass.volumes.alternatives) {
      const joined = this.#joinedAt(volume, state, candidate, podClass);
      const verdict =
        joined instanceof ClaimState ? this.#parts.reservations.reservable(joined, candidate.held) : joined;
      if (!(verdict instanceof Refusal)) return joined;
      permanent &&= verdict.permanent;
      refusal = verdict;
    }
    const last = refusal ?? new Refusal(() => NO_PLACE);
    return last.permanent === permanent ? last : new Refusal(last.misfit, permanent);
  }

  #joinedAt(
    volume: Requirements,
    state: ClaimState,
    { hostname, isNew }: Candidate,
    podClass: PodClass,
  ): ClaimState | Refusal {
    const { topology, lowerMinValues } = this.#parts;
    const options = { lowerMinValues: isNew && lowerMinValues };
    const free = state.with(podClass, volume, options);
    const isRefused = free instanceof Refusal;
    // only reasons of new claims are told, and those name topology before instance types
    if (topology.isFree(podClass) || (isRefused && !isNew)) return free;
    const own = state.narrowed(podClass, volume);
    if (own instanceof Refusal) return own;
    const place = { hostname, requirements: own.requirements, taints: state.template.taints };
    const narrowed = topology.narrow(podClass, place, (key, domains) =>
      isRefused || domains.length < 2 ? domains[0] : this.#choose(free, key, domains),
    );
    if (!(narrowed instanceof Requirements)) return new Refusal(narrowed.misfit, isRefused || narrowed.permanent);
    if (narrowed === Requirements.EMPTY) return free;
    const joined = state.withNarrowed(podClass, volume, narrowed, options);
    return joined instanceof Refusal ? new Refusal(joined.misfit, isRefused) : joined;
  }

  #choose(state: ClaimState, key: string, domains: readonly string[]): string | undefined {
    const ranked = rankedDomains(state, key, domains);
    const [cheapest] = ranked;
    if (cheapest === undefined) return domains[0];
    const isPriced = ranked.some(({ level }) => level > cheapest.level);
    if (isPriced) this.ties++;
    return (isPriced ? ranked[this.#parts.tieBreak(ranked.length)] : cheapest)?.domain;
  }

  #put(pod: Pod, podClass: PodClass, claim: Claim, state: ClaimState): void {
    const { topology, reservations } = this.#parts;
    const held = reservations.reservable(state, claim.held);
    if (!(held instanceof Refusal)) {
      reservations.exchange(claim.held, held);
      claim.held = held;
    }
    claim.add(pod, podClass, state);
    topology.registerHost(claim.hostname);
    topology.record(podClass, claim.place);
  }

  #onNewClaim(pod: Pod, podClass: PodClass): PodRefusal | undefined {
    const { templates } = this.#parts;
    const misfits: { nodePool: string; misfit: Misfit }[] = [];
    const index = this.claims.all.length;
    for (const template of templates) {
      const start = this.#startOf(template);
      const state =
        start instanceof Refusal
          ? start
          : this.#joined(start, { hostname: hostnameOf(index), isNew: true, held: NOTHING_HELD }, podClass);
      if (state instanceof Refusal) {
        const misfit = state.misfit();
        misfits.push({ nodePool: template.name, misfit });
        if (misfit.code === 'reserved-capacity') return { code: misfit.code, text: textOf(misfits) };
        continue;
      }
      const claim = new Claim(index, state, isLowered(template, podClass, state));
      this.#put(pod, podClass, claim, state);
      this.claims.open(claim);
      template.limits.spend(template.catalogue, state.rows);
      return undefined;
    }
    const text = templates.length === 0 ? NO_TEMPLATES : textOf(misfits);
    return { code: 'no-fit', text, pools: misfits };
  }

  /** What a claim of a template starts from under the limits of this moment. */
  #startOf(template: Template): ClaimState | Refusal {
    const { limits, catalogue, rows, root } = template;
    const known = this.#starts.get(template);
    if (known?.version === limits.version) return known.state;
    const allowed = limits.allowed(catalogue, rows);
    const state =
      'code' in allowed
        ? new Refusal(() => allowed)
        : new ClaimState(template, root, allowed, this.#parts.noAmounts, []);
    this.#starts.set(template, { version: limits.version, state });
    return state;
  }
}

const textOf = (misfits: readonly { readonly misfit: Misfit }[]): string =>
  misfits.map(({ misfit }) => misfitText(misfit)).join('; ');

const placeOf = ({ hostname, requirements, node }: ExistingNode): Place => ({
  hostname,
  requirements,
  taints: node.taints,
});

/** Whether a new claim asks for less variety than its pool and its first pod do. */
function isLowered({ root }: Template, { requirements }: PodClass, { shape }: ClaimState): boolean {
  if (!root.hasMinValues) return false;
  const wanted = root.requirements.intersect(requirements);
  return [...wanted.entries()].some(
    ([key, set]) => (shape.requirements.get(key).minValues ?? 0) < (set.minValues ?? 0),
  );
}

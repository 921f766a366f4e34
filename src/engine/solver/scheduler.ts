/** Places the pods of one solve, one by one. */

import { CAPACITY_TYPE_LABEL } from '#api/objects';
import { defined } from '#lib';
import type { HostDevices } from '../dra/host-devices.ts';
import type { EnginePod } from '../input.ts';
import type { IdlePool, Misfit, PodRefusal, Rejection } from '../model.ts';
import { podKey } from '../pods.ts';
import { Requirements } from '../requirements.ts';
import type { Place } from '../topology/base.ts';
import type { Bindings } from '../topology/bindings.ts';
import type { Prefer, Topology } from '../topology/topology.ts';
import { combinedPlaces } from '../volumes.ts';
import type { WithheldLaunches } from '../withheld-launches.ts';
import { Claim, ClaimState, hostnameOf, type Narrowing, Refusal, withPod } from './claim.ts';
import type { ClaimDaemons } from './claim-daemons.ts';
import type { ClaimUnits } from './claim-units.ts';
import { Claims } from './claims.ts';
import { type DevicePlacement, deviceMisfit, isRefused } from './device-placement.ts';
import type { Amounts } from './dimensions.ts';
import type { ClaimStart } from './limits.ts';
import { refusalText } from './misfits.ts';
import type { MatesFit, Nodes } from './nodes.ts';
import type { PodClass, PodClasses, PodKind } from './pod-class.ts';
import type { PoolGroup, PoolPreference } from './pool-choice.ts';
import type { ReservationIds, ReservedUnits } from './reservations.ts';
import type { Shape } from './shape.ts';
import type { Template } from './template.ts';
import { costTheSame, rankedDomains, type TieBreak } from './ties.ts';

export interface SchedulerParts {
  readonly classes: PodClasses;
  readonly topology: Topology;
  readonly nodes: Nodes;
  readonly daemons: ClaimDaemons;
  /** NodePools in order of trial. */
  readonly templates: readonly Template[];
  readonly preference: PoolPreference;
  readonly noAmounts: Amounts;
  /** Under `BestEffort`, lowers the `minValues` of a new claim to the available number of values. */
  readonly lowerMinValues: boolean;
  readonly tieBreak: TieBreak;
  readonly reservations: ReservedUnits;
  /** NodePools that take no part. Refusals list them after the templates. */
  readonly idlePools: readonly IdlePool[];
  readonly withheld: WithheldLaunches;
  /** Undefined while dynamic resources are ignored. */
  readonly devices: DevicePlacement | undefined;
  readonly units: ClaimUnits;
  /** Pods that get new claims with the smallest types, because larger types would exceed the limits. Namespaced names. */
  readonly smallest: ReadonlySet<string>;
  /** Pods that only join claims for on-demand nodes. Namespaced names. */
  readonly onDemand: ReadonlySet<string>;
  /** True if refusals must contain all data for the search of their causes. */
  readonly findsCauses: boolean;
}

/** Misfit for an empty list of alternatives. The lists of volumes are never empty. */
const NO_PLACE: Misfit = { code: 'volume', text: 'incompatible volume requirements' };

const NO_COMMON_TYPE: Misfit = {
  code: 'devices',
  text: 'no instance type satisfies both scheduling and dynamic resource requirements',
};

/** Existing or new claim for a pod. */
interface Candidate {
  /** Undefined for a new claim. */
  readonly claim: Claim | undefined;
  readonly hostname: string;
  readonly isNew: boolean;
  readonly held: ReservationIds;
}

const canBeSpot = ({ state }: Claim): boolean => state.shape.requirements.get(CAPACITY_TYPE_LABEL).has('spot');

const NOTHING_HELD: ReservationIds = new Set();
const STRICT_MIN_VALUES = { lowerMinValues: false };

/** Shape to which claims of a shape would be narrowed for a pod, or a permanent or temporary refusal. */
type Target = Shape | 'closed' | 'refused';

export class Scheduler {
  readonly claims = new Claims();
  /** Number of choices between domains with different price levels. */
  ties = 0;
  readonly #parts: SchedulerParts;
  /** Permanent refusals by kind of pods, with 1 at the index of each claim that refuses. Claims only narrow and fill up. */
  readonly #closed = new Map<PodKind, Uint8Array>();
  readonly #starts = new Map<Template, Map<Shape, ClaimState>>();
  /** Last search with a target, by shape, and this target. */
  readonly #searches: number[] = [];
  readonly #targets: (Target | 'tied')[] = [];
  /** Last search with a refusal, by shape. */
  readonly #refusing: number[] = [];
  #search = 0;
  /** Reasons by NodePool why no node is launched for the current pod. */
  #withheld: ReadonlyMap<string, string> | undefined;
  /** Pods that must run on the same node as the current pod, if the devices of their claims belong to one node. */
  #mates: readonly PodClass[] = [];
  /** Claims that changed during an attempt, with functions that restore them. Undefined outside attempts. */
  #changed: Map<Claim, () => void> | undefined;

  constructor(parts: SchedulerParts) {
    this.#parts = parts;
  }

  /**
   * Places a pod, and drops its preferences one by one if necessary. Returns the refusal of its last form if the pod fits
   * nowhere, or 'late' if there was no time to try all forms.
   */
  place(pod: EnginePod, podClass: PodClass, isLate: () => boolean): PodRefusal | 'late' | undefined {
    const { withheld, devices, units } = this.#parts;
    if (podClass.devices !== undefined) devices?.start(pod, podClass);
    this.#withheld = withheld.of(pod);
    const mates = podClass.devices !== undefined && devices?.sharesOpenClaims(podClass) ? units.matesOf(pod) : [];
    if (mates.length > 0) {
      this.#mates = mates;
      const together = this.#placeInSomeForm(pod, podClass, isLate);
      this.#mates = [];
      // no node holds all pods of the claim, so that some of them run
      if (typeof together === 'object') return this.#placeInSomeForm(pod, podClass, isLate);
      return together;
    }
    const refusal = this.#placeInSomeForm(pod, podClass, isLate);
    if (typeof refusal === 'object' && this.#parts.topology.releaseFollowers(podClass))
      return this.#placeInSomeForm(pod, podClass, isLate);
    return refusal;
  }

  /** Places pods, and removes all of them if `place` returns false. */
  attempt(place: () => boolean): void {
    const { nodes, topology, reservations, devices, templates } = this.#parts;
    const { ties } = this;
    const parts = [nodes, this.claims, topology, reservations, ...(devices === undefined ? [] : [devices])];
    const restores = [...parts, ...templates.map(({ limits }) => limits)].map((part) => part.restorePoint());
    const changed = new Map<Claim, () => void>();
    this.#changed = changed;
    const isKept = place();
    this.#changed = undefined;
    if (isKept) return;
    for (const restore of [...changed.values(), ...restores]) restore();
    this.ties = ties;
    // claims have more room than when they refused pods, and their numbers are used again
    this.#closed.clear();
  }

  /** True if a NodePool has limits. */
  get hasLimits(): boolean {
    return this.#parts.templates.some(({ limits }) => !limits.isUnlimited);
  }

  /** Lowest price of all claims together, in USD per hour. */
  get usdPerHour(): number {
    return this.claims.all.reduce((sum, claim) => sum + claim.usdPerHour, 0);
  }

  /** Places a pod on the node that was launched for it, dropping preferences if necessary. Returns false if it does not fit. */
  placeOnLaunched(pod: EnginePod, podClass: PodClass): boolean {
    return this.#formsOf(podClass).some((form) => this.#parts.nodes.takeLaunched(pod, form));
  }

  #placeInSomeForm(pod: EnginePod, podClass: PodClass, isLate: () => boolean): PodRefusal | 'late' | undefined {
    const { classes } = this.#parts;
    let refusal: PodRefusal | undefined;
    for (let at: PodClass | undefined = podClass; at !== undefined; at = classes.relaxed(at)) {
      if (at !== podClass && isLate()) return 'late';
      refusal = this.#place(pod, at);
      if (refusal === undefined) return undefined;
      // the pod should wait for reserved capacity instead of dropping preferences
      if (refusal.code === 'reserved-capacity') return refusal;
    }
    return refusal;
  }

  #place(pod: EnginePod, podClass: PodClass): PodRefusal | undefined {
    const { nodes, templates, preference } = this.#parts;
    if (nodes.takeLaunched(pod, podClass) || nodes.take(pod, podClass, this.#fitMatesOn(podClass))) return undefined;
    const groups = preference.of(podClass);
    if (groups !== undefined) return this.#inGroups(pod, podClass, groups);
    if (this.#onClaim(pod, podClass)) return undefined;
    return this.#onNewClaim(pod, podClass, templates);
  }

  /** Returns a test whether an existing node holds the mates of a pod. */
  #fitMatesOn(podClass: PodClass): MatesFit {
    return (trial, { devices: own }) => {
      if (this.#mates.length === 0 || !this.#parts.devices?.bindsMates(own, podClass)) return true;
      let held: HostDevices | undefined = own;
      for (const mate of this.#mates) {
        const before: HostDevices = held;
        held = this.#formsOf(mate).reduce<HostDevices | undefined>(
          (found, form) => found ?? trial(form, before),
          undefined,
        );
        if (held === undefined) return false;
      }
      return true;
    };
  }

  /** Returns a class with all its preferences, followed by its forms without preferences. */
  #formsOf(podClass: PodClass): readonly PodClass[] {
    const forms: PodClass[] = [];
    for (let at: PodClass | undefined = podClass; at !== undefined; at = this.#parts.classes.relaxed(at))
      forms.push(at);
    return forms;
  }

  /** Returns the refusal of the first mate that does not fit on a claim. */
  #refusalOfMates(state: ClaimState, candidate: Candidate, podClass: PodClass): Refusal | undefined {
    const mates = this.#mates;
    const { devices } = state;
    if (mates.length === 0 || devices === undefined || !this.#parts.devices?.bindsMates(devices, podClass))
      return undefined;
    this.#mates = [];
    try {
      let at: ClaimState | Refusal = state;
      for (const mate of mates) {
        const before: ClaimState = at;
        at = new Refusal(() => NO_PLACE);
        for (const form of this.#formsOf(mate)) {
          at = this.#joined(before, candidate, form);
          if (at instanceof ClaimState) break;
        }
        // without its mates, the pod may fit
        if (at instanceof Refusal) return new Refusal(at.misfit, false);
      }
      return undefined;
    } finally {
      this.#mates = mates;
    }
  }

  /** Places a pod on an open or new claim. Avoids NodePools while a cheaper NodePool of the same weight has room. */
  #inGroups(pod: EnginePod, podClass: PodClass, groups: readonly PoolGroup[]): PodRefusal | undefined {
    const avoided = new Set(groups.flatMap(({ pools, isMoreExpensive }) => (isMoreExpensive ? this.#at(pools) : [])));
    if (this.#onClaim(pod, podClass, avoided)) return undefined;
    for (const { pools, isMoreExpensive } of groups) {
      const templates = this.#at(pools);
      for (const template of templates) avoided.delete(template);
      if (isMoreExpensive && this.#onClaim(pod, podClass, avoided)) return undefined;
      const refusal = this.#onNewClaim(pod, podClass, templates);
      if (refusal === undefined || refusal.code === 'reserved-capacity') return refusal;
    }
    return this.#onNewClaim(pod, podClass, this.#parts.templates);
  }

  #at(positions: readonly number[]): readonly Template[] {
    return positions.map((at) => this.#parts.templates[at] as Template);
  }

  #onClaim(pod: EnginePod, podClass: PodClass, avoided?: ReadonlySet<Template>): boolean {
    const bindings = this.#parts.topology.bindingsOf(podClass);
    if (bindings.closeClaims(this.claims.all.length)) return false;
    this.#search++;
    const closed = this.#closedTo(podClass.kind);
    const isShared = this.#sharesTargets(podClass, bindings);
    const { onDemand } = this.#parts;
    const avoidsSpot = onDemand.size > 0 && onDemand.has(podKey(pod));
    const takes = (claim: Claim): boolean => {
      if (!bindings.admitHost(claim.host)) return false;
      const { template } = claim.state;
      if (this.#withheld?.has(template.name) || avoided?.has(template)) return false;
      if (avoidsSpot && canBeSpot(claim)) return false;
      const state = isShared ? this.#joinedTarget(claim, podClass) : this.#joinedClaim(claim, podClass);
      if (state === 'closed') closed[claim.index] = 1;
      if (!(state instanceof ClaimState)) return false;
      this.#put(pod, podClass, claim, state);
      return true;
    };
    return this.claims.offer({ closed, refusing: this.#refusing, search: this.#search, takes });
  }

  #closedTo(kind: PodKind): Uint8Array {
    const claimCount = this.claims.all.length;
    let closed = this.#closed.get(kind);
    if (closed === undefined || closed.length < claimCount) {
      const wider = new Uint8Array(claimCount * 2 + 64);
      if (closed !== undefined) wider.set(closed);
      closed = wider;
      this.#closed.set(kind, closed);
    }
    return closed;
  }

  /** Returns true if claims of one shape have the same target for all pods of a class. */
  #sharesTargets({ volumes, devices }: PodClass, { dependOnDaemons }: Bindings): boolean {
    return volumes.leaveFree && devices === undefined && this.#parts.reservations.areNone && !dependOnDaemons;
  }

  /**
   * Returns the state of a claim with one more pod, if the host of the claim is open for the pod. Otherwise returns whether the
   * refusal is permanent.
   */
  #joinedTarget(claim: Claim, podClass: PodClass): ClaimState | 'closed' | 'refused' {
    const known = this.#target(claim, podClass);
    const target = known === 'tied' ? this.#tiedTarget(claim, podClass) : known;
    if (typeof target === 'string') return target;
    const { state } = claim;
    const joined = withPod(state, podClass, target, false);
    if (joined instanceof ClaimState) return joined;
    const own = this.#ownShape(state, podClass);
    const isPermanent = own === undefined || own === target || withPod(state, podClass, own, false) instanceof Refusal;
    return isPermanent ? 'closed' : 'refused';
  }

  /** Returns the same for pods whose target depends on the claim. */
  #joinedClaim(claim: Claim, podClass: PodClass): ClaimState | 'closed' | 'refused' {
    const { hostname, held } = claim;
    const joined = this.#joined(claim.state, { claim, hostname, isNew: false, held }, podClass);
    if (joined instanceof ClaimState) return joined;
    return joined.permanent ? 'closed' : 'refused';
  }

  /** Returns the cached target. Claims of a shape have the same target until the next pod is placed. */
  #target(claim: Claim, podClass: PodClass): Target | 'tied' {
    const { id } = claim.state.shape;
    if (this.#searches[id] !== this.#search) {
      this.#searches[id] = this.#search;
      const target = this.#findTarget(claim, podClass);
      this.#targets[id] = target;
      if (target === 'closed' || target === 'refused') this.#refusing[id] = this.#search;
    }
    return this.#targets[id] as Target | 'tied';
  }

  #ownShape(state: ClaimState, podClass: PodClass): Shape | undefined {
    const own = state.narrowed(podClass, Requirements.EMPTY);
    return own instanceof Refusal ? undefined : own;
  }

  #findTarget(claim: Claim, podClass: PodClass): Target | 'tied' {
    const own = claim.state.narrowed(podClass, Requirements.EMPTY);
    if (own instanceof Refusal) return own.permanent ? 'closed' : 'refused';
    const { topology } = this.#parts;
    if (topology.isFreeOfDomains(podClass) && !topology.countsDaemons) return own;
    let isTied = false;
    const target = this.#targetAmong(own, claim, podClass, (key, domains) => {
      isTied ||= domains.length > 1 && !costTheSame(own, key, domains);
      return domains[0];
    });
    return isTied ? 'tied' : target;
  }

  #tiedTarget(claim: Claim, podClass: PodClass): Target {
    const own = this.#ownShape(claim.state, podClass);
    if (own === undefined) return 'closed';
    const free = withPod(claim.state, podClass, own, false);
    if (free instanceof Refusal) return 'closed';
    return this.#targetAmong(own, claim, podClass, (key, domains) =>
      domains.length < 2 ? domains[0] : this.#choose(free, key, domains),
    );
  }

  #targetAmong(own: Shape, { hostname, state }: Claim, podClass: PodClass, prefer: Prefer): Shape | 'refused' {
    const place = this.#placeOf(hostname, state.template, own);
    const narrowed = this.#parts.topology.narrowDomains(podClass, place, prefer);
    if (!(narrowed instanceof Requirements)) return 'refused';
    const target = own.narrow(narrowed);
    return 'code' in target ? 'refused' : target;
  }

  /** Returns the state of a claim with one more pod, for the first alternative of the pod's volumes that fits. */
  #joined(state: ClaimState, candidate: Candidate, podClass: PodClass): ClaimState | Refusal {
    let refusal: Refusal | undefined;
    let permanent = true;
    for (const volume of this.#alternativesOf(podClass)) {
      const joined = this.#joinedWithDevices(volume, state, candidate, podClass);
      const verdict =
        joined instanceof ClaimState
          ? (this.#refusalOfMates(joined, candidate, podClass) ??
            this.#parts.reservations.reservable(joined, candidate.held))
          : joined;
      if (!(verdict instanceof Refusal)) return joined;
      permanent &&= verdict.permanent;
      refusal = verdict;
    }
    const last = refusal ?? new Refusal(() => NO_PLACE);
    return last.permanent === permanent ? last : new Refusal(last.misfit, permanent);
  }

  /** Returns alternative requirements of the volumes of a pod, and of the DaemonSets on its node. */
  #alternativesOf(podClass: PodClass): readonly Requirements[] {
    const { devices, topology, daemons } = this.#parts;
    const own = devices?.alternativesOf(podClass) ?? podClass.volumes.alternatives;
    const bindings = topology.bindingsOf(podClass);
    return bindings.dependOnDaemons ? combinedPlaces([own, daemons.placesOf(bindings)]) : own;
  }

  /** Finds devices before topology, because devices of some nodes narrow the domains. */
  #joinedWithDevices(
    volume: Requirements,
    state: ClaimState,
    candidate: Candidate,
    podClass: PodClass,
  ): ClaimState | Refusal {
    const { devices } = this.#parts;
    if (devices === undefined || (podClass.devices?.claims ?? []).length === 0)
      return this.#joinedAt(volume, state, candidate, podClass);
    const own = state.narrowed(podClass, volume);
    if (own instanceof Refusal) return own;
    const found = devices.onClaim(state, candidate.claim, own.requirements, podClass);
    if (isRefused(found))
      return new Refusal(() => deviceMisfit(found), found.isPermanent || devices.areRefusalsPermanent);
    const restricted = state.withDevices(found.devices, found.types);
    const narrowing = found.requirements === own.requirements ? volume : found.requirements;
    const joined = this.#joinedAt(narrowing, restricted, candidate, podClass);
    return joined instanceof Refusal && restricted.choice.isEmpty ? new Refusal(() => NO_COMMON_TYPE) : joined;
  }

  #joinedAt(
    volume: Requirements,
    state: ClaimState,
    { hostname, isNew }: Candidate,
    podClass: PodClass,
  ): ClaimState | Refusal {
    const { topology, lowerMinValues } = this.#parts;
    const options = isNew && lowerMinValues ? { lowerMinValues } : STRICT_MIN_VALUES;
    const join = (narrowing: Narrowing): ClaimState | Refusal =>
      isNew ? state.withRemembered(podClass, narrowing, options) : state.with(podClass, narrowing, options);
    const free = join({ volume });
    const isRefused = free instanceof Refusal;
    // only refusals of new claims are reported, and these must mention topology before instance types
    if (topology.isFree(podClass) || (isRefused && !isNew)) return free;
    const own = state.narrowed(podClass, volume);
    if (own instanceof Refusal) return own;
    const place = this.#placeOf(hostname, state.template, own, topology.bindingsOf(podClass).dependOnDaemons);
    const narrowed = topology.narrow(podClass, place, (key, domains) =>
      isRefused || domains.length < 2 ? domains[0] : this.#choose(free, key, domains),
    );
    // not permanent for the kind, because the same pod without a preference may be accepted
    if (!(narrowed instanceof Requirements)) return new Refusal(narrowed.misfit, isRefused);
    if (narrowed === Requirements.EMPTY) return free;
    const joined = join({ volume, topology: narrowed });
    return joined instanceof Refusal ? new Refusal(joined.misfit, isRefused) : joined;
  }

  /**
   * Returns a claim as topology sees it.
   *
   * @param dependsOnDaemons true if the rules of the pod depend on the DaemonSets of the claim
   */
  #placeOf(hostname: string, template: Template, shape: Shape, dependsOnDaemons = false): Place {
    const { topology, daemons } = this.#parts;
    const place = { hostname, requirements: shape.requirements, taints: template.taints };
    return dependsOnDaemons || topology.countsDaemons ? { ...place, daemons: daemons.at(template, shape) } : place;
  }

  #choose(state: ClaimState, key: string, domains: readonly string[]): string | undefined {
    // cached by shape, while ranks are computed for each choice
    if (costTheSame(state.shape, key, domains)) return domains[0];
    const ranked = rankedDomains(state, key, domains);
    const [cheapest] = ranked;
    if (cheapest === undefined) return domains[0];
    const isPriced = ranked.some(({ level }) => level > cheapest.level);
    if (isPriced) this.ties++;
    return (isPriced ? ranked[this.#parts.tieBreak(ranked.length)] : cheapest)?.domain;
  }

  #put(pod: EnginePod, podClass: PodClass, claim: Claim, state: ClaimState): void {
    const { topology, reservations } = this.#parts;
    if (this.#changed?.has(claim) === false) this.#changed.set(claim, claim.restorePoint());
    if (!reservations.areNone) {
      const held = reservations.reservable(state, claim.held);
      if (!(held instanceof Refusal)) {
        reservations.exchange(claim.held, held);
        claim.held = held;
      }
    }
    claim.add(pod, podClass, state);
    this.#parts.devices?.takeOnClaim(claim);
    topology.recordOnClaim(podClass, claim.host, this.#placeOf(claim.hostname, state.template, claim.state.shape));
  }

  /** @param templates NodePools in order of trial */
  #onNewClaim(pod: EnginePod, podClass: PodClass, templates: readonly Template[]): PodRefusal | undefined {
    const { idlePools } = this.#parts;
    const misfits: Rejection[] = [];
    const index = this.claims.all.length;
    const candidate = { claim: undefined, hostname: hostnameOf(index), isNew: true, held: NOTHING_HELD };
    for (const template of templates) {
      const withheld = this.#withheld?.get(template.name);
      const { start, state: widest } =
        withheld === undefined
          ? this.#opened(template, candidate, podClass)
          : refusedAtStart(new Refusal(() => ({ code: 'launch-withheld', text: withheld })));
      const isSmall =
        widest instanceof ClaimState && start instanceof ClaimState && this.#parts.smallest.has(podKey(pod));
      const state = isSmall ? this.#smallest(widest, start, candidate, podClass) : widest;
      if (state instanceof Refusal) {
        const misfit = state.misfit();
        const isRestricted = start instanceof Refusal || start.start !== template.rows;
        const otherwise = isRestricted ? this.#otherwise(template, candidate, podClass) : undefined;
        misfits.push({ nodePool: template.name, misfit, ...defined({ otherwise }) });
        if (misfit.code === 'reserved-capacity') return { code: misfit.code, text: refusalText(misfits, []) };
        continue;
      }
      const claim = new Claim(index, state, isLowered(template, podClass, state));
      claim.host = this.#parts.topology.openHost(claim.hostname);
      this.#put(pod, podClass, claim, state);
      this.claims.open(claim);
      template.limits.spend(state.choice);
      return undefined;
    }
    return { code: 'no-fit', text: refusalText(misfits, idlePools), pools: [...misfits, ...idlePools] };
  }

  /** Returns a new claim with the pod, from the widest start within the limits from which the pod fits. */
  #opened(template: Template, candidate: Candidate, podClass: PodClass): Opened {
    const { limits } = template;
    const start = this.#startOf(template, limits.startFor(podClass.requirements));
    const state = start instanceof Refusal ? start : this.#joined(start, candidate, podClass);
    if (state instanceof ClaimState) return { start, state };
    for (const narrower of limits.narrowedStartsFor(podClass.requirements)) {
      const from = this.#startOf(template, narrower);
      const joined = from instanceof Refusal ? from : this.#joined(from, candidate, podClass);
      if (joined instanceof ClaimState) return { start: from, state: joined };
    }
    return { start, state };
  }

  /** Returns the state of a new claim with the types that use the least of the limits of the NodePool. */
  #smallest(widest: ClaimState, { shape }: ClaimState, candidate: Candidate, podClass: PodClass): ClaimState | Refusal {
    const { template, choice } = widest;
    if (template.limits.isUnlimited) return widest;
    const start = ClaimState.empty(template, template.limits.smallestOf(choice), this.#parts.noAmounts, shape);
    const small = this.#joined(start, candidate, podClass);
    // with `minValues`, some types are not enough
    return small instanceof Refusal ? widest : small;
  }

  /** Returns the result of a trial without limits and without holds of launches. Undefined if no cause is needed. */
  #otherwise(template: Template, candidate: Candidate, podClass: PodClass): Rejection['otherwise'] {
    if (!this.#parts.findsCauses) return undefined;
    const state = this.#joined(ClaimState.empty(template, template.rows, this.#parts.noAmounts), candidate, podClass);
    const misfit = state instanceof Refusal ? state.misfit() : undefined;
    return misfit === undefined || misfit.code === 'reserved-capacity' ? 'fits' : misfit;
  }

  /** Returns the initial state of a template's claims from a start within the limits. */
  #startOf(template: Template, from: ClaimStart | Misfit): ClaimState | Refusal {
    if ('code' in from) return new Refusal(() => from);
    const starts = this.#starts.get(template) ?? new Map<Shape, ClaimState>();
    this.#starts.set(template, starts);
    let start = starts.get(from.shape);
    if (start?.start !== from.rows) {
      start = ClaimState.empty(template, from.rows, this.#parts.noAmounts, from.shape);
      starts.set(from.shape, start);
    }
    return start;
  }
}

/** Start of a new claim, and the claim with its first pod. */
interface Opened {
  readonly start: ClaimState | Refusal;
  readonly state: ClaimState | Refusal;
}

const refusedAtStart = (refusal: Refusal): Opened => ({ start: refusal, state: refusal });

/** Returns true if a new claim requires fewer values than its NodePool and its first pod. */
function isLowered({ root }: Template, { requirements }: PodClass, { shape }: ClaimState): boolean {
  if (!root.hasMinValues) return false;
  const wanted = root.requirements.intersect(requirements);
  return [...wanted.entries()].some(
    ([key, set]) => (shape.requirements.get(key).minValues ?? 0) < (set.minValues ?? 0),
  );
}

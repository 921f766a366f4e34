/**
 * Allocates devices for the pods of one solve. A candidate is an existing node, a node that is being planned, or a new node. An
 * allocation changes nothing until it is committed.
 */
import type { NodeSelectorTerm } from '#api/objects';
import { messageOf, remembering } from '#lib';
import { LOOSE, Requirements, STRICT } from '../requirements.ts';
import { ValueSet } from '../value-set.ts';
import { ClaimError, type CompiledClaim, MOST_DEVICES } from './claim-requests.ts';
import type { ClaimState } from './claim-states.ts';
import type { DevicePool } from './device-pool.ts';
import { findDevices, type PooledDevice, pooledDevices, SelectorFailure } from './device-search.ts';
import { DeviceUse, largestUse, type UseLayer, UseView } from './device-use.ts';
import { type HostDevices, hasClaim, NO_DEVICES, type TypeDevices, withFound, withReserved } from './host-devices.ts';
import type { NodePlace, PublishedPools, ReachablePool } from './published-pools.ts';
import { Rejections, reasonText, type TypeFailure } from './rejections.ts';
import { BudgetError, SearchBudget } from './search-budget.ts';
import { shown, shownMessage } from './shown-text.ts';
import type { SuspendedDriver } from './template-types.ts';

/** Instance type of a candidate. An existing node has one type. */
export interface CandidateType {
  readonly name: string;
  /** Devices of a node that does not exist, or whose drivers have not published them yet. */
  readonly templates: readonly DevicePool[];
  /** Devices of DaemonSets, which no other pod gets. */
  readonly reserved?: TypeDevices | undefined;
  readonly suspended?: readonly SuspendedDriver[];
}

export interface AllocationCandidate {
  /** Identity of the node. */
  readonly host: object;
  readonly place: NodePlace;
  /** Types in the order of trial. */
  readonly types: readonly CandidateType[];
  /** Devices that the candidate provides for its other pods. */
  readonly devices: HostDevices;
}

export interface Allocation {
  /** Devices of the types that can satisfy all claims. Other types are impossible. */
  readonly devices: HostDevices;
  /** Types that remain. Undefined if the claims do not restrict the types. */
  readonly types: ReadonlySet<string> | undefined;
  /** Requirements of the node, with those of the devices. */
  readonly requirements: Requirements;
}

/** Reason why a candidate cannot satisfy the claims of a pod. */
export interface AllocationRefusal {
  /** Computed on request, because most refusals are never displayed. */
  readonly text: string;
  /** True if the refusal does not depend on the devices that other pods use. */
  readonly isPermanent: boolean;
  /** True if the search reached its limit. */
  readonly isExpired?: boolean;
}

/** Claim that this solve allocated. */
interface SolvedClaim {
  readonly host: object;
  readonly usesTemplates: boolean;
  readonly requirements: Requirements;
}

export interface AllocatorInput {
  readonly pools: PublishedPools;
  /** Published devices that are in use in the cluster. */
  readonly use: readonly UseLayer[];
  /** Returns the use of template devices by bound pods of a node that is not initialized. */
  readonly usedOn?: (nodeName: string, templates: readonly DevicePool[]) => DeviceUse | undefined;
}

/** Maximum number of characters about suspended devices. */
const LONGEST_SUSPENSION = 400;

class CandidateError extends Error {}

export class DeviceAllocator {
  readonly #pools: PublishedPools;
  readonly #cluster: readonly UseLayer[];
  readonly #usedOn: AllocatorInput['usedOn'];
  readonly #planned = new DeviceUse();
  readonly #byHost = new Map<object, DeviceUse>();
  readonly #claims = new Map<string, SolvedClaim>();
  readonly #claimsOfHosts = new Map<object, readonly string[]>();

  constructor({ pools, use, usedOn }: AllocatorInput) {
    this.#pools = pools;
    this.#cluster = use;
    this.#usedOn = usedOn;
  }

  /** Returns the devices for claims on a candidate, or the reason why it has none. */
  allocate(
    claims: readonly ClaimState[],
    candidate: AllocationCandidate,
    budget: SearchBudget,
  ): Allocation | AllocationRefusal {
    try {
      return this.#allocate(claims, candidate, budget);
    } catch (error) {
      const isExpected =
        error instanceof CandidateError ||
        error instanceof SelectorFailure ||
        error instanceof ClaimError ||
        error instanceof BudgetError;
      if (!isExpected) throw error;
      const isExpired = error instanceof BudgetError;
      return { text: shownMessage(messageOf(error)), isPermanent: error instanceof ClaimError, isExpired };
    }
  }

  #allocate(
    claims: readonly ClaimState[],
    candidate: AllocationCandidate,
    budget: SearchBudget,
  ): Allocation | AllocationRefusal {
    const { nodeName, requirements: start } = candidate.place;
    let requirements = start;
    const open: ClaimState[] = [];
    for (const claim of claims) {
      const narrowed = this.#classified(claim, candidate, requirements);
      if (narrowed === undefined) open.push(claim);
      else requirements = narrowed;
    }
    if (open.length === 0) return { devices: candidate.devices, types: undefined, requirements };
    const place = { nodeName, requirements };
    const pools = this.#pools.reachableFrom(place);
    const compiled = open.map((claim) => compiledOf(claim, pools));
    return this.#searchTypes({ open, compiled, pools, place, candidate, budget });
  }

  /**
   * Returns the requirements for a claim that is allocated, or undefined for a claim that must be allocated.
   * @throws {CandidateError} if the candidate cannot reach the devices of the claim
   */
  #classified(
    claim: ClaimState,
    { host, place, devices }: AllocationCandidate,
    requirements: Requirements,
  ): Requirements | undefined {
    // a pod that is not recorded yet allocated the claim
    if (!claim.isPrivate && hasClaim(devices, claim.id)) return requirements;
    const named = `(ResourceClaim=${claim.id})`;
    const solved = claim.isPrivate ? undefined : this.#claims.get(claim.id);
    if (solved !== undefined) {
      if (solved.host === host) return requirements;
      if (solved.usesTemplates) throw new CandidateError(`claim is bound to a different in-flight NodeClaim ${named}`);
      if (requirements.compatible(solved.requirements, LOOSE)) return requirements.intersect(solved.requirements);
      throw new CandidateError(`in-memory allocation topology is incompatible with NodeClaim requirements ${named}`);
    }
    if (claim.allocated === undefined) return undefined;
    const { nodeSelectorTerms: terms } = claim.allocated;
    if (terms.length === 0) return requirements;
    const term = terms.find((each) => isReachable(each, { ...place, requirements }));
    if (term === undefined)
      throw new CandidateError(`in-cluster allocation topology is incompatible with NodeClaim requirements ${named}`);
    return requirements.intersect(Requirements.fromRequirements(term.matchExpressions));
  }

  #searchTypes(parts: SearchParts): Allocation | AllocationRefusal {
    const { candidate, open, compiled, pools, place, budget } = parts;
    const shared = new SharedResults();
    const published = pooledDevices(pools);
    const byType = new Map<string, TypeDevices>();
    const failures: TypeFailure[] = [];
    let { requirements } = place;
    for (const { name, templates, reserved = NO_DEVICES } of candidate.types) {
      const held = candidate.devices.byType.get(name) ?? reserved;
      const result = shared.of([templates, held, requirements], () => {
        const own = templateDevices(templates);
        const found = findDevices({
          claims: compiled,
          devices: published.length === 0 ? own : [...published, ...own],
          place: { ...place, requirements },
          use: this.#viewOf(candidate, held, templates),
          budget,
        });
        if (found instanceof Rejections) return found;
        return { devices: withFound(held, open, found), requirements: found.requirements };
      });
      if (result instanceof Rejections) failures.push({ type: name, rejections: result });
      else {
        requirements = result.requirements;
        byType.set(name, result.devices);
      }
    }
    if (byType.size === 0) return new NoTypeRefusal(failures, compiled, candidate.types);
    return { devices: { byType }, types: new Set(byType.keys()), requirements };
  }

  /**
   * Returns the devices of a node for the claims of DaemonSets. If the claims of a DaemonSet cannot be satisfied, it takes no
   * devices, because the node is useful without this pod.
   */
  reserve(daemons: readonly (readonly ClaimState[])[], { place, templates }: ReservedNode): TypeDevices {
    const published = this.#pools.reachableFrom(place).map(localPart);
    const devices = [...pooledDevices(published), ...templateDevices(templates)];
    let reserved = NO_DEVICES;
    for (const claims of daemons) {
      const compiled = claims.flatMap(({ compiled: each }) => (each instanceof ClaimError ? [] : [each]));
      if (compiled.length < claims.length) continue;
      const use = new UseView([...this.#cluster, [reserved.use, 1]]);
      const found = orUnsatisfied(() =>
        findDevices({ claims: compiled, devices, place, use, budget: new SearchBudget() }),
      );
      if (!(found instanceof Rejections)) reserved = withReserved(reserved, found);
    }
    return reserved;
  }

  /** Returns the uses that count for one type of a candidate. Its other types count as impossible. */
  #viewOf({ host, place }: AllocationCandidate, held: TypeDevices, templates: readonly DevicePool[]): UseView {
    const own = this.#byHost.get(host);
    const bound = templates.length === 0 ? undefined : this.#usedOn?.(place.nodeName ?? '', templates);
    return new UseView([
      ...this.#cluster,
      [this.#planned, 1],
      [held.use, 1],
      ...(bound === undefined ? [] : [[bound, 1] as const]),
      ...(own === undefined ? [] : [[own, -1] as const]),
    ]);
  }

  /** Returns true if a node has the devices of a claim of this solve. */
  hasAllocated(id: string): boolean {
    return this.#claims.has(id);
  }

  /** Records the devices of a node for the types that remain. Devices of other types are free again. */
  commit(host: object, devices: HostDevices, isPossible: (type: string) => boolean): HostDevices {
    const byType = new Map([...devices.byType].filter(([type]) => isPossible(type)));
    const before = this.#byHost.get(host);
    if (before !== undefined) this.#planned.addAll(before, -1);
    const use = largestUse(
      new Set([...byType.values()].filter(({ hasPublished }) => hasPublished).map((each) => each.use)),
    );
    this.#planned.addAll(use, 1);
    this.#byHost.set(host, use);
    this.#recordClaims(host, [...byType.values()]);
    return byType.size === devices.byType.size ? devices : { byType };
  }

  /** Returns a function that reverts all commits until it is called. */
  restorePoint(): () => void {
    const restoreUse = this.#planned.restorePoint();
    const restores = [this.#byHost, this.#claims, this.#claimsOfHosts].map((map: Map<unknown, unknown>) => {
      const entries = [...map];
      return () => {
        map.clear();
        for (const [key, value] of entries) map.set(key, value);
      };
    });
    return () => {
      restoreUse();
      for (const restore of restores) restore();
    };
  }

  #recordClaims(host: object, types: readonly TypeDevices[]): void {
    for (const id of this.#claimsOfHosts.get(host) ?? []) this.#claims.delete(id);
    const ids = new Set(types.flatMap(({ shared }) => shared));
    for (const id of ids) {
      const parts = types.flatMap(({ claims }) => claims.filter((claim) => claim.id === id));
      this.#claims.set(id, {
        host,
        usesTemplates: parts.some(({ usesTemplates }) => usesTemplates),
        requirements: parts.reduce((all, part) => all.intersect(part.requirements), Requirements.EMPTY),
      });
    }
    this.#claimsOfHosts.set(host, [...ids]);
  }
}

/** Node before any pod is placed. */
interface ReservedNode {
  readonly place: NodePlace;
  readonly templates: readonly DevicePool[];
}

/** Returns a pool with the devices that no other node can use. */
const localPart = ({ pool, devices, defect }: ReachablePool): ReachablePool => ({
  pool,
  defect,
  devices: devices.filter(({ place }) => place.kind === 'node'),
});

/** Returns the result of a search, or no devices if the search failed. */
function orUnsatisfied<T>(search: () => T): T | Rejections {
  try {
    return search();
  } catch (error) {
    if (error instanceof SelectorFailure || error instanceof BudgetError) return new Rejections();
    throw error;
  }
}

class NoTypeRefusal implements AllocationRefusal {
  readonly isPermanent = false;
  readonly #failures: readonly TypeFailure[];
  readonly #claims: readonly CompiledClaim[];
  readonly #types: readonly CandidateType[];

  constructor(failures: readonly TypeFailure[], claims: readonly CompiledClaim[], types: readonly CandidateType[]) {
    this.#failures = failures;
    this.#claims = claims;
    this.#types = types;
  }

  get text(): string {
    const drivers = new Set(this.#failures.flatMap(({ rejections }) => rejections.drivers));
    // a suspension is the decisive reason, and a long text is cut at its end
    return shownMessage(suspendedText(this.#types, drivers) + noTypeText(this.#failures, this.#claims));
  }
}

interface SearchParts {
  readonly candidate: AllocationCandidate;
  readonly open: readonly ClaimState[];
  readonly compiled: readonly CompiledClaim[];
  readonly pools: readonly ReachablePool[];
  readonly place: NodePlace;
  readonly budget: SearchBudget;
}

interface TypeResult {
  readonly devices: TypeDevices;
  readonly requirements: Requirements;
}

/** Results of one call for types with the same devices. These types share their state, also for later pods. */
class SharedResults {
  readonly #known: { readonly keys: readonly object[]; readonly found: TypeResult | Rejections }[] = [];

  of(keys: readonly object[], find: () => TypeResult | Rejections): TypeResult | Rejections {
    const known = this.#known.find((each) => each.keys.every((key, at) => key === keys[at]));
    if (known !== undefined) return known.found;
    const found = find();
    this.#known.push({ keys, found });
    return found;
  }
}

const templateDevices = remembering((pools: readonly DevicePool[]): readonly PooledDevice[] =>
  pools.flatMap((pool) => (pool.defect === undefined ? pool.devices.map((device) => ({ device, pool })) : [])),
);

/**
 * Returns the requests of a claim.
 * @throws {ClaimError} if no node can satisfy the claim
 * @throws {CandidateError} if a request for all devices can reach a pool that is not complete
 */
function compiledOf({ compiled }: ClaimState, pools: readonly ReachablePool[]): CompiledClaim {
  if (compiled instanceof ClaimError) throw compiled;
  const named = `validating claim "${compiled.name}": claim "${compiled.name}"`;
  for (const { name, alternatives } of compiled.requests) {
    if (alternatives.every(({ count }) => count !== undefined)) continue;
    const defect = pools.find((pool) => pool.defect !== undefined)?.defect;
    if (defect !== undefined) throw new CandidateError(`${named} request "${name}": ${defect}`);
  }
  return compiled;
}

/** Returns true if a node at this place satisfies a term of an allocation. */
export function isReachable({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, place: NodePlace): boolean {
  const isNamed = matchFields.every(
    ({ key, operator, values }) =>
      key === 'metadata.name' && place.nodeName !== undefined && ValueSet.of(operator, values).has(place.nodeName),
  );
  return (
    isNamed &&
    place.requirements.compatible(
      Requirements.fromRequirements(matchExpressions),
      // a label that an existing node does not have stays absent
      place.nodeName === undefined ? LOOSE : STRICT,
    )
  );
}

function noTypeText(failures: readonly TypeFailure[], [first]: readonly CompiledClaim[]): string {
  if (failures.length > 0 && failures.every(({ rejections }) => rejections.hasTooMany))
    return (
      `validating claim "${first?.name}": claim "${first?.name}": all instance types pruned, no instance type can satisfy this ` +
      `claim without exceeding the maximum of ${MOST_DEVICES} devices`
    );
  return `no instance type can satisfy the allocation${reasonText(failures)}`;
}

/** Returns the reason why devices of a driver are not offered, for the first such type. */
function suspendedText(types: readonly CandidateType[], drivers: ReadonlySet<string>): string {
  const all = types.flatMap(({ name, suspended = [] }) =>
    suspended
      .filter(({ driver }) => drivers.size === 0 || drivers.has(driver))
      .map(
        ({ driver, until, reason }) =>
          `devices of driver "${driver}" on ${name} are suspended until ${until}: ${reason}`,
      ),
  );
  const [first, ...others] = all;
  if (first === undefined) return '';
  return `${shown(first, LONGEST_SUSPENSION)}${others.length === 0 ? '' : ` (and on ${others.length} more types)`}; `;
}

/** Finds the values that a topology label can have on new nodes. */
import type { NodePool, Taint } from '#api/objects';
import { remembering } from '#lib';
import { allocatable, requirementsOf } from '../instance-types.ts';
import type { InstanceType, PoolInput, Resources } from '../model.ts';
import { templateRequirements } from '../node-template.ts';
import { LOOSE, Requirements } from '../requirements.ts';
import { amountIn } from '../resources.ts';
import { isAdmitted } from '../taints.ts';
import type { ValueSet } from '../value-set.ts';
import { alternativesIdentity, type NodeFilter } from './node-filter.ts';

/** New nodes that count for a rule. */
export interface Reach {
  readonly filter: NodeFilter;
  /** Requests that must fit. Undefined if room does not matter. */
  readonly requests: Resources | undefined;
}

/** One alternative of node affinity on the nodes of a NodePool. */
interface Offer {
  readonly requirements: Requirements;
  /** Domains that the NodePool and some instance type name. */
  readonly domains: ReadonlySet<string>;
}

/** Nodes that a NodePool provides for one key. */
interface Provider {
  readonly name: string;
  readonly taints: readonly Taint[];
  readonly instanceTypes: readonly InstanceType[];
  readonly offers: readonly Offer[];
}

const NO_TAINTS: readonly Taint[] = [];
const NO_REQUIREMENTS = [Requirements.EMPTY];

/** Domains that NodePools provide, by key and node affinity. Computed lazily. */
export class Domains {
  readonly #pools: readonly PoolInput[];
  readonly #providers = new Map<string, readonly Provider[]>();
  readonly #open = new Map<string, boolean>();

  constructor(pools: readonly PoolInput[]) {
    this.#pools = pools.filter(({ instanceTypes }) => instanceTypes.length > 0);
  }

  /**
   * Returns the domains of the new nodes that count. If the pod is too large for all instance types, returns the domains for a
   * smaller pod, so that the refusal names the size and not the rule.
   *
   * @param closed names of NodePools that launch no nodes
   */
  reachable(key: string, { requests, filter }: Reach, closed: ReadonlySet<string>): readonly string[] {
    const providers = this.#providersOf(key, filter).filter(
      ({ name, taints }) =>
        !closed.has(name) && (filter.tolerations === undefined || isAdmitted(filter.tolerations, taints)),
    );
    const reachable = domainsOf(providers, key, requests);
    return reachable.length > 0 || requests === undefined ? reachable : domainsOf(providers, key, undefined);
  }

  /** Returns true if pods can name domains that no NodePool and no instance type names. */
  isOpen(key: string): boolean {
    let isOpen = this.#open.get(key);
    if (isOpen === undefined) {
      isOpen = this.#pools.some(
        ({ nodePool, instanceTypes }) =>
          templateValues(nodePool, key).complement && setsOf(instanceTypes, key).some(({ complement }) => complement),
      );
      this.#open.set(key, isOpen);
    }
    return isOpen;
  }

  #providersOf(key: string, filter: NodeFilter): readonly Provider[] {
    const id = `${key} ${alternativesIdentity(filter)}`;
    let providers = this.#providers.get(id);
    if (providers === undefined) {
      const alternatives = filter.alternatives ?? NO_REQUIREMENTS;
      providers = this.#pools.map((pool) => ({
        name: pool.nodePool.metadata.name,
        taints: pool.nodePool.spec.template.spec.taints ?? NO_TAINTS,
        instanceTypes: pool.instanceTypes,
        offers: alternatives.flatMap((alternative) => offerOf(pool, key, alternative) ?? []),
      }));
      this.#providers.set(id, providers);
    }
    return providers;
  }
}

/** Returns the domains of a NodePool's new nodes that satisfy the requirements, if there can be such nodes. */
function offerOf({ nodePool, instanceTypes }: PoolInput, key: string, required: Requirements): Offer | undefined {
  const template = templateRequirements(nodePool);
  if (!template.compatible(required, LOOSE)) return undefined;
  const own = templateValues(nodePool, key).intersect(required.get(key));
  const ofTypes = setsOf(instanceTypes, key);
  const domains = new Set<string>();
  for (const set of [own, ...ofTypes.map((each) => each.intersect(own))])
    if (!set.complement)
      for (const value of set.values) if (ofTypes.some((each) => each.has(value))) domains.add(value);
  return { requirements: template.intersect(required), domains };
}

/** Returns the values of a label that a NodePool's template allows. */
function templateValues({ spec: { template } }: NodePool, key: string): ValueSet {
  return Requirements.fromRequirements(template.spec.requirements)
    .intersect(Requirements.fromLabels(template.metadata?.labels))
    .get(key);
}

/** Returns the domains where an instance type with enough room is offered. */
function domainsOf(providers: readonly Provider[], key: string, requests: Resources | undefined): readonly string[] {
  const found = new Set<string>();
  for (const { offers, instanceTypes } of providers)
    for (const { requirements, domains } of offers) {
      const missing = new Set([...domains].filter((domain) => !found.has(domain)));
      for (const type of largestFirst(instanceTypes)) {
        if (missing.size === 0) break;
        if (!requirementsOf(type).intersects(requirements)) continue;
        for (const domain of domainsOfType(type, { key, requirements, requests }, missing)) {
          missing.delete(domain);
          found.add(domain);
        }
      }
    }
  return [...found];
}

interface TypeRequest {
  readonly key: string;
  readonly requirements: Requirements;
  readonly requests: Resources | undefined;
}

/**
 * Returns the domains among some where a type is offered and has room. An offering counts while it is out of capacity, because
 * the shortage ends. An unavailable offering without a price does not exist.
 */
function domainsOfType(
  type: InstanceType,
  { key, requirements, requests }: TypeRequest,
  domains: ReadonlySet<string>,
): readonly string[] {
  const own = requirementsOf(type).get(key);
  const possible = [...domains].filter((domain) => own.has(domain));
  const found = new Set<string>();
  for (const offering of type.offerings) {
    if (found.size === possible.length) break;
    const offered = requirementsOf(offering);
    const exists = offering.available || offering.usdPerHour > 0;
    if (!exists || !requirements.compatible(offered, LOOSE)) continue;
    if (requests !== undefined && !hasRoom(allocatable(type, offering), requests)) continue;
    for (const domain of possible) if (offered.get(key).has(domain)) found.add(domain);
  }
  return [...found];
}

/** Returns true if a type has enough of each resource that it has. Other resources can come from devices. */
function hasRoom(room: Resources, requests: Resources): boolean {
  for (const name in requests)
    if (Object.hasOwn(room, name) && amountIn(requests, name) > amountIn(room, name)) return false;
  return true;
}

/** Returns types with the most CPU first, because most pods fit on the first type. Lists of types are immutable. */
const largestFirst = remembering((types: readonly InstanceType[]): readonly InstanceType[] =>
  types.toSorted((a, b) => amountIn(b.capacity, 'cpu') - amountIn(a.capacity, 'cpu')),
);

/** Maximum number of keys with cached sets for a list of types. Users can write arbitrary topology keys. */
const MOST_KEYS = 100;

/** Cached, because lists of types stay the same for minutes and a cluster is solved again and again. */
const kept = new WeakMap<readonly InstanceType[], Map<string, readonly ValueSet[]>>();

/** Returns the distinct sets that instance types have for a key. */
function setsOf(types: readonly InstanceType[], key: string): readonly ValueSet[] {
  const byKey = kept.get(types) ?? new Map<string, readonly ValueSet[]>();
  kept.set(types, byKey);
  let sets = byKey.get(key);
  if (sets === undefined) {
    const byIdentity = new Map<string, ValueSet>();
    for (const set of new Set(types.map((type) => requirementsOf(type).get(key))))
      if (!byIdentity.has(set.identity)) byIdentity.set(set.identity, set);
    sets = [...byIdentity.values()];
    if (byKey.size >= MOST_KEYS) byKey.clear();
    byKey.set(key, sets);
  }
  return sets;
}

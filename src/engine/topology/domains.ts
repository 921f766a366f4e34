/** Finds the values that a topology label can have on new nodes. */
import type { Taint } from '../../api/kubernetes.ts';
import { requirementsOf } from '../instance-types.ts';
import type { InstanceType, PoolInput } from '../model.ts';
import { templateRequirements } from '../node-template.ts';
import { LOOSE, Requirements } from '../requirements.ts';
import { isAdmitted } from '../taints.ts';
import type { ValueSet } from '../value-set.ts';
import { alternativesIdentity, type NodeFilter } from './node-filter.ts';

/** Domains that a NodePool provides for one key. */
interface Provider {
  readonly taints: readonly Taint[];
  readonly domains: ReadonlySet<string>;
}

const NO_TAINTS: readonly Taint[] = [];
const NO_REQUIREMENTS = [Requirements.EMPTY];

/** Domains that NodePools provide, by key and node affinity. Computed lazily. */
export class Domains {
  readonly #pools: readonly PoolInput[];
  readonly #providers = new Map<string, readonly Provider[]>();

  constructor(pools: readonly PoolInput[]) {
    this.#pools = pools.filter(({ instanceTypes }) => instanceTypes.length > 0);
  }

  /** Returns the domains of the new nodes that pass the filter. */
  reachable(key: string, filter: NodeFilter): readonly string[] {
    const { tolerations } = filter;
    const reachable = new Set<string>();
    for (const { taints, domains } of this.#providersOf(key, filter))
      if (tolerations === undefined || isAdmitted(tolerations, taints))
        for (const domain of domains) reachable.add(domain);
    return [...reachable];
  }

  #providersOf(key: string, filter: NodeFilter): readonly Provider[] {
    const id = `${key} ${alternativesIdentity(filter)}`;
    let providers = this.#providers.get(id);
    if (providers === undefined) {
      const alternatives = filter.alternatives ?? NO_REQUIREMENTS;
      providers = this.#pools.map((pool) => ({
        taints: pool.nodePool.spec.template.spec.taints ?? NO_TAINTS,
        domains: new Set(alternatives.flatMap((alternative) => [...domainsOf(pool, key, alternative)])),
      }));
      this.#providers.set(id, providers);
    }
    return providers;
  }
}

/** Returns the domains of a NodePool's new nodes that satisfy the requirements. */
function domainsOf({ nodePool, instanceTypes }: PoolInput, key: string, required: Requirements): ReadonlySet<string> {
  const template = templateRequirements(nodePool);
  const domains = new Set<string>();
  if (!template.compatible(required, LOOSE)) return domains;
  const { metadata, spec } = nodePool.spec.template;
  const own = Requirements.fromRequirements(spec.requirements)
    .intersect(Requirements.fromLabels(metadata?.labels))
    .get(key)
    .intersect(required.get(key));
  for (const set of [own, ...setsOf(instanceTypes, key).map((each) => each.intersect(own))])
    if (!set.complement) for (const value of set.values) domains.add(value);
  if (required.identity === '') return domains;
  return offeredAmong(domains, { key, requirements: template.intersect(required), instanceTypes });
}

interface TypesInDomains {
  readonly key: string;
  readonly requirements: Requirements;
  readonly instanceTypes: readonly InstanceType[];
}

/**
 * Returns the domains where an instance type satisfies the requirements. Usually compares few types, because most types are
 * offered in all domains.
 */
function offeredAmong(
  domains: ReadonlySet<string>,
  { key, requirements, instanceTypes }: TypesInDomains,
): ReadonlySet<string> {
  const missing = new Set(domains);
  for (const type of instanceTypes) {
    if (missing.size === 0) return domains;
    const offered = requirementsOf(type);
    if (!offered.intersects(requirements)) continue;
    const set = offered.get(key);
    for (const domain of missing) if (set.has(domain)) missing.delete(domain);
  }
  return new Set([...domains].filter((domain) => !missing.has(domain)));
}

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

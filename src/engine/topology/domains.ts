/** Finds the values that a topology label can have on new nodes. */
import type { Taint, Toleration } from '../../api/kubernetes.ts';
import { requirementsOf } from '../instance-types.ts';
import type { InstanceType, PoolInput } from '../model.ts';
import { Requirements } from '../requirements.ts';
import { toleratesAll } from '../taints.ts';
import type { ValueSet } from '../value-set.ts';

type TaintLists = Set<readonly Taint[]>;

/** Domains by key, each with the taints of the NodePools that provide it. Computed lazily for each key. */
export class Domains {
  readonly #pools: readonly PoolInput[];
  readonly #byKey = new Map<string, ReadonlyMap<string, TaintLists>>();

  constructor(pools: readonly PoolInput[]) {
    this.#pools = pools;
  }

  /** Returns the domains that a pod can reach. Without tolerations, ignores taints. */
  visible(key: string, tolerations: readonly Toleration[] | undefined): readonly string[] {
    const domains: string[] = [];
    for (const [domain, lists] of this.#domains(key)) {
      if (tolerations === undefined || [...lists].some((taints) => toleratesAll(tolerations, taints))) {
        domains.push(domain);
      }
    }
    return domains;
  }

  #domains(key: string): ReadonlyMap<string, TaintLists> {
    let domains = this.#byKey.get(key);
    if (domains === undefined) {
      domains = this.#collect(key);
      this.#byKey.set(key, domains);
    }
    return domains;
  }

  #collect(key: string): ReadonlyMap<string, TaintLists> {
    const domains = new Map<string, TaintLists>();
    for (const { nodePool, instanceTypes } of this.#pools) {
      if (instanceTypes.length === 0) continue;
      const { metadata, spec } = nodePool.spec.template;
      const own = Requirements.fromRequirements(spec.requirements)
        .intersect(Requirements.fromLabels(metadata?.labels))
        .get(key);
      for (const set of [own, ...setsOf(instanceTypes, key).map((each) => each.intersect(own))]) {
        if (set.complement) continue;
        for (const value of set.values) {
          const lists = domains.get(value) ?? new Set();
          domains.set(value, lists.add(spec.taints ?? []));
        }
      }
    }
    return domains;
  }
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

/** Which values a topology label can have on nodes that could be bought. */
import type { Taint, Toleration } from '../../api/kubernetes.ts';
import { requirementsOf } from '../instance-types.ts';
import type { PoolInput } from '../model.ts';
import { Requirements } from '../requirements.ts';
import { toleratesAll } from '../taints.ts';

type TaintLists = Set<readonly Taint[]>;

/** Domains by key, each with the taints behind which pools have it. Computed for the keys that are used. */
export class Domains {
  readonly #pools: readonly PoolInput[];
  readonly #byKey = new Map<string, ReadonlyMap<string, TaintLists>>();

  constructor(pools: readonly PoolInput[]) {
    this.#pools = pools;
  }

  /** Domains that a pod can reach; without tolerations taints are not looked at. */
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
      const sets = new Set([own, ...instanceTypes.map((type) => requirementsOf(type).get(key).intersect(own))]);
      for (const set of sets) {
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

/** NodePools whose decisions are reported and not carried out. */
import { LRUCache } from 'lru-cache';
import { sectionFor } from '#api/objects';
import { monotonicMs, type Timepiece } from '#lib/clock';
import type { Stores } from './stores.ts';

/** Time after which a decision that is made again counts as a new decision. */
const FORGET_MS = 10 * 60_000;
/** Maximum number of remembered decisions. */
const MOST_DECISIONS = 10_000;

export class Observation {
  /** True if the whole operator observes. It then sends no write to Kubernetes or AWS. */
  readonly ofAll: boolean;
  readonly #stores: Pick<Stores, 'nodePools' | 'nodePolicies'>;
  readonly #clock: Timepiece;
  /** Time of the last report of each decision, by `monotonicMs`. */
  readonly #reported = new LRUCache<string, number>({ max: MOST_DECISIONS });

  constructor(stores: Pick<Stores, 'nodePools' | 'nodePolicies'>, clock: Timepiece, ofAll: boolean) {
    this.#stores = stores;
    this.#clock = clock;
    this.ofAll = ofAll;
  }

  /** Returns the source of the observation of a NodePool, such as `NodePolicy batch`. */
  of(nodePool: string): string | undefined {
    if (this.ofAll) return 'MODE=observe';
    const { nodePools, nodePolicies } = this.#stores;
    const pool = nodePools.get({ name: nodePool });
    const found = pool && sectionFor(nodePolicies.list(), pool, 'mode');
    return found?.value === 'Observe' ? `NodePolicy ${found.policy.metadata.name}` : undefined;
  }

  /** Returns a sentence for views while decisions are only reported. */
  get text(): string | undefined {
    if (this.ofAll) return 'the operator observes (MODE=observe): it reports its decisions and changes nothing';
    const observed = this.#stores.nodePools
      .list()
      .map(({ metadata }) => metadata.name)
      .filter((name) => this.of(name) !== undefined);
    if (observed.length === 0) return undefined;
    return `decisions on nodes of NodePool ${observed.sort().join(', ')} are reported and not carried out (NodePolicy)`;
  }

  /** Returns true for the first report of a decision, and again if the decision was not made for some time. */
  isNew(decision: string): boolean {
    const nowMs = monotonicMs(this.#clock);
    const lastMs = this.#reported.get(decision);
    this.#reported.set(decision, nowMs);
    return lastMs === undefined || nowMs - lastMs > FORGET_MS;
  }
}

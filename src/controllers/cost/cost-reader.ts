/** Reads what the nodes cost now, and who it is spent on. */
import { NODEPOOL_LABEL } from '../../api/labels.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { own } from '../../api/own.ts';
import { CostAccount, type NodePrice } from '../../engine/cost/account.ts';
import type { CostReport } from '../../engine/cost/report.ts';
import type { StateNode } from '../../engine/model.ts';
import { yielding } from '../../kube/yielding.ts';
import type { Deps } from '../deps.ts';
import { managedPools } from '../disruption/prepare-method.ts';
import { CostTracker } from '../metrics/cost.ts';

export class CostReader {
  readonly #deps: Pick<Deps, 'cluster' | 'clock'>;
  readonly #prices: CostTracker;

  constructor(deps: Pick<Deps, 'cluster' | 'clock' | 'cloud'>) {
    this.#deps = deps;
    this.#prices = new CostTracker(deps.cloud, deps.clock);
  }

  /** In small steps. NodePools whose prices cannot be had now have nodes without a price. */
  async read(): Promise<CostReport> {
    const { cluster, clock } = this.#deps;
    const nodes = cluster.nodes();
    const prices = await this.#pricesOf(nodes);
    const account = new CostAccount();
    const pause = yielding();
    for (const node of nodes) {
      account.add(node, prices.get(node.providerId));
      await pause();
    }
    return account.report(clock.now());
  }

  /** By provider id. */
  async #pricesOf(nodes: readonly StateNode[]): Promise<ReadonlyMap<string, NodePrice>> {
    const byPool = Map.groupBy(nodes, ({ labels }) => own(labels, NODEPOOL_LABEL) ?? '');
    const found = await Promise.all(
      managedPools(this.#deps).map((pool) => this.#inPool(pool, byPool.get(pool.metadata.name) ?? [])),
    );
    return new Map(found.flat());
  }

  async #inPool(pool: NodePool, nodes: readonly StateNode[]): Promise<readonly (readonly [string, NodePrice])[]> {
    if (nodes.length === 0) return [];
    const prices = await this.#prices
      .pricesByLabels(
        pool,
        nodes.map(({ labels }) => labels),
      )
      .catch((): readonly undefined[] => []);
    return nodes.flatMap(({ providerId }, at) => {
      const usdPerHour = prices[at];
      return usdPerHour === undefined ? [] : [[providerId, { usdPerHour }] as const];
    });
  }
}

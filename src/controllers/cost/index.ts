/** Measures the cost of the nodes and keeps its history across restarts. */

import { billedPriceOf, CostAccount, type CostGroup, type CostReport, type NodePrice, nodePrices } from '#engine/costs';
import {
  after,
  ConfigMapDocument,
  type Controller,
  DocumentKeeper,
  type Outcome,
  type Singleton,
} from '#kube/reconcilers';
import { type Clock, yielding } from '#lib/clock';
import {
  HISTORY_NAME,
  historyTexts,
  newHistory,
  type OperatorHistory,
  type PoolCost,
  restoreHistory,
} from '#observe/history';
import { NODEPOOLS_COST_USD_PER_HOUR, OwnedSeries } from '#observe/metrics';
import type { Deps } from '../deps.ts';
import { viewedPoolInputs } from '../pool-inputs.ts';

/** History, and the controller that saves it across restarts. The controller is undefined if no namespace is known. */
export interface KeptHistory extends OperatorHistory {
  readonly keeper?: DocumentKeeper;
}

/** Returns undefined if the settings disable the history. */
export function openHistory(
  { settings, client, clock, log }: Pick<Deps, 'settings' | 'client' | 'clock' | 'log'>,
  namespace: string | undefined,
): KeptHistory | undefined {
  if (!settings.costHistory) return undefined;
  const history = newHistory();
  if (!namespace) return history;
  const document = new ConfigMapDocument({ client, log, namespace, name: HISTORY_NAME });
  return { ...history, keeper: historyKeeper(history, document, clock) };
}

export const historyKeeper = (
  history: OperatorHistory,
  document: ConfigMapDocument,
  clock: Pick<Clock, 'now'>,
): DocumentKeeper =>
  new DocumentKeeper(
    'cost.history',
    {
      get changes() {
        return history.decisions.changes + history.hours.changes;
      },
      get lateChanges() {
        return history.hours.samples;
      },
      texts: () => historyTexts(history),
      restore: (text) => restoreHistory(history, text, clock.now()),
    },
    document,
  );

export function costControllers(deps: Deps, history: KeptHistory | undefined): readonly Controller[] {
  if (history === undefined && deps.settings.disableClusterStateObservability) return [];
  return [new CostLoop(deps, history), ...(history?.keeper === undefined ? [] : [history.keeper])];
}

/** The history expects one sample per minute. */
const INTERVAL_MS = 60_000;

/** Measures the cost of the nodes every minute, for the metric and for the history. */
class CostLoop implements Singleton {
  readonly name = 'cost';
  readonly singleton = true;
  readonly #deps: Deps;
  readonly #history: OperatorHistory | undefined;
  readonly #series: OwnedSeries;

  constructor(deps: Deps, history: OperatorHistory | undefined) {
    this.#deps = deps;
    this.#history = history;
    this.#series = new OwnedSeries(deps.metrics, NODEPOOLS_COST_USD_PER_HOUR);
  }

  async reconcile(): Promise<Outcome> {
    const { report, prices } = await measureCost(this.#deps);
    this.#history?.hours.sample(this.#deps.clock.now(), costsOf(report));
    this.#history?.decisions.fleet.measured(this.#fleetOf(prices));
    if (!this.#deps.settings.disableClusterStateObservability) this.#show(report.groups.nodePool);
    return after(INTERVAL_MS);
  }

  /** Returns the billed price of each NodeClaim that is not deleted. */
  #fleetOf(prices: ReadonlyMap<string, NodePrice>): ReadonlyMap<string, number | undefined> {
    const staying = this.#deps.cluster.stores.nodeClaims
      .list()
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    return new Map(
      staying.map(({ metadata, status }) => {
        const price = prices.get(status?.providerID ?? '');
        return [metadata.name, price && billedPriceOf(price)];
      }),
    );
  }

  #show(groups: readonly CostGroup[]): void {
    this.#series.clear();
    for (const group of groups) {
      const { list, effective, idle, daemonSets: daemonsets, surplusCredits: surplus } = poolCost(group);
      const parts = { list, effective, idle, daemonsets, surplus };
      const samples = Object.entries(parts).map(([part, value]) => ({ labels: { nodepool: group.name, part }, value }));
      this.#series.set(group.name, samples);
    }
  }
}

const poolCost = (group: CostGroup): PoolCost => ({
  effective: group.usdPerHour,
  list: group.listUsdPerHour,
  idle: group.idleUsdPerHour,
  daemonSets: group.daemonSetsUsdPerHour,
  surplusCredits: group.surplusCreditsUsdPerHour,
});

const costsOf = ({ groups }: CostReport): ReadonlyMap<string, PoolCost> =>
  new Map(groups.nodePool.map((group) => [group.name, poolCost(group)]));

type CostDeps = Pick<Deps, 'cluster' | 'clock' | 'cloud' | 'settings' | 'log'>;

/** Computes in small steps. If prices of a NodePool are not available now, its nodes have no price. */
export const readCost = async (deps: CostDeps): Promise<CostReport> => (await measureCost(deps)).report;

/** Returns the report, and the prices of the nodes by provider ID. */
async function measureCost(
  deps: CostDeps,
): Promise<{ readonly report: CostReport; readonly prices: ReadonlyMap<string, NodePrice> }> {
  const { cluster, clock, cloud } = deps;
  const pools = await viewedPoolInputs(deps);
  const nodes = cluster.nodes();
  const prices = nodePrices(nodes, pools, cloud.commitments?.());
  const account = new CostAccount();
  const pause = yielding();
  for (const node of nodes) {
    account.add(node, prices.get(node.providerId));
    await pause();
  }
  return { report: account.report(clock.now()), prices };
}

/** Measures the cost of the nodes every minute, for the metric and for the history. */
import type { CostGroup, CostReport } from '../../engine/cost/report.ts';
import { after, type Outcome, type Singleton } from '../../kube/reconciler.ts';
import type { CostHours, PoolCost } from '../../observe/history/cost-hours.ts';
import { NODEPOOLS_COST_USD_PER_HOUR } from '../../observe/metrics/nodepools.ts';
import { OwnedSeries } from '../../observe/owned-series.ts';
import type { Deps } from '../deps.ts';
import { readCost } from './cost-reader.ts';

/** The history expects one sample per minute. */
const INTERVAL_MS = 60_000;

export class CostLoop implements Singleton {
  readonly name = 'cost';
  readonly singleton = true;
  readonly #deps: Deps;
  readonly #hours: CostHours | undefined;
  readonly #series: OwnedSeries;

  constructor(deps: Deps, hours: CostHours | undefined) {
    this.#deps = deps;
    this.#hours = hours;
    this.#series = new OwnedSeries(deps.metrics, NODEPOOLS_COST_USD_PER_HOUR);
  }

  async reconcile(): Promise<Outcome> {
    const report = await readCost(this.#deps);
    this.#hours?.sample(this.#deps.clock.now(), costsOf(report));
    if (!this.#deps.settings.disableClusterStateObservability) this.#show(report.groups.nodePool);
    return after(INTERVAL_MS);
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

/** Reads the current cost of the nodes and its distribution. */
import { CostAccount } from '../../engine/cost/account.ts';
import { nodePrices } from '../../engine/cost/node-prices.ts';
import type { CostReport } from '../../engine/cost/report.ts';
import { yielding } from '../../lib/yielding.ts';
import type { Deps } from '../deps.ts';
import { poolInputs } from '../pool-inputs.ts';

/** Computes in small steps. If prices of a NodePool are not available now, its nodes have no price. */
export async function readCost(
  deps: Pick<Deps, 'cluster' | 'clock' | 'cloud' | 'settings' | 'log'>,
): Promise<CostReport> {
  const { cluster, clock, cloud } = deps;
  const pools = await poolInputs(deps);
  const nodes = cluster.nodes();
  const prices = nodePrices(nodes, pools, cloud.commitments?.());
  const account = new CostAccount();
  const pause = yielding();
  for (const node of nodes) {
    account.add(node, prices.get(node.providerId));
    await pause();
  }
  return account.report(clock.now());
}

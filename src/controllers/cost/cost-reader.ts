/** Reads what the nodes cost now, and who it is spent on. */
import { CostAccount } from '../../engine/cost/account.ts';
import { nodePrices } from '../../engine/cost/node-prices.ts';
import type { CostReport } from '../../engine/cost/report.ts';
import { yielding } from '../../kube/yielding.ts';
import type { Deps } from '../deps.ts';
import { poolInputs } from '../pool-inputs.ts';

/** In small steps. NodePools whose prices cannot be had now have nodes without a price. */
export async function readCost({
  cluster,
  clock,
  cloud,
}: Pick<Deps, 'cluster' | 'clock' | 'cloud'>): Promise<CostReport> {
  const pools = await poolInputs({ cluster, cloud });
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

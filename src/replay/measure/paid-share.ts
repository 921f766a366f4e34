/** What is paid of list prices, where a price book says that it is less. */
import type { Deps } from '../../controllers/deps.ts';
import { poolInputs } from '../../controllers/pool-inputs.ts';
import { nodePrices } from '../../engine/cost/node-prices.ts';

/** Of one dollar at the prices of list and spot market, for the nodes that there are now; 1 without a price book. */
export async function paidShare(deps: Deps): Promise<number> {
  const { cloud, cluster, settings } = deps;
  if (settings.priceBook === '') return 1;
  const pools = await poolInputs(deps, 'thorough');
  let [listed, paid] = [0, 0];
  for (const price of nodePrices(cluster.nodes(), pools, cloud.commitments?.()).values()) {
    const { usdPerHour, listUsdPerHour = usdPerHour, coveredUsdPerHour = 0, extras } = price;
    // the fee is no money that is paid to the cloud
    const charged = (extras?.volumesUsdPerHour ?? 0) + (extras?.publicIpv4UsdPerHour ?? 0);
    listed += listUsdPerHour + charged;
    paid += usdPerHour - coveredUsdPerHour + charged;
  }
  return listed > 0 ? paid / listed : 1;
}

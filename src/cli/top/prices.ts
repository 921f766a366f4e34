/** Prices of nodes as AWS bills them, for a cluster whose operator cannot be reached. */
import type { EC2NodeClass } from '../../api/ec2-nodeclass.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { familyOf } from '../../aws/amis/families.ts';
import { nodeCharges } from '../../aws/pricing/node-charges.ts';
import { billedPriceOf } from '../../engine/cost/account.ts';
import { nodePrices } from '../../engine/cost/node-prices.ts';
import type { InstanceType, PoolInput } from '../../engine/model.ts';
import { NO_CHARGES, type NodeCharges } from '../../engine/node-extras.ts';
import type { Store } from '../../kube/client.ts';
import type { Timepiece } from '../../lib/clock.ts';
import { monotonicMs } from '../../lib/clock.ts';
import type { PricesOf } from '../../live/costs.ts';
import type { ClusterState } from '../../state/cluster.ts';
import type { Manifest } from '../objects/read.ts';
import type { TypesFor } from '../scenario.ts';

/** Age after which instance types and prices are read again. */
const AGE_MS = 5 * 60_000;

interface PriceSources {
  readonly cluster: ClusterState;
  readonly nodeClasses: Pick<Store<EC2NodeClass>, 'list' | 'get'>;
  readonly clock: Timepiece;
  readonly types: TypesFor;
}

export function billedPrices({ cluster, nodeClasses, clock, types }: PriceSources): PricesOf {
  let known: { readonly readMs: number; readonly of: (pool: NodePool) => readonly InstanceType[] } | undefined;

  async function typesOf(pool: NodePool): Promise<readonly InstanceType[]> {
    const nowMs = monotonicMs(clock);
    if (known === undefined || nowMs - known.readMs >= AGE_MS) {
      const { nodes, nodePools } = cluster.stores;
      const objects = [...nodeClasses.list(), ...nodePools.list(), ...nodes.list()];
      const manifests = objects.map((object): Manifest => ({ object, where: `the cluster's ${object.kind}` }));
      known = { readMs: nowMs, of: await types(manifests, clock.now()) };
    }
    return known.of(pool);
  }

  return async (nodePool, claims) => {
    const input: PoolInput = {
      nodePool,
      instanceTypes: await typesOf(nodePool),
      extras: { feeUsdPerHour: 0, ...chargesOf(nodeClasses.get(nodePool.spec.template.spec.nodeClassRef)) },
    };
    const nodes = claims.map((claim) => cluster.nodeOfClaim(claim));
    const prices = nodePrices(
      nodes.filter((node) => node !== undefined),
      [input],
    );
    return nodes.map((node) => {
      const price = prices.get(node?.providerId ?? '');
      if (price === undefined) return undefined;
      return { usdPerHour: billedPriceOf(price), surplusCreditsUsdPerHour: price.surplusUsdPerHour ?? 0 };
    });
  };
}

/** Returns no charges for NodeClasses with invalid fields. Their conditions report the fields. */
function chargesOf(nodeClass: EC2NodeClass | undefined): NodeCharges {
  if (nodeClass === undefined) return NO_CHARGES;
  try {
    return nodeCharges(nodeClass, familyOf(nodeClass), 0);
  } catch {
    return NO_CHARGES;
  }
}

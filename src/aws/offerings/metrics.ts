/** Publishes which offerings the NodePools can buy, and at what price. */
import { isTrue } from '../../api/conditions.ts';
import { EC2_NODE_CLASS, NODE_POOL } from '../../api/kinds.ts';
import { CAPACITY_TYPE_LABEL, ZONE_LABEL } from '../../api/labels.ts';
import type { NodePool } from '../../api/nodepool.ts';
import type { CloudProvider } from '../../cloud/provider.ts';
import { requirementsOf } from '../../engine/instance-types.ts';
import type { InstanceType } from '../../engine/model.ts';
import type { Informers } from '../../kube/client.ts';
import { after, type Singleton } from '../../kube/reconciler.ts';
import { combined } from '../errors.ts';
import type { AwsMetrics } from '../metrics.ts';

const PERIOD_MS = 60_000;
/** A NodeClass is usually resolved within seconds; looking costs no call to AWS. */
const UNRESOLVED_PERIOD_MS = 5_000;

interface Series {
  readonly labels: { readonly instance_type: string; readonly capacity_type: string; readonly zone: string };
  available: boolean;
  price: number;
}

/** One series per type, capacity type and zone; available when it is so for any pool. */
function collect(series: Map<string, Series>, types: readonly InstanceType[], withReserved: boolean): void {
  for (const type of types)
    for (const offering of type.offerings) {
      const requirements = requirementsOf(offering);
      const zone = requirements.get(ZONE_LABEL).any();
      const add = (capacity_type: string, available: boolean, price: number): void => {
        const key = `${type.name}/${capacity_type}/${zone}`;
        const known = series.get(key);
        if (known === undefined)
          series.set(key, { labels: { instance_type: type.name, capacity_type, zone }, available, price });
        else {
          known.available ||= available;
          known.price = price;
        }
      };
      add(requirements.get(CAPACITY_TYPE_LABEL).any(), offering.available, offering.usdPerHour);
      if (withReserved && !series.has(`${type.name}/reserved/${zone}`)) add('reserved', false, 0);
    }
}

/** Until a NodeClass is ready it has no offerings: that is no error, its own conditions say what is missing. */
const isResolved = (informers: Informers, { spec }: NodePool): boolean => {
  const nodeClass = informers.store(EC2_NODE_CLASS).get({ name: spec.template.spec.nodeClassRef.name });
  return nodeClass !== undefined && isTrue(nodeClass, 'Ready');
};

export const offeringMetrics = (
  informers: Informers,
  provider: CloudProvider,
  metrics: AwsMetrics,
  withReserved: boolean,
): Singleton => ({
  name: 'cloudprovider.metrics',
  singleton: true,
  async reconcile() {
    const series = new Map<string, Series>();
    const failed: unknown[] = [];
    const pools = informers.store(NODE_POOL).list();
    const resolved = pools.filter((pool) => isResolved(informers, pool));
    for (const nodePool of resolved)
      try {
        collect(series, await provider.instanceTypes(nodePool), withReserved);
      } catch (error) {
        failed.push(error);
      }
    for (const { labels, available, price } of series.values()) {
      metrics.offeringAvailable.set(labels, available ? 1 : 0);
      metrics.offeringPrice.set(labels, price);
    }
    if (failed.length > 0) throw combined('resolving instance types', failed);
    return after(resolved.length < pools.length ? UNRESOLVED_PERIOD_MS : PERIOD_MS);
  },
});

/** Publishes the offerings that NodePools can launch, with their prices. */
import {
  CAPACITY_TYPE_LABEL,
  EC2_NODE_CLASS,
  INSTANCE_TYPE_LABEL,
  isTrue,
  type KubeObject,
  NODE_CLAIM,
  NODE_POOL,
  type NodePool,
  ZONE_LABEL,
} from '#api/objects';
import type { CloudProvider } from '#cloud';
import { type InstanceType, requirementsOf } from '#engine/model';
import type { Informers } from '#kube/client';
import { after, type KeyedWorker } from '#kube/reconcilers';
import { own, sameItems } from '#lib';
import type { Sample } from '#observe/metrics';
import { combineErrors } from '../errors.ts';
import type { AwsMetrics } from '../metrics.ts';
import type { Pricing } from '../pricing/pricing.ts';

const PERIOD_MS = 60_000;
/** Single key, because a series covers all NodePools. */
const ALL = 'all';

interface Series {
  readonly labels: { readonly instance_type: string; readonly capacity_type: string; readonly zone: string };
  available: boolean;
  price: number;
}

/**
 * Returns one series per type, capacity type and zone. A series is available if one NodePool has an available
 * offering.
 */
function collectSeries(
  lists: readonly (readonly InstanceType[])[],
  withReserved: boolean,
): ReadonlyMap<string, Series> {
  const series = new Map<string, Series>();
  for (const type of lists.flat())
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
  return series;
}

function publish(series: ReadonlyMap<string, Series>, metrics: AwsMetrics): void {
  const byType = Map.groupBy(series.values(), ({ labels }) => labels.instance_type);
  for (const [instance_type, offerings] of byType) {
    const labels = { instance_type };
    const samples = (measure: (one: Series) => number): readonly Sample[] =>
      offerings.map((one) => {
        const { capacity_type, zone } = one.labels;
        return { labels, own: { capacity_type, zone }, value: measure(one) };
      });
    metrics.offeringAvailable.set(
      instance_type,
      samples(({ available }) => (available ? 1 : 0)),
    );
    metrics.offeringPrice.set(
      instance_type,
      samples(({ price }) => price),
    );
  }
  metrics.offerings.reset();
  for (const { labels, available } of series.values())
    metrics.offerings.inc({ capacity_type: labels.capacity_type, zone: labels.zone, available: String(available) });
}

/** Returns a function that lists the instance types of the current NodeClaims. */
export const typesInUse = (informers: Informers) => (): ReadonlySet<string> =>
  new Set(
    informers
      .store(NODE_CLAIM)
      .list()
      .map(({ metadata }) => own(metadata.labels, INSTANCE_TYPE_LABEL) ?? ''),
  );

const isReady = (object: KubeObject | undefined): boolean => object !== undefined && isTrue(object, 'Ready');

/**
 * Returns true if the NodeClass is ready. Offerings of a NodeClass that is not ready are unknown, and its conditions
 * report the reason.
 */
const isResolved = (informers: Informers, { spec }: NodePool): boolean =>
  isReady(informers.store(EC2_NODE_CLASS).get({ name: spec.template.spec.nodeClassRef.name }));

interface OfferingMetricsOptions {
  readonly informers: Informers;
  readonly provider: CloudProvider;
  readonly metrics: AwsMetrics;
  /** Source of the types with an estimated price. */
  readonly pricing: Pick<Pricing, 'estimated'>;
  /** If true, reserved series are published even if there are no reservations. */
  readonly withReserved: boolean;
}

export const offeringMetrics = ({
  informers,
  provider,
  metrics,
  pricing,
  withReserved,
}: OfferingMetricsOptions): KeyedWorker => {
  /** Lists of the last run. A list never changes, so the same lists have the same series. */
  let published: readonly (readonly InstanceType[])[] = [];

  return {
    name: 'cloudprovider.metrics',
    keyed: true,
    concurrency: 1,
    bind(add) {
      add(ALL);
      const whenReady = (_: string, object: KubeObject, before?: KubeObject): void => {
        if (isReady(object) && !isReady(before)) add(ALL);
      };
      informers.store(NODE_POOL).subscribe(whenReady);
      informers.store(EC2_NODE_CLASS).subscribe(whenReady);
    },
    async reconcile() {
      const lists = new Set<readonly InstanceType[]>();
      const failed: unknown[] = [];
      for (const nodePool of informers.store(NODE_POOL).list())
        try {
          if (isResolved(informers, nodePool)) lists.add(await provider.instanceTypes(nodePool));
        } catch (error) {
          failed.push(error);
        }
      if (!sameItems([...lists], published)) {
        published = [...lists];
        publish(collectSeries(published, withReserved), metrics);
      }
      metrics.priceEstimated.clear();
      for (const instance_type of pricing.estimated)
        metrics.priceEstimated.set(instance_type, [{ labels: { instance_type }, value: 1 }]);
      if (failed.length > 0) throw combineErrors('resolving instance types', failed);
      return after(PERIOD_MS);
    },
  };
};

/** Prices and availability of offerings, published as soon as a NodePool can use them. */
import { describe, expect, it } from '@jest/globals';
import { EC2_NODE_CLASS, type KubeObject, NODE_POOL, type NodePool } from '#api/objects';
import type { CloudProvider } from '#cloud';
import type { InstanceType } from '#engine/model';
import { runControllers } from '#kube/reconcilers';
import { createMetrics } from '#observe/setup';
import { awsMetrics } from '../../../../src/aws/metrics.ts';
import { offeringMetrics } from '../../../../src/aws/offerings/metrics.ts';
import { nodeClassOf, nodePoolOf } from '../../../support/awsobjects.ts';
import { instanceType } from '../../engine/build.ts';
import { handFed, recordingLog } from '../../kube/fakes.ts';
import { virtualClock } from '../../virtualclock.ts';

const PRICE = 'karpenter_cloudprovider_instance_type_offering_price_estimate{instance_type=';

let version = 0;

/** Returns the object with this status of its condition Ready. */
const withReady = <T extends KubeObject>(object: T, status: 'True' | 'False'): T => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: String(++version) },
  status: { conditions: [{ type: 'Ready', status, lastTransitionTime: '2026-01-01T00:00:00Z', reason: status }] },
});

function running() {
  const clock = virtualClock();
  const { informers, store } = handFed();
  const { log } = recordingLog();
  const metrics = createMetrics();
  const asked: string[] = [];
  const lists = new Map<string, readonly InstanceType[]>();
  // By default, each NodePool has one instance type, of its own name.
  const provider = {
    instanceTypes: async ({ metadata }: NodePool) => {
      asked.push(metadata.name);
      return lists.get(metadata.name) ?? [instanceType(metadata.name)];
    },
  } as unknown as CloudProvider;
  const pricing = { estimated: new Set<string>() };
  const controllers = [
    offeringMetrics({ informers, provider, metrics: awsMetrics(metrics), pricing, withReserved: false }),
  ];
  const stop = new AbortController();
  runControllers({ controllers, informers, clock, log, metrics, signal: stop.signal });
  const put = (name: string, status: 'True' | 'False'): void =>
    store(NODE_POOL).put(withReady({ ...nodePoolOf(), metadata: { name } }, status));
  const putClass = (status: 'True' | 'False'): void =>
    store(EC2_NODE_CLASS).put(withReady(nodeClassOf('test'), status));
  return { clock, asked, lists, estimated: pricing.estimated, put, putClass, text: () => metrics.text() };
}

describe('the set of offering metrics', () => {
  it('has the offerings of a NodePool as soon as its NodeClass becomes ready', async () => {
    const world = running();
    world.putClass('False');
    world.put('first', 'False');
    await world.clock.settle();
    expect(await world.text()).not.toContain(PRICE);

    world.putClass('True');
    await world.clock.settle();
    expect(await world.text()).toContain(`${PRICE}"first"`);
  });

  it('has the offerings of a later NodePool when it becomes ready, and is updated every minute', async () => {
    const world = running();
    world.putClass('True');
    world.put('first', 'True');
    await world.clock.settle();
    world.put('later', 'False');
    await world.clock.settle();
    expect(await world.text()).not.toContain(`${PRICE}"later"`);

    world.put('later', 'True');
    await world.clock.settle();
    expect(await world.text()).toContain(`${PRICE}"later"`);
    const before = world.asked.length;
    world.put('later', 'True');
    await world.clock.settle();
    expect(world.asked).toHaveLength(before);
    await world.clock.advance(61_000);
    expect(world.asked).toHaveLength(before + 2);
  });

  it('is computed again only if the list of instance types changes', async () => {
    const world = running();
    let reads = 0;
    const watched = (usd: number): InstanceType => {
      const type = instanceType('m5.large', { usd, zones: ['a'], capacityTypes: ['on-demand'] });
      const get = (): InstanceType['offerings'] => {
        reads++;
        return type.offerings;
      };
      return Object.defineProperty({ ...type }, 'offerings', { get });
    };
    world.lists.set('first', [watched(0.25)]);
    world.putClass('True');
    world.put('first', 'True');
    await world.clock.settle();
    const price = `${PRICE}"m5.large",capacity_type="on-demand",zone="a"}`;
    expect(await world.text()).toContain(`${price} 0.25`);
    const readsOfFirst = reads;
    await world.clock.advance(61_000);
    expect(reads).toBe(readsOfFirst);

    world.lists.set('first', [watched(0.5)]);
    await world.clock.advance(61_000);
    expect(await world.text()).toContain(`${price} 0.5`);
  });

  it('marks the types with an estimated price while it is an estimate', async () => {
    const world = running();
    world.estimated.add('m8azn.large');
    world.putClass('True');
    world.put('first', 'True');
    await world.clock.settle();
    const marked = 'karpenter_cloudprovider_instance_type_price_estimated{instance_type="m8azn.large"} 1';
    expect(await world.text()).toContain(marked);
    world.estimated.clear();
    await world.clock.advance(61_000);
    expect(await world.text()).not.toContain(marked);
  });
});

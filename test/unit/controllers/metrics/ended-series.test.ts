import { describe, expect, it } from '@jest/globals';
import {
  EC2_NODE_CLASS,
  type KubeObject,
  NODE_CLAIM,
  NODE_POOL,
  NODEPOOL_LABEL,
  type NodeClaim,
  type NodePool,
} from '#api/objects';
import { NODE_CLASS_KIND } from '#aws/node-classes';
import { runControllers } from '#kube/reconcilers';
import { silent } from '#observe/logger';
import { counter, gauge, histogram } from '#observe/metrics';
import { createMetrics } from '#observe/setup';
import { summary } from '#observe/testing';
import { openStores } from '#state/testing';
import type { Deps } from '../../../../src/controllers/deps.ts';
import { endedSeries } from '../../../../src/controllers/metrics/ended-series.ts';
import { handFed } from '../../kube/fakes.ts';
import { virtualClock } from '../../virtualclock.ts';

const MINUTE = 60_000;
const CREATED = counter({ name: 'created_total', help: 'x', labels: ['nodepool', 'reason'] });
const BYTES = gauge({ name: 'bytes', help: 'x', labels: ['nodeclass'] });
const TOOK = histogram({ name: 'took_seconds', help: 'x', labels: ['karpenter_sh_nodepool'], buckets: [1, 2] });
const LASTED = summary({ name: 'lasted_seconds', help: 'x', labels: ['nodepool'] });

function setup() {
  const clock = virtualClock();
  const { informers, store } = handFed();
  const metrics = createMetrics();
  const cluster = { stores: openStores(informers) };
  const cloud = { nodeClassKinds: [NODE_CLASS_KIND] };
  const controllers = [endedSeries({ clock, informers, metrics, cluster, cloud } as unknown as Deps)];
  runControllers({ controllers, informers, clock, log: silent, metrics, signal: new AbortController().signal });
  const measure = (pool: string): void => {
    metrics.counter(CREATED).inc({ nodepool: pool, reason: 'provisioned' });
    metrics.counter(CREATED).inc({ nodepool: pool, reason: 'drifted' });
    metrics.histogram(TOOK).observe({ karpenter_sh_nodepool: pool }, 1);
    metrics.summary(LASTED).observe({ nodepool: pool }, 1);
  };
  let version = 0;
  const object = (name: string, labels: Record<string, string> = {}): KubeObject => {
    version += 1;
    return {
      apiVersion: 'x',
      kind: 'x',
      metadata: { name, uid: `u${version}`, resourceVersion: String(version), labels },
      spec: { nodeClassRef: { name: 'default' } },
    } as KubeObject;
  };
  return {
    ...{ clock, metrics, measure },
    pools: store(NODE_POOL),
    claims: store(NODE_CLAIM),
    classes: store(EC2_NODE_CLASS),
    pool: (name: string) => object(name) as NodePool,
    claim: (name: string, pool: string) => object(name, { [NODEPOOL_LABEL]: pool }) as NodeClaim,
    nodeClass: (name: string) => object(name) as never,
    /** Lines of a scrape with this label value. */
    seriesOf: async (value: string) => (await metrics.text()).split('\n').filter((line) => line.includes(`"${value}"`)),
  };
}

describe('a series of a NodePool', () => {
  it('ends ten minutes after the NodePool was deleted, without a change to series of other NodePools', async () => {
    const { clock, pools, pool, measure, seriesOf } = setup();
    const [a, b] = [pool('a'), pool('b')];
    for (const each of [a, b]) {
      pools.put(each);
      measure(each.metadata.name);
    }
    await clock.settle();
    const before = await seriesOf('b');
    expect(before.length).toBeGreaterThan(8);
    pools.remove(a);
    await clock.advance(9 * MINUTE);
    expect(await seriesOf('a')).toHaveLength(before.length);
    await clock.advance(2 * MINUTE);
    expect(await seriesOf('a')).toEqual([]);
    expect(await seriesOf('b')).toEqual(before);
    expect(clock.waiting).toBe(0);
  });

  it('leaves the number of series unchanged after 98 NodePools were created and deleted', async () => {
    const { clock, metrics, pools, pool, measure } = setup();
    measure('stays');
    // The first reconciliation creates the series of its queue.
    const first = pool('first');
    pools.put(first);
    pools.remove(first);
    await clock.advance(11 * MINUTE);
    const count = async (): Promise<number> => (await metrics.text()).split('\n').length;
    const before = await count();
    const all = Array.from({ length: 98 }, (_, at) => pool(`pool-${at}`));
    for (const each of all) {
      pools.put(each);
      measure(each.metadata.name);
    }
    await clock.settle();
    expect(await count()).toBeGreaterThan(98 * 8);
    for (const each of all) pools.remove(each);
    await clock.advance(11 * MINUTE);
    expect(await count()).toBe(before);
  });

  it('stays until ten minutes after its last NodeClaim', async () => {
    const { clock, pools, claims, pool, claim, measure, seriesOf } = setup();
    const [a, last] = [pool('a'), claim('last', 'a')];
    pools.put(a);
    claims.put(last);
    measure('a');
    await clock.settle();
    pools.remove(a);
    await clock.advance(60 * MINUTE);
    expect(await seriesOf('a')).not.toEqual([]);
    claims.remove(last);
    await clock.advance(9 * MINUTE);
    expect(await seriesOf('a')).not.toEqual([]);
    await clock.advance(2 * MINUTE);
    expect(await seriesOf('a')).toEqual([]);
  });

  it('stays if the NodePool is created again, and ends with its successor', async () => {
    const { clock, pools, pool, measure, seriesOf } = setup();
    const [a, successor] = [pool('a'), pool('a')];
    pools.put(a);
    measure('a');
    await clock.settle();
    pools.remove(a);
    await clock.advance(5 * MINUTE);
    pools.put(successor);
    await clock.advance(60 * MINUTE);
    expect(await seriesOf('a')).not.toEqual([]);
    pools.remove(successor);
    await clock.advance(9 * MINUTE);
    expect(await seriesOf('a')).not.toEqual([]);
    await clock.advance(2 * MINUTE);
    expect(await seriesOf('a')).toEqual([]);
  });
});

it('ends the series of an EC2NodeClass ten minutes after it', async () => {
  const { clock, metrics, classes, nodeClass, seriesOf } = setup();
  const old = nodeClass('old');
  classes.put(old);
  metrics.gauge(BYTES).set({ nodeclass: 'old' }, 1);
  metrics.gauge(BYTES).set({ nodeclass: 'other' }, 1);
  await clock.settle();
  classes.remove(old);
  await clock.advance(11 * MINUTE);
  expect(await seriesOf('old')).toEqual([]);
  expect(await seriesOf('other')).toHaveLength(1);
});

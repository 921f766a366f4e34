import { describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, type NodeClaim, type NodePool, ZONE_LABEL } from '#api/objects';
import { parseAwsSettings } from '#aws/settings';
import type { Commitment } from '#engine/costs';
import type { StateNode } from '#engine/model';
import { silent } from '#observe/logger';
import { CoveredPrices } from '../../../../src/controllers/cost/covered-prices.ts';
import { CostTracker } from '../../../../src/controllers/metrics/cost.ts';
import { partial } from '../../../support/partial.ts';
import { nodePool, pod } from '../../engine/build.ts';
import { stateNode } from '../../engine/disruption/objects.ts';
import { virtualClock } from '../../virtualclock.ts';
import { FakeCloud, instanceType } from '../fake-cloud.ts';

const clock = virtualClock();
const POOL: NodePool = nodePool('default');

const claim = (type: string, labels: Record<string, string> = {}): NodeClaim => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodeClaim',
  metadata: {
    name: type,
    labels: { [INSTANCE_TYPE_LABEL]: type, [ZONE_LABEL]: 'zone-a', [CAPACITY_TYPE_LABEL]: 'on-demand', ...labels },
  },
  spec: { nodeClassRef: POOL.spec.template.spec.nodeClassRef, requirements: [] },
});

function tracking(...args: readonly string[]) {
  const cloud = new FakeCloud(clock);
  cloud.types = [instanceType('cheap', 2, 1), instanceType('dear', 8, 10)];
  let asked = 0;
  const list = cloud.instanceTypes.bind(cloud);
  cloud.instanceTypes = () => {
    asked++;
    return list();
  };
  const nodes = new Map<string, StateNode>();
  return {
    cloud,
    nodes,
    tracker: new CostTracker({
      ...{ cloud, clock, cluster: { nodeOfClaim: ({ metadata }) => nodes.get(metadata.name) } },
      settings: parseAwsSettings(['--cluster-name=test', '--node-hourly-fee=0', ...args], {}),
    }),
    asked: () => asked,
  };
}

describe('the cost of a NodePool', () => {
  it.each([
    'compatible',
    'thorough',
  ])('includes charges and no fee if consolidation is %s, and the metric has the prices of offerings', async (mode) => {
    const two = [claim('cheap'), claim('cheap')];
    const { cloud, tracker } = tracking('--node-hourly-fee=0.25', `--consolidation=${mode}`);
    Object.assign(cloud, { charges: () => ({ volumesUsdPerHour: 0.25, publicIpv4UsdPerHour: 0.125 }) });
    expect(await tracker.usdPerHour(POOL, two)).toBe(2.75);
    expect(await tracker.offeringsUsdPerHour(POOL, two)).toBe(2);
  });

  describe('of a burstable type', () => {
    const cpuBurst = { baseline: 400, utilization: 0.5, usdPerVcpuHour: 0.04 };
    const plain = claim('cheap');
    const launched = { ...plain, spec: { ...plain.spec, resources: { requests: { cpu: '1800m' } } } };
    const burstable = (...args: readonly string[]) => {
      const parts = tracking(...args);
      parts.cloud.types = parts.cloud.types.map((type) => ({ ...type, cpuBurst }));
      return parts;
    };

    it('has surplus CPU credits beside its price, unless decisions are compatible', async () => {
      const [price] = await burstable().tracker.pricesOf(POOL, [launched]);
      expect(price?.usdPerHour).toBe(1);
      expect(price?.surplusCreditsUsdPerHour).toBeCloseTo(0.02, 12);
      const compatible = await burstable('--consolidation=compatible').tracker.pricesOf(POOL, [launched]);
      expect(compatible).toEqual([{ usdPerHour: 1, surplusCreditsUsdPerHour: 0 }]);
    });

    it('follows the pods of the node once it is initialized', async () => {
      const { nodes, tracker } = burstable();
      const node = stateNode('n', { pods: [pod('web', { cpu: '2800m', nodeName: 'n' })] });
      nodes.set('cheap', { ...node, nodeClaim: launched, initialized: false });
      const credits = async () => (await tracker.pricesOf(POOL, [launched]))[0]?.surplusCreditsUsdPerHour;
      expect(await credits()).toBeCloseTo(0.02, 12);
      nodes.set('cheap', { ...node, nodeClaim: launched });
      expect(await credits()).toBeCloseTo(0.04, 12);
      nodes.set('cheap', { ...node, nodeClaim: launched, pods: [] });
      expect(await credits()).toBe(0);
    });
  });

  it('is the sum of the launch prices of its claims', async () => {
    const { tracker } = tracking();
    const spot = claim('dear', { [CAPACITY_TYPE_LABEL]: 'spot' });
    expect(await tracker.usdPerHour(POOL, [claim('cheap'), claim('cheap'), spot])).toBe(6);
  });

  it('is 0 for a claim that is not launched or whose offering is unknown', async () => {
    const { tracker } = tracking();
    const unlaunched: NodeClaim = { ...claim('cheap'), metadata: { name: 'new', labels: {} } };
    expect(await tracker.usdPerHour(POOL, [claim('cheap'), unlaunched, claim('unheard-of')])).toBe(1);
  });

  it('caches only the prices of requested offerings', async () => {
    const { cloud, tracker } = tracking();
    await tracker.usdPerHour(POOL, [claim('cheap')]);
    cloud.types = [instanceType('cheap', 2, 3), instanceType('dear', 8, 12)];
    expect(await tracker.usdPerHour(POOL, [claim('dear')])).toBe(12);
  });

  it('is based on prices that are listed once an hour, and keeps those of removed offerings', async () => {
    const { cloud, tracker, asked } = tracking();
    await tracker.usdPerHour(POOL, [claim('cheap'), claim('dear')]);
    await tracker.usdPerHour(POOL, [claim('cheap')]);
    expect(asked()).toBe(1);
    cloud.types = [instanceType('dear', 8, 12)];
    await clock.advance(3_600_000);
    expect(await tracker.usdPerHour(POOL, [claim('cheap'), claim('dear')])).toBe(13);
    expect(asked()).toBe(2);
  });

  it('is listed again after a minute while a price is missing', async () => {
    const { tracker, asked } = tracking();
    await tracker.usdPerHour(POOL, [claim('unheard-of')]);
    await tracker.usdPerHour(POOL, [claim('unheard-of')]);
    expect(asked()).toBe(1);
    await clock.advance(60_000);
    await tracker.usdPerHour(POOL, [claim('unheard-of')]);
    expect(asked()).toBe(2);
  });
});

describe('the list of prices of the live page', () => {
  const ofNode = (name: string): StateNode => stateNode(name, { type: 'cheap' });
  const claims = ['a', 'b'].map((name) => ({ ...claim('cheap'), status: { providerID: ofNode(name).providerId } }));

  it('excludes the part that commitments cover, and leaves other prices unchanged', async () => {
    const { cloud } = tracking();
    let commitments: readonly Commitment[] = [];
    let reads = 0;
    const cluster = {
      nodes: () => {
        reads++;
        return ['a', 'b'].map(ofNode);
      },
      manages: () => true,
      stores: { nodePools: { list: () => [POOL] }, nodePolicies: { list: () => [] } },
    };
    const deps = { cloud: Object.assign(cloud, { commitments: () => commitments }), clock, cluster, log: silent };
    const covered = new CoveredPrices(partial({ ...deps, settings: parseAwsSettings(['--cluster-name=test'], {}) }));
    const prices = [{ usdPerHour: 1.25 }, undefined];
    expect(await covered.withoutCovered(prices, claims)).toEqual(prices);
    commitments = [{ name: 'plan', kind: 'compute-savings-plan', amount: 0.5, rates: [{ share: 0.5 }] }];
    // the commitments are read again after a while
    expect(await covered.withoutCovered(prices, claims)).toEqual(prices);
    await clock.advance(30_000);
    expect(await covered.withoutCovered(prices, claims)).toEqual([{ usdPerHour: 0.25 }, undefined]);
    await covered.withoutCovered(prices, claims);
    expect(reads).toBe(1);
  });
});

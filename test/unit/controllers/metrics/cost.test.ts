import { describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, ZONE_LABEL } from '../../../../src/api/labels.ts';
import type { NodeClaim } from '../../../../src/api/nodeclaim.ts';
import type { NodePool } from '../../../../src/api/nodepool.ts';
import { CostTracker } from '../../../../src/controllers/metrics/cost.ts';
import { silent } from '../../../../src/observe/logger.ts';
import { parseSettings } from '../../../../src/process/settings.ts';
import { nodePool } from '../../engine/build.ts';
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
  return {
    cloud,
    tracker: new CostTracker({
      cloud,
      clock,
      log: silent,
      settings: parseSettings(['--cluster-name=test', '--node-hourly-fee=0', ...args], {}),
    }),
    asked: () => asked,
  };
}

describe('the cost of a NodePool', () => {
  it('includes what nodes cost besides their instances, but not where decisions are compatible', async () => {
    const two = [claim('cheap'), claim('cheap')];
    expect(await tracking('--node-hourly-fee=0.25').tracker.usdPerHour(POOL, two)).toBe(2.5);
    const compatible = tracking('--node-hourly-fee=0.25', '--consolidation=compatible').tracker;
    expect(await compatible.usdPerHour(POOL, two)).toBe(2);
  });

  it('includes the surplus CPU credits for the requests of claims, but not where decisions are compatible', async () => {
    const cpuCredits = { baseline: 400, utilization: 0.5, usdPerVcpuHour: 0.04 };
    const usdOf = (...args: readonly string[]) => {
      const { cloud, tracker } = tracking(...args);
      cloud.types = cloud.types.map((type) => ({ ...type, cpuCredits }));
      const plain = claim('cheap');
      return tracker.usdPerHour(POOL, [
        { ...plain, spec: { ...plain.spec, resources: { requests: { cpu: '1800m' } } } },
      ]);
    };
    expect(await usdOf()).toBeCloseTo(1.02, 12);
    expect(await usdOf('--consolidation=compatible')).toBe(1);
  });

  it('is the sum of the prices that its claims were bought at', async () => {
    const { tracker } = tracking();
    const spot = claim('dear', { [CAPACITY_TYPE_LABEL]: 'spot' });
    expect(await tracker.usdPerHour(POOL, [claim('cheap'), claim('cheap'), spot])).toBe(6);
  });

  it('counts nothing for a claim that is not launched, or whose offering nobody knows', async () => {
    const { tracker } = tracking();
    const unlaunched: NodeClaim = { ...claim('cheap'), metadata: { name: 'new', labels: {} } };
    expect(await tracker.usdPerHour(POOL, [claim('cheap'), unlaunched, claim('unheard-of')])).toBe(1);
  });

  it('remembers the prices of the offerings that it is about alone', async () => {
    const { cloud, tracker } = tracking();
    await tracker.usdPerHour(POOL, [claim('cheap')]);
    cloud.types = [instanceType('cheap', 2, 3), instanceType('dear', 8, 12)];
    expect(await tracker.usdPerHour(POOL, [claim('dear')])).toBe(12);
  });

  it('asks for prices once an hour, and keeps those of offerings that are gone', async () => {
    const { cloud, tracker, asked } = tracking();
    await tracker.usdPerHour(POOL, [claim('cheap'), claim('dear')]);
    await tracker.usdPerHour(POOL, [claim('cheap')]);
    expect(asked()).toBe(1);
    cloud.types = [instanceType('dear', 8, 12)];
    await clock.advance(3_600_000);
    expect(await tracker.usdPerHour(POOL, [claim('cheap'), claim('dear')])).toBe(13);
    expect(asked()).toBe(2);
  });

  it('asks again after a minute while a price is missing', async () => {
    const { tracker, asked } = tracking();
    await tracker.usdPerHour(POOL, [claim('unheard-of')]);
    await tracker.usdPerHour(POOL, [claim('unheard-of')]);
    expect(asked()).toBe(1);
    await clock.advance(60_000);
    await tracker.usdPerHour(POOL, [claim('unheard-of')]);
    expect(asked()).toBe(2);
  });
});

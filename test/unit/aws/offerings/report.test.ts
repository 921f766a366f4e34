/** Unavailable offerings of each NodePool, and the event that reports a NodePool without offerings. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { NODE_OVERLAY, NODE_POOL, type NodePool } from '#api/objects';
import type { ObstacleCode } from '../../../../src/aws/offerings/offerings.ts';
import type { OutOffering } from '../../../../src/aws/offerings/report.ts';
import { outText } from '../../../../src/aws/offerings/watch.ts';
import { present } from '../../../support/present.ts';
import { Account, only } from '../support/account.ts';

let account: Account;
beforeAll(async () => {
  account = await Account.open();
});
afterAll(() => account.close());

const TYPE = only('node.kubernetes.io/instance-type', 'm5.large');
const ON_DEMAND = only('karpenter.sh/capacity-type', 'on-demand');
const SPOT = only('karpenter.sh/capacity-type', 'spot');

function pool(name: string, ...requirements: NodePool['spec']['template']['spec']['requirements']): void {
  account.kube.put(NODE_POOL, {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name },
    spec: {
      template: {
        spec: { nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' }, requirements },
      },
    },
  });
}

const reportOf = async (name: string) => (await account.offerings()).find(({ nodePool }) => nodePool === name);
const told = () => account.events.map(({ reason, message }) => ({ reason, message }));

describe('the report of the offerings of a NodePool', () => {
  beforeEach(async () => {
    account.events.length = 0;
    account.aws.faults.clear();
    account.clock.forward(3 * 60_000 + 1);
  });

  it('counts offerings, with a reason and an end for unavailable ones', async () => {
    pool('one', TYPE, ON_DEMAND);
    expect(await reportOf('one')).toEqual({ nodePool: 'one', nodeClass: 'default', available: 3, out: [] });

    const zone = `${account.aws.region}a`;
    account.aws.faults.add({ kind: 'capacity', instanceType: 'm5.large', zone });
    const requirements = [TYPE, ON_DEMAND, only('topology.kubernetes.io/zone', zone)];
    await account.provider.create(account.claim(...requirements)).catch(() => undefined);
    const until = new Date(account.clock.now() + 3 * 60_000).getTime();
    const report = await reportOf('one');
    expect(report).toMatchObject({
      available: 2,
      out: [
        {
          instanceType: 'm5.large',
          zone,
          capacityType: 'on-demand',
          code: 'insufficient-capacity',
          reason: 'InsufficientInstanceCapacity',
        },
      ],
    });
    expect(Date.parse(present(report?.out[0]?.until))).toBeGreaterThan(until - 60_000);
    expect(Date.parse(present(report?.out[0]?.until))).toBeLessThanOrEqual(until);
  });

  it('appears on the NodePool when all become unavailable and when some return', async () => {
    pool('two', TYPE, ON_DEMAND);
    await account.reconcile('offerings.watch');
    expect(told()).toEqual([]);

    account.aws.faults.add({ kind: 'capacity', instanceType: 'm5.large' });
    await account.provider.create(account.claim(TYPE, ON_DEMAND)).catch(() => undefined);
    await account.reconcile('offerings.watch');
    expect(told()).toContainEqual({
      reason: 'OfferingsUnavailable',
      message: expect.stringMatching(
        /^No offering that this NodePool allows is available now: 3 of m5.large out of capacity until \S+Z \(InsufficientInstanceCapacity\)$/,
      ),
    });
    account.events.length = 0;
    account.clock.forward(3 * 60_000 + 1);
    await account.reconcile('offerings.watch');
    expect(told()).toContainEqual({
      reason: 'OfferingsAvailable',
      message: '3 offerings that this NodePool allows are available again',
    });
  });

  it('appears while some are short', async () => {
    pool('some', only('node.kubernetes.io/instance-type', 'm5.large', 'm5.xlarge'), ON_DEMAND);
    account.aws.faults.add({ kind: 'capacity', instanceType: 'm5.large' });
    await account.provider.create(account.claim(TYPE, ON_DEMAND)).catch(() => undefined);
    await account.reconcile('offerings.watch');
    expect(told()).toContainEqual({
      reason: 'OfferingsShort',
      message: expect.stringMatching(
        /^3 of 6 offerings that this NodePool allows are available now: 3 of m5\.large out of capacity until /,
      ),
    });
  });

  it('appears if the available offerings do not satisfy minValues', async () => {
    const types = only('node.kubernetes.io/instance-type', 'm5.large', 'c5.large');
    pool('varied', { ...types, minValues: 2 }, ON_DEMAND);
    expect(await reportOf('varied')).not.toHaveProperty('minValuesMissed');
    account.aws.faults.add({ kind: 'capacity', instanceType: 'm5.large' });
    await account.provider.create(account.claim(TYPE, ON_DEMAND)).catch(() => undefined);
    await account.reconcile('offerings.watch');
    expect(await reportOf('varied')).toMatchObject({ minValuesMissed: ['node.kubernetes.io/instance-type'] });
    expect(told()).toContainEqual({
      reason: 'OfferingsUnavailable',
      message: expect.stringMatching(
        /^The 3 available offerings do not satisfy minValues of node\.kubernetes\.io\/instance-type of this NodePool: 3 of m5\.large out of capacity/,
      ),
    });
  });

  it('has an unavailable offering if the spot price is missing', async () => {
    // The local catalogue has no spot prices for some types. All offerings of these types are affected.
    const [missing] = (await reportOf('default'))?.out.filter(({ code }) => code === 'no-spot-price') ?? [];
    expect(missing).toBeDefined();
    const requirements = [
      only('node.kubernetes.io/instance-type', missing?.instanceType ?? ''),
      only('topology.kubernetes.io/zone', missing?.zone ?? ''),
      SPOT,
    ];
    pool('unpriced', ...requirements);
    await account.reconcile('offerings.watch');
    expect(told()).toContainEqual({
      reason: 'OfferingsUnavailable',
      message: `No offering that this NodePool allows is available now: 1 of ${missing?.instanceType} without a spot price`,
    });
    account.kube.put(NODE_POOL, { ...account.nodePool('unpriced'), spec: account.nodePool('default').spec });
    account.events.length = 0;
    await account.reconcile('offerings.watch');
    expect(told().map(({ reason }) => reason)).toContain('OfferingsAvailable');
  });

  it('has the reason if the offerings cannot be listed', async () => {
    const nodePool = account.nodePool('default');
    const { nodeClassRef: _, ...spec } = nodePool.spec.template.spec;
    const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'none' };
    account.kube.put(NODE_POOL, {
      ...nodePool,
      metadata: { name: 'lost' },
      spec: { template: { spec: { ...spec, nodeClassRef } } },
    });
    expect(await reportOf('lost')).toMatchObject({ available: 0, out: [], problem: 'the NodeClass does not exist' });
  });
});

describe('the report of a NodePool that is not Ready', () => {
  it('has the reason for the missing launches', async () => {
    const unready = account.nodePool('default');
    const because = { status: 'False', reason: 'x', lastTransitionTime: '' } as const;
    account.kube.put(NODE_POOL, {
      ...unready,
      metadata: { name: 'unready' },
      status: {
        conditions: [
          { ...because, type: 'ValidationSucceeded', message: 'invalid value: odd' },
          { ...because, type: 'Ready', message: 'ValidationSucceeded=False' },
        ],
      },
    });
    expect(await reportOf('unready')).toMatchObject({ notReady: 'invalid value: odd' });
    expect(await reportOf('default')).not.toHaveProperty('notReady');
  });
});

describe('outText', () => {
  const out = (code: ObstacleCode, more: Partial<OutOffering> = {}): OutOffering => ({
    instanceType: 'm5.large',
    zone: 'a',
    capacityType: 'spot',
    code,
    ...more,
  });
  it('groups by reason, the largest group first, with the earliest end', () => {
    const reason = 'InsufficientInstanceCapacity';
    expect(
      outText([
        out('no-spot-price'),
        out('insufficient-capacity', { reason, until: '2026-06-03T10:32:00.000Z' }),
        out('insufficient-capacity', { reason, until: '2026-06-03T10:31:00.000Z', instanceType: 'c5.large' }),
        out('zonal-shift', { until: '2026-06-04T00:00:00.000Z' }),
      ]),
    ).toBe(
      '2 of c5.large, m5.large out of capacity until 2026-06-03T10:31:00Z (InsufficientInstanceCapacity), 1 of m5.large without a spot price, 1 of m5.large in a zone with a zonal shift until 2026-06-04T00:00:00Z',
    );
  });
});

describe('a NodeOverlay that names a type and its price', () => {
  it('replaces a price that AWS does not return', async () => {
    const overlaid = await Account.open({ flags: ['--feature-gates=NodeOverlay=true'] });
    try {
      const [missing] = (await overlaid.offerings())[0]?.out.filter(({ code }) => code === 'no-spot-price') ?? [];
      const instanceType = missing?.instanceType ?? '';
      overlaid.kube.put(NODE_OVERLAY, {
        apiVersion: 'karpenter.sh/v1alpha1',
        kind: 'NodeOverlay',
        metadata: { name: 'price' },
        spec: { requirements: [only('node.kubernetes.io/instance-type', instanceType)], price: '0.123' },
        status: {
          conditions: [
            { type: 'ValidationSucceeded', status: 'True', reason: '', message: '', lastTransitionTime: '' },
          ],
        },
      });
      overlaid.clock.forward(5 * 60_000);
      const types = await overlaid.provider.instanceTypes(overlaid.nodePool('default'));
      const priced = types
        .find(({ name }) => name === instanceType)
        ?.offerings.filter(({ usdPerHour }) => usdPerHour === 0.123);
      expect(priced?.length).toBeGreaterThan(0);
      expect(priced?.every(({ available }) => available)).toBe(true);
      const [report] = await overlaid.offerings();
      expect(report?.out.filter((each) => each.instanceType === instanceType)).toEqual([]);
    } finally {
      await overlaid.close();
    }
  });
});

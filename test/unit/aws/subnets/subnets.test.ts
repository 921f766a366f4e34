/** The subnet of a launch in each zone, and the expected use of its addresses. */
import { EC2Client } from '@aws-sdk/client-ec2';
import { describe, expect, it } from '@jest/globals';
import type { EC2NodeClass } from '#api/objects';
import type { InstanceType } from '#engine/model';
import { Subnets } from '../../../../src/aws/subnets/subnets.ts';

const only = (key: string, value: string) => ({ key, operator: 'In' as const, values: [value] });

const type = (name: string, pods: number, zones: readonly string[], available = true): InstanceType => ({
  name,
  requirements: [],
  capacity: { pods },
  overhead: { kubeReserved: {}, systemReserved: {}, evictionThreshold: {} },
  offerings: zones.map((zone) => ({
    requirements: [only('karpenter.sh/capacity-type', 'spot'), only('topology.kubernetes.io/zone', zone)],
    usdPerHour: 1,
    available,
  })),
});

async function subnetsOf(free: Record<string, readonly [zone: string, addresses: number]>) {
  let now = 0;
  let described = free;
  const ec2: EC2Client = Object.assign(Object.create(EC2Client.prototype) as EC2Client, {
    send: async () => ({
      Subnets: Object.entries(described).map(([SubnetId, [AvailabilityZone, AvailableIpAddressCount]]) => ({
        SubnetId,
        AvailabilityZone,
        AvailableIpAddressCount,
        MapPublicIpOnLaunch: SubnetId.startsWith('public'),
        ...(SubnetId.startsWith('ipv6') ? {} : { CidrBlock: '10.0.0.0/24' }),
      })),
    }),
  });
  const clock = { now: () => now, sleep: async () => undefined, after: () => () => undefined };
  const subnets = new Subnets(ec2, clock, 60_000);
  const plain: EC2NodeClass = {
    apiVersion: 'karpenter.k8s.aws/v1',
    kind: 'EC2NodeClass',
    metadata: { name: 'default', uid: 'u', generation: 1 },
    spec: { subnetSelectorTerms: [{ tags: { a: 'b' } }], securityGroupSelectorTerms: [], amiSelectorTerms: [] },
  };
  const nodeClass = { ...plain, status: { subnets: [...(await subnets.list(plain))] } };
  return {
    subnets,
    nodeClass,
    choose: (types: readonly InstanceType[] = [type('m5.large', 29, ['a', 'b'])]) =>
      subnets.chooseForLaunch(nodeClass, types, 'spot'),
    chosen: (types?: readonly InstanceType[]) =>
      Object.fromEntries(
        [...subnets.chooseForLaunch(nodeClass, types ?? [type('m5.large', 29, ['a', 'b'])], 'spot')].map(
          ([zone, { id }]) => [zone, id],
        ),
      ),
    again: async (changed: typeof free) => {
      described = changed;
      now += 60_001;
      await subnets.list(plain);
    },
  };
}

describe('the list of subnets of a NodeClass', () => {
  it('has the most free addresses first, then the id', async () => {
    const { nodeClass } = await subnetsOf({ c: ['a', 5], b: ['a', 9], a: ['b', 5] });
    expect(nodeClass.status.subnets.map(({ id }) => id)).toEqual(['b', 'a', 'c']);
  });
});

describe('the share of subnets with public addresses', () => {
  it('is available after they are described', async () => {
    const { subnets, nodeClass } = await subnetsOf({
      public1: ['a', 5],
      private1: ['a', 9],
      private2: ['b', 5],
      public2: ['b', 1],
    });
    expect(subnets.publicShare(nodeClass)).toBe(0.5);
    expect(subnets.publicShare({ ...nodeClass, status: { subnets: [] } })).toBe(0);
    expect(subnets.publicShare({ ...nodeClass, status: { subnets: [{ id: 'public9', zone: 'a' }] } })).toBe(0);
  });
});

describe('a launch', () => {
  it('uses the subnet with the most free addresses of each zone', async () => {
    const { chosen } = await subnetsOf({ small: ['a', 10], large: ['a', 1000], other: ['b', 3] });
    expect(chosen()).toEqual({ a: 'large', b: 'other' });
  });

  it('counts the expected use of earlier launches', async () => {
    const { chosen } = await subnetsOf({ one: ['a', 100], two: ['a', 90] });
    expect(chosen()).toEqual({ a: 'one' });
    expect(chosen()).toEqual({ a: 'two' });
    expect(chosen()).toEqual({ a: 'one' });
  });

  it('is expected to use as many addresses as its smallest possible type in the zone', async () => {
    const { choose } = await subnetsOf({ one: ['a', 100], two: ['b', 100], three: ['c', 100] });
    const zonal = choose([
      type('m5.large', 29, ['a']),
      type('m5.xlarge', 58, ['a', 'b']),
      type('t3.nano', 4, ['b'], false),
    ]);
    expect(Object.fromEntries([...zonal].map(([zone, { predictedIps }]) => [zone, predictedIps]))).toEqual({
      a: 29,
      b: 58,
      c: 0,
    });
  });

  it('releases unused addresses, unless the subnet was described in the meantime', async () => {
    const { subnets, choose, chosen, again } = await subnetsOf({ one: ['a', 100], two: ['a', 90] });
    subnets.releaseUnused([...choose().values()], new Set());
    expect(chosen()).toEqual({ a: 'one' });

    const pending = [...choose().values()];
    expect(pending.map(({ id }) => id)).toEqual(['two']);
    await again({ one: ['a', 50], two: ['a', 40] });
    subnets.releaseUnused(pending, new Set());
    expect(chosen()).toEqual({ a: 'one' });
    expect(chosen()).toEqual({ a: 'two' });
  });

  it('keeps used addresses', async () => {
    const { subnets, choose, chosen } = await subnetsOf({ one: ['a', 100], two: ['a', 90] });
    subnets.releaseUnused([...choose().values()], new Set(['one']));
    expect(chosen()).toEqual({ a: 'two' });
  });

  it('avoids a full subnet until it is described again', async () => {
    const { subnets, chosen, again } = await subnetsOf({ one: ['a', 100], two: ['a', 90] });
    subnets.exhausted('one');
    expect(chosen()).toEqual({ a: 'two' });
    await again({ one: ['a', 100], two: ['a', 90] });
    expect(chosen()).toEqual({ a: 'one' });
  });
});

describe('a subnet with few free addresses', () => {
  it.each([
    { free: 26, scarce: [] },
    { free: 25, scarce: [{ id: 'one', zone: 'a', free: 25, total: 251 }] },
    { free: 0, scarce: [{ id: 'one', zone: 'a', free: 0, total: 251 }] },
  ])('is reported with $free of 251 addresses: $scarce', async ({ free, scarce }) => {
    const { subnets, nodeClass } = await subnetsOf({ one: ['a', free], two: ['b', 200], 'ipv6-only': ['c', 1] });
    expect(subnets.scarce(nodeClass.status.subnets)).toEqual(scarce);
  });

  it('is reported with the addresses that launches will use', async () => {
    const { subnets, nodeClass, choose } = await subnetsOf({ one: ['a', 40] });
    expect(subnets.scarce(nodeClass.status.subnets)).toEqual([]);
    choose();
    expect(subnets.scarce(nodeClass.status.subnets)).toMatchObject([{ id: 'one', free: 11 }]);
  });
});

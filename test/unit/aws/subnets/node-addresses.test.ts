/** Addresses that a node takes from its subnet. */
import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import { describe, expect, it } from '@jest/globals';
import type { DaemonSet, EC2NodeClass } from '#api/objects';
import { silent } from '#observe/logger';
import { addressesOfNode, cniSettings, NodeAddresses } from '../../../../src/aws/subnets/node-addresses.ts';
import { instanceType } from '../../engine/build.ts';

// m5.large
const INFO: InstanceTypeInfo = {
  Hypervisor: 'nitro',
  NetworkInfo: {
    Ipv4AddressesPerInterface: 10,
    DefaultNetworkCardIndex: 0,
    NetworkCards: [{ MaximumNetworkInterfaces: 3 }],
  },
};
const settings = (env: Readonly<Record<string, string>>) =>
  cniSettings(Object.entries(env).map(([name, value]) => ({ name, value })));
const of = (env: Readonly<Record<string, string>>, pods = 29, info = INFO): number =>
  addressesOfNode(info, pods, settings(env));
const PREFIXES = { ENABLE_PREFIX_DELEGATION: 'true' };

describe('the addresses of a node', () => {
  it.each([
    ['two interfaces by default', {}, 20],
    ['all interfaces', { WARM_ENI_TARGET: '5' }, 30],
    ['warm addresses and the first pod', { WARM_IP_TARGET: '3' }, 5],
    ['the least number of addresses', { WARM_IP_TARGET: '1', MINIMUM_IP_TARGET: '12' }, 14],
    ['two blocks with prefixes', PREFIXES, 33],
    ['one block without a warm one', { ...PREFIXES, WARM_PREFIX_TARGET: '0' }, 17],
    ['blocks for warm addresses', { ...PREFIXES, WARM_IP_TARGET: '5' }, 17],
    ['its own address with custom networking', { AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG: 'true' }, 1],
    ['its own address with IPv6', { ENABLE_IPv6: 'true' }, 1],
    ['the defaults for invalid values', { WARM_ENI_TARGET: 'many' }, 20],
  ])('are those of %s', (_, env, expected) => {
    expect(of(env)).toBe(expected);
  });

  it('are limited by the maximum number of pods', () => {
    expect(of(PREFIXES, 8)).toBe(17);
    expect(of({ WARM_IP_TARGET: '100' }, 8)).toBe(9);
  });

  it('are secondary addresses if the instance type lacks prefixes', () => {
    expect(of(PREFIXES, 29, { ...INFO, Hypervisor: 'xen' })).toBe(20);
  });

  it('are one without the plugin', () => {
    expect(addressesOfNode(INFO, 29, undefined)).toBe(1);
  });
});

const TYPE = [instanceType('m5.large', { pods: 29 })];
const nodeClass = (ipPrefixCount?: number): EC2NodeClass =>
  ({ kind: 'EC2NodeClass', spec: { ...(ipPrefixCount !== undefined && { ipPrefixCount }) } }) as EC2NodeClass;

function reader(find: () => Promise<DaemonSet | undefined>) {
  let now = 0;
  const clock = { now: () => now, sleep: async () => undefined, after: () => () => undefined };
  const client = { find } as unknown as ConstructorParameters<typeof NodeAddresses>[0]['client'];
  const addresses = new NodeAddresses({ client, clock, log: silent, infoOf: () => INFO });
  return {
    read: async (prefixCount?: number) => {
      now += 5 * 60_000 + 1;
      await addresses.refresh();
      return addresses.of(nodeClass(prefixCount), TYPE)?.byType.get('m5.large');
    },
  };
}

const plugin = (env: readonly object[]): DaemonSet =>
  ({
    spec: { template: { spec: { containers: [{ name: 'other' }, { name: 'aws-node', env }] } } },
  }) as unknown as DaemonSet;

describe('the settings of the plugin', () => {
  it('are read again, and kept while they cannot be read', async () => {
    const answers: (DaemonSet | undefined | Error)[] = [
      new Error('timeout'),
      plugin([{ name: 'ENABLE_PREFIX_DELEGATION', value: 'true' }]),
      new Error('timeout'),
      plugin([]),
      undefined,
    ];
    const { read } = reader(async () => {
      const next = answers.shift();
      if (next instanceof Error) throw next;
      return next;
    });
    expect(await read()).toBeUndefined();
    expect(await read()).toBe(33);
    expect(await read()).toBe(33);
    expect(await read()).toBe(20);
    expect(await read()).toBe(1);
  });

  it('are at least the prefixes of the EC2NodeClass', async () => {
    expect(await reader(async () => undefined).read(2)).toBe(33);
  });
});

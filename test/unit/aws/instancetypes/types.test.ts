import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import { describe, expect, it } from '@jest/globals';
import type { EC2NodeClass } from '#api/objects';
import { sumOf } from '#engine/model';
import { sumsOf } from '#engine/testing';
import { familyOf } from '../../../../src/aws/amis/families.ts';
import { capacityTerms } from '../../../../src/aws/instancetypes/capacity.ts';
import { canLaunch } from '../../../../src/aws/instancetypes/compatibility.ts';
import { networkBandwidthMbps, typeRequirements } from '../../../../src/aws/instancetypes/labels.ts';
import { eniLimitedPods, podTerms } from '../../../../src/aws/kubelet/pod-limit.ts';
import { recordings } from '../support/recordings.ts';

const instanceTypes: Record<string, InstanceTypeInfo> = recordings().world.instanceTypes;
const info = (name: string): InstanceTypeInfo => instanceTypes[name] ?? {};

const nodeClass = (spec: Partial<EC2NodeClass['spec']> = {}): EC2NodeClass => ({
  apiVersion: 'karpenter.k8s.aws/v1',
  kind: 'EC2NodeClass',
  metadata: { name: 'class' },
  spec: {
    subnetSelectorTerms: [],
    securityGroupSelectorTerms: [],
    amiSelectorTerms: [{ alias: 'al2023@latest' }],
    ...spec,
  },
});
const bottlerocket = { amiSelectorTerms: [{ alias: 'bottlerocket@latest' }] };
const windows = { amiSelectorTerms: [{ alias: 'windows2022@latest' }] };

function labels(name: string, spec = {}): Record<string, string> {
  const context = {
    region: 'us-east-1',
    family: familyOf(nodeClass(spec)),
    zones: [],
    offeredIn: new Set<string>(),
    reservations: [],
  };
  const single = typeRequirements(info(name), context).filter(({ values }) => values?.length === 1);
  return Object.fromEntries(
    single.map(({ key, values }) => [key.replace('karpenter.k8s.aws/instance-', ''), values?.[0] ?? '']),
  );
}

describe('a label of a type', () => {
  it.each<[string, Record<string, string>]>([
    [
      'm7i-flex.large',
      { category: 'm', generation: '7', family: 'm7i-flex', size: 'large', 'capability-flex': 'true' },
    ],
    ['c6i.metal', { hypervisor: '', size: 'metal', 'capability-flex': 'false' }],
    ['g5.12xlarge', { 'gpu-name': 'a10g', 'gpu-count': '4', 'gpu-manufacturer': 'nvidia', 'local-nvme': '3800' }],
    ['inf2.xlarge', { 'accelerator-name': 'inferentia2', 'accelerator-count': '1', 'accelerator-manufacturer': 'aws' }],
    ['m7g.large', { 'kubernetes.io/arch': 'arm64', 'cpu-manufacturer': 'aws' }],
  ])('describes %s', (name, expected) => {
    expect(labels(name)).toMatchObject(expected);
  });

  it('matches no operating system if a Windows image cannot run', () => {
    expect(labels('m5.large', windows)).toMatchObject({
      'kubernetes.io/os': 'windows',
      'node.kubernetes.io/windows-build': '10.0.20348',
    });
    expect(labels('m7g.large', windows)['kubernetes.io/os']).toBeUndefined();
  });
});

describe('the number of pods', () => {
  const pods = (name: string, spec = {}, kubelet = {}, reservedEnis = 0): number =>
    sumOf(podTerms(info(name), nodeClass(spec), kubelet, { family: familyOf(nodeClass(spec)), reservedEnis }));

  it.each([
    ['by interfaces and addresses', pods('m5.large'), 29],
    ['on Windows, a constant', pods('m5.large', windows), 110],
    ['as the user says', pods('m5.large', {}, { maxPods: 42 }), 42],
    ['per core', pods('m5.large', {}, { podsPerCore: 3 }), 6],
    ['per core not on Bottlerocket', pods('m5.large', bottlerocket, { podsPerCore: 3 }), 29],
    ['with an interface reserved', pods('m5.large', {}, {}, 1), 20],
    ['of the default card alone', pods('c6in.32xlarge'), 394],
    ['none without an interface', eniLimitedPods(info('m5.large'), nodeClass(), 3), 0],
  ])('is limited %s', (_, is, expected) => {
    expect(is).toBe(expected);
  });
});

describe('the number of branch network interfaces', () => {
  // Values in the list of AWS. No rule of size is valid for all families.
  it.each([
    ['m5.large', 9],
    ['g5.xlarge', 4],
    ['g5.12xlarge', 107],
    ['i4i.xlarge', 6],
    ['m5.metal', 120],
    ['m7i-flex.large', 3],
    ['c6in.32xlarge', 106],
    ['t3.large', 0],
    ['z9z.large', 0],
    ['nonsense', 0],
  ])('is, for %s: %i', (name, expected) => {
    const context = { family: familyOf(nodeClass()), pods: [], memoryOverheadPercent: 0 };
    const named = { ...info(name), InstanceType: name } as InstanceTypeInfo;
    const capacity = sumsOf(capacityTerms(named, nodeClass(), context));
    expect(capacity['vpc.amazonaws.com/pod-eni']).toBe(expected);
  });
});

describe('the network bandwidth', () => {
  const cards = (...gbps: readonly number[]): InstanceTypeInfo['NetworkInfo'] => ({
    NetworkCards: gbps.map((each) => ({ BaselineBandwidthInGbps: each })),
  });

  it.each<[string, number[], number | undefined]>([
    ['m5.large', [0.75], 750],
    ['c6i.xlarge', [1.5625], 1562],
    ['p4d.24xlarge', [100, 100, 100, 100], 400_000],
    ['c6in.32xlarge', [200, 200], 200_000],
    ['m6idn.metal', [200, 200], 200_000],
    ['c6in.24xlarge', [150], 150_000],
    ['m3.large', [0.7], undefined],
    ['m5.large', [], undefined],
  ])('is that of %s with cards of %j Gbps', (InstanceType, gbps, expected) => {
    expect(networkBandwidthMbps({ InstanceType, NetworkInfo: cards(...gbps) } as InstanceTypeInfo)).toBe(expected);
  });
});

describe('the ephemeral storage', () => {
  const GIB = 2 ** 30;
  const storage = (name: string, spec: Partial<EC2NodeClass['spec']> = {}): number | undefined =>
    sumOf(
      capacityTerms(info(name), nodeClass(spec), {
        ...{ family: familyOf(nodeClass(spec)), pods: [], memoryOverheadPercent: 0 },
      })['ephemeral-storage'],
    );
  const volume = (deviceName: string, volumeSize: string, rootVolume = false) => ({
    deviceName,
    ebs: { volumeSize },
    ...(rootVolume ? { rootVolume } : {}),
  });

  it.each([
    ["is the family's default", storage('m5.large'), 20 * GIB],
    ['is the local disks with RAID0', storage('m6id.large', { instanceStorePolicy: 'RAID0' }), 118e9],
    ['falls back without local disks', storage('m5.large', { instanceStorePolicy: 'RAID0' }), 20 * GIB],
    [
      'is the root volume',
      storage('m5.large', { blockDeviceMappings: [volume('/dev/a', '9Gi', true), volume('/dev/xvda', '8Gi')] }),
      9 * GIB,
    ],
    [
      "is the family's device",
      storage('m5.large', { blockDeviceMappings: [volume('/dev/xvda', '8Gi'), volume('/dev/b', '7Gi')] }),
      8 * GIB,
    ],
    [
      'is the last volume of Custom',
      storage('m5.large', {
        amiFamily: 'Custom',
        blockDeviceMappings: [volume('/dev/a', '8Gi'), volume('/dev/b', '7Gi')],
      }),
      7 * GIB,
    ],
  ])('is that of %s', (_, is, expected) => {
    expect(is).toBe(expected);
  });
});

describe('canLaunch', () => {
  const can = (name: string, spec: Partial<EC2NodeClass['spec']>, strategy?: string): boolean => {
    const group = strategy === undefined ? undefined : { id: 'pg-1', name: 'g', strategy, partitions: 0 };
    return canLaunch(info(name), nodeClass(spec), familyOf(nodeClass(spec)), group);
  };
  const card = (networkCardIndex: number) => [
    { networkCardIndex: 0, deviceIndex: 0, interfaceType: 'interface' as const },
    { networkCardIndex, deviceIndex: 1, interfaceType: 'efa-only' as const },
  ];

  it.each([
    ['anything by default', can('m5.large', {}), true],
    ['no more cards than there are', can('c5n.18xlarge', { networkInterfaces: card(1) }), false],
    ['EFA where there is some', can('p4d.24xlarge', { networkInterfaces: card(1) }), true],
    ['no EFA where there is none', can('m5.large', { networkInterfaces: card(0) }), false],
    ['connection tracking on nitro', can('m5.large', { connectionTracking: { udpTimeout: 40 } }), true],
    ['no connection tracking on bare metal', can('c6i.metal', { connectionTracking: { udpTimeout: 40 } }), false],
    ['no cluster group for flexible types', can('m7i-flex.large', {}, 'cluster'), false],
    [
      'nested virtualisation only where it is known',
      can('m5.large', { cpuOptions: { nestedVirtualization: 'enabled' } }),
      false,
    ],
  ])('allows %s', (_, is, expected) => {
    expect(is).toBe(expected);
  });
});

/** Effect of each setting of a NodeClass and each requirement of a NodeClaim on the launch template. */
import { describe, expect, it } from '@jest/globals';
import type { EC2NodeClass } from '#api/objects';
import type { Offering } from '#engine/model';
import { claimOf, IPV6, nodeClassOf, type Situation, type Spec, templates } from './planned-templates.ts';

const requirement = (key: string, value: string) => ({ key, operator: 'In' as const, values: [value] });
const reserve = (id: string, type: string, interruptible = 'false'): Offering => ({
  requirements: [
    requirement('karpenter.sh/capacity-type', 'reserved'),
    requirement('topology.kubernetes.io/zone', 'us-east-1a'),
    requirement('karpenter.k8s.aws/capacity-reservation-id', id),
    requirement('karpenter.k8s.aws/capacity-reservation-type', type),
    requirement('karpenter.k8s.aws/capacity-reservation-interruptible', interruptible),
  ],
  usdPerHour: 0,
  available: true,
  reservationCapacity: 1,
});
const requests = (name: string) => claimOf({ resources: { requests: { [name]: '1' } } });
const claiming = (drivers: string) => {
  const claim = claimOf();
  return { ...claim, metadata: { ...claim.metadata, annotations: { 'karpenter.sh/requested-dra-drivers': drivers } } };
};
const group = (strategy: string, partitions = 0) => ({ id: 'pg-1', name: 'group', strategy, partitions });
const inPartition = claimOf({
  requirements: [{ key: 'karpenter.k8s.aws/placement-group-partition', operator: 'In', values: ['3', '10'] }],
});
const TRACKING = { tcpEstablishedTimeout: 3600, udpStreamTimeout: 120, udpTimeout: 40 };
const NETWORK: NonNullable<Spec['networkInterfaces']> = [
  { networkCardIndex: 0, deviceIndex: 0, interfaceType: 'interface' },
  { networkCardIndex: 0, deviceIndex: 1, interfaceType: 'efa-only' },
  { networkCardIndex: 1, deviceIndex: 1, interfaceType: 'interface' },
];

const Groups = ['sg-1', 'sg-2'];
const METADATA = {
  HttpEndpoint: 'enabled',
  HttpProtocolIpv6: 'disabled',
  HttpPutResponseHopLimit: 1,
  HttpTokens: 'required',
  InstanceMetadataTags: 'disabled',
};
const NONE = { CapacityReservationSpecification: { CapacityReservationPreference: 'none' } };
const PLAIN = {
  ImageId: 'ami-1',
  IamInstanceProfile: { Name: 'demo_1' },
  MetadataOptions: METADATA,
  Monitoring: { Enabled: false },
  EnclaveOptions: { Enabled: false },
  NetworkInterfaces: [{ DeviceIndex: 0, Groups }],
  Placement: { Tenancy: 'default' },
  TagSpecifications: [{ ResourceType: 'network-interface', Tags: [{ Key: 'team', Value: 'a' }] }],
  ...NONE,
};
const nic = (more: object) => ({ NetworkInterfaces: [{ DeviceIndex: 0, Groups, ...more }] });
const efa = (cards: number) => ({
  NetworkInterfaces: Array.from({ length: cards }, (_, card) => ({
    NetworkCardIndex: card,
    DeviceIndex: card === 0 ? 0 : 1,
    InterfaceType: 'efa',
    Groups,
  })),
});
const target = (id: string) => ({
  CapacityReservationSpecification: {
    CapacityReservationPreference: 'capacity-reservations-only',
    CapacityReservationTarget: { CapacityReservationId: id },
  },
});
const volume = (DeviceName: string, VolumeSize: number) => ({
  DeviceName,
  Ebs: { Encrypted: true, VolumeType: 'gp3', VolumeSize },
});
const ConnectionTrackingSpecification = { TcpEstablishedTimeout: 3600, UdpStreamTimeout: 120, UdpTimeout: 40 };

/** Each situation, with the differences of each required template from the plain template. */
const TEMPLATES: Readonly<Record<string, readonly [Situation, ...object[]]>> = {
  nothing: [{}, {}],
  'a spot launch': [
    { capacityType: 'spot' },
    {
      TagSpecifications: ['network-interface', 'spot-instances-request'].map((ResourceType) => ({
        ResourceType,
        Tags: [{ Key: 'team', Value: 'a' }],
      })),
    },
  ],
  'dedicated tenancy': [{ tenancy: 'dedicated' }, { Placement: { Tenancy: 'dedicated' } }],
  'associatePublicIPAddress true': [
    { spec: { associatePublicIPAddress: true } },
    nic({ AssociatePublicIpAddress: true }),
  ],
  'associatePublicIPAddress false': [
    { spec: { associatePublicIPAddress: false } },
    nic({ AssociatePublicIpAddress: false }),
  ],
  ipPrefixCount: [{ spec: { ipPrefixCount: 3 } }, nic({ Ipv4PrefixCount: 3 })],
  'ipPrefixCount 0': [{ spec: { ipPrefixCount: 0 } }, nic({ Ipv4PrefixCount: 0 })],
  'an IPv6 cluster': [{ cluster: IPV6 }, nic({ Ipv6AddressCount: 1, PrimaryIpv6: true })],
  'ipPrefixCount in an IPv6 cluster': [
    { spec: { ipPrefixCount: 2 }, cluster: IPV6 },
    nic({ Ipv6AddressCount: 1, PrimaryIpv6: true, Ipv6PrefixCount: 2 }),
  ],
  detailedMonitoring: [{ spec: { detailedMonitoring: true } }, { Monitoring: { Enabled: true } }],
  metadataOptions: [
    {
      spec: {
        metadataOptions: {
          httpEndpoint: 'disabled',
          httpProtocolIPv6: 'enabled',
          httpPutResponseHopLimit: 3,
          httpTokens: 'optional',
        },
      },
    },
    {
      MetadataOptions: {
        HttpEndpoint: 'disabled',
        HttpProtocolIpv6: 'enabled',
        HttpPutResponseHopLimit: 3,
        HttpTokens: 'optional',
        InstanceMetadataTags: 'disabled',
      },
    },
  ],
  ...Object.fromEntries(
    ['us-iso-east-1', 'us-iso-west-1', 'us-isob-east-1', 'us-isob-west-1', 'us-isof-south-1', 'us-isof-east-1'].map(
      (region): [string, [Situation, object]] => [
        `metadataOptions in ${region}`,
        [{ region }, { MetadataOptions: { ...METADATA, HttpProtocolIpv6: undefined } }],
      ],
    ),
  ),
  connectionTracking: [{ spec: { connectionTracking: TRACKING } }, nic({ ConnectionTrackingSpecification })],
  'part of connectionTracking': [
    { spec: { connectionTracking: { udpTimeout: 40 } } },
    nic({ ConnectionTrackingSpecification: { UdpTimeout: 40 } }),
  ],
  cpuOptions: [
    { spec: { cpuOptions: { nestedVirtualization: 'enabled' } } },
    { CpuOptions: { NestedVirtualization: 'enabled' } },
  ],
  'cpuOptions without members': [{ spec: { cpuOptions: {} } }, {}],
  networkInterfaces: [
    { spec: { networkInterfaces: NETWORK, connectionTracking: TRACKING, ipPrefixCount: 1 } },
    {
      NetworkInterfaces: [
        {
          NetworkCardIndex: 0,
          DeviceIndex: 0,
          InterfaceType: 'interface',
          Groups,
          Ipv4PrefixCount: 1,
          ConnectionTrackingSpecification,
        },
        { NetworkCardIndex: 0, DeviceIndex: 1, InterfaceType: 'efa-only', Groups },
        {
          NetworkCardIndex: 1,
          DeviceIndex: 1,
          InterfaceType: 'interface',
          Groups,
          Ipv4PrefixCount: 1,
          ConnectionTrackingSpecification,
        },
      ],
    },
  ],
  'networkInterfaces in an IPv6 cluster': [
    { spec: { networkInterfaces: NETWORK.slice(0, 2), associatePublicIPAddress: false }, cluster: IPV6 },
    {
      NetworkInterfaces: [
        {
          NetworkCardIndex: 0,
          DeviceIndex: 0,
          InterfaceType: 'interface',
          Groups,
          AssociatePublicIpAddress: false,
          Ipv6AddressCount: 1,
          PrimaryIpv6: true,
        },
        { NetworkCardIndex: 0, DeviceIndex: 1, InterfaceType: 'efa-only', Groups },
      ],
    },
  ],
  'EFA that is asked for': [
    { typeNames: ['p4d.24xlarge', 'c6in.32xlarge', 'm5.large'], claim: requests('vpc.amazonaws.com/efa') },
    efa(4),
    efa(2),
    {},
  ],
  'EFA for resource claims': [{ typeNames: ['p4d.24xlarge'], claim: claiming('gpu.nvidia.com,dra.net') }, efa(4)],
  'drivers that need no EFA': [{ typeNames: ['p4d.24xlarge'], claim: claiming('gpu.nvidia.com') }, {}],
  'a Nitro enclave that is asked for': [
    { claim: requests('eks.amazonaws.com/nitro-sandbox') },
    { EnclaveOptions: { Enabled: true } },
  ],
  'a cluster placement group': [
    { placementGroup: group('cluster') },
    { Placement: { Tenancy: 'default', GroupId: 'pg-1' } },
  ],
  'a partition placement group': [
    { placementGroup: group('partition', 12) },
    { Placement: { Tenancy: 'default', GroupId: 'pg-1' } },
  ],
  // The first value in text order.
  'partitions that are asked for': [
    { placementGroup: group('partition', 12), claim: inPartition },
    { Placement: { Tenancy: 'default', GroupId: 'pg-1', PartitionNumber: 10 } },
  ],
  'capacity reservations': [
    { capacityType: 'reserved', offerings: [reserve('cr-1', 'default'), reserve('cr-2', 'default')] },
    target('cr-1'),
    target('cr-2'),
  ],
  'a capacity block': [
    { capacityType: 'reserved', offerings: [reserve('cr-1', 'capacity-block')] },
    { ...target('cr-1'), InstanceMarketOptions: { MarketType: 'capacity-block' } },
  ],
  'an interruptible reservation': [
    { capacityType: 'reserved', offerings: [reserve('cr-1', 'default', 'true')] },
    { ...target('cr-1'), InstanceMarketOptions: { MarketType: 'interruptible-capacity-reservation' } },
  ],
  'reservations switched off': [{ reservedCapacity: false }, { CapacityReservationSpecification: undefined }],
  'every block device setting': [
    {
      spec: {
        blockDeviceMappings: [
          {
            deviceName: '/dev/xvda',
            rootVolume: true,
            ebs: {
              deleteOnTermination: true,
              encrypted: true,
              iops: 4000,
              kmsKeyID: 'arn:aws:kms:us-east-1:123456789012:key/1',
              snapshotID: 'snap-1',
              throughput: 250,
              volumeInitializationRate: 200,
              volumeSize: '20G',
              volumeType: 'gp3',
            },
          },
          { deviceName: '/dev/xvdb', ebs: { iops: 0, throughput: 0, volumeSize: '1Ti', encrypted: false } },
        ],
      },
    },
    {
      BlockDeviceMappings: [
        {
          DeviceName: '/dev/xvda',
          Ebs: {
            DeleteOnTermination: true,
            Encrypted: true,
            Iops: 4000,
            KmsKeyId: 'arn:aws:kms:us-east-1:123456789012:key/1',
            SnapshotId: 'snap-1',
            Throughput: 250,
            VolumeInitializationRate: 200,
            VolumeSize: 19,
            VolumeType: 'gp3',
          },
        },
        { DeviceName: '/dev/xvdb', Ebs: { Encrypted: false, VolumeSize: 1024 } },
      ],
    },
  ],
  'volumes of AL2': [{ spec: { amiFamily: 'AL2' } }, { BlockDeviceMappings: [volume('/dev/xvda', 20)] }],
  'volumes of AL2023': [{ spec: { amiFamily: 'AL2023' } }, { BlockDeviceMappings: [volume('/dev/xvda', 20)] }],
  'volumes of Bottlerocket': [
    { spec: { amiFamily: 'Bottlerocket' } },
    { BlockDeviceMappings: [volume('/dev/xvda', 4), volume('/dev/xvdb', 20)] },
  ],
  'volumes of Windows': [{ spec: { amiFamily: 'Windows2022' } }, { BlockDeviceMappings: [volume('/dev/sda1', 50)] }],
};

describe('the launch template', () => {
  it.each(Object.entries(TEMPLATES))('is created with %s', (_, [{ spec = {}, ...situation }, ...differences]) => {
    const made = templates({ spec: { amiFamily: 'Custom', ...spec }, ...situation }).map(({ data }) => data);
    expect(made).toEqual(differences.map((difference) => ({ ...PLAIN, ...difference })));
  });

  it('is not created for a mapping without ebs', () => {
    const spec = { blockDeviceMappings: [{ deviceName: '/dev/xvda' }] };
    expect(() => templates({ spec: { amiFamily: 'Custom', ...spec } })).toThrow(
      'block device mapping "/dev/xvda" has no ebs settings',
    );
  });

  it.each<[string, keyof NonNullable<EC2NodeClass['status']>, string]>([
    ['security groups', 'securityGroups', 'no security groups are present in the status'],
    ['images', 'amis', 'no amis exist given constraints'],
  ])('is not created without %s', (_, member, error) => {
    const nodeClass = nodeClassOf({ amiFamily: 'Custom' });
    const status = { ...nodeClass.status, [member]: [] };
    expect(() => templates({ nodeClass: { ...nodeClass, status } })).toThrow(error);
  });

  it('waits for the cluster CIDR if the family needs it', () => {
    expect(() => templates({ spec: { amiFamily: 'AL2023' }, cidr: undefined })).toThrow('resolving cluster CIDR');
  });
});

/**
 * What each image family is started with, option by option (golden texts, to be read when they change), and what each
 * setting of a NodeClass puts into the launch template.
 */
import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import type { AmiFamily, EC2NodeClass } from '../../../src/api/ec2-nodeclass.ts';
import type { NodeClaim } from '../../../src/api/nodeclaim.ts';
import { familyOf } from '../../../src/aws/amis/families.ts';
import { capacityOf } from '../../../src/aws/instancetypes/capacity.ts';
import { typeRequirements } from '../../../src/aws/instancetypes/labels.ts';
import { parseKubelet } from '../../../src/aws/kubelet/block.ts';
import { resolveReserved } from '../../../src/aws/kubelet/expressions.ts';
import { podLimit } from '../../../src/aws/kubelet/pod-limit.ts';
import { planTemplates, type TemplatePlanInput } from '../../../src/aws/launchtemplates/plan.ts';
import type { InstanceType, Offering } from '../../../src/engine/model.ts';
import { decodeUserData } from '../../../src/local/kubernetes/kubelets/userdata/index.ts';
import { silent } from '../../../src/observe/logger.ts';
import { recordings } from './support/recordings.ts';

const infos: Record<string, InstanceTypeInfo> = recordings().world.instanceTypes;
const CLUSTER = { name: 'demo', endpoint: 'https://cluster.example', caBundle: 'Y2VydA==', dnsIp: '10.100.0.10' };
const IPV6 = { ...CLUSTER, dnsIp: 'fd00::a' };

type Spec = Partial<EC2NodeClass['spec']>;

function nodeClassOf(spec: Spec): EC2NodeClass {
  return {
    apiVersion: 'karpenter.k8s.aws/v1',
    kind: 'EC2NodeClass',
    metadata: { name: 'golden' },
    spec: {
      role: 'node-role',
      subnetSelectorTerms: [{ id: 'subnet-1' }],
      securityGroupSelectorTerms: [{ id: 'sg-1' }],
      amiSelectorTerms: [{ id: 'ami-1' }],
      metadataOptions: {
        httpEndpoint: 'enabled',
        httpProtocolIPv6: 'disabled',
        httpPutResponseHopLimit: 1,
        httpTokens: 'required',
      },
      ...spec,
    },
    status: {
      subnets: [{ id: 'subnet-1', zone: 'us-east-1a', zoneID: 'use1-az6' }],
      securityGroups: [
        { id: 'sg-1', name: 'one' },
        { id: 'sg-2', name: 'two' },
      ],
      amis: [{ id: 'ami-1', name: 'image', requirements: [] }],
      instanceProfile: 'demo_1',
    },
  };
}

const claimOf = (spec: Partial<NodeClaim['spec']> = {}): NodeClaim => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodeClaim',
  metadata: { name: 'golden-1', labels: { 'karpenter.sh/nodepool': 'golden', 'kubernetes.io/arch': 'amd64' } },
  spec: {
    nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'golden' },
    requirements: [],
    ...spec,
  },
});

function typeOf(name: string, nodeClass: EC2NodeClass, offerings: readonly Offering[]): InstanceType {
  const info = infos[name] ?? {};
  const family = familyOf(nodeClass);
  const kubelet = parseKubelet(nodeClass.spec.kubelet);
  const pods = podLimit(info, nodeClass, kubelet, { family, reservedEnis: 0 });
  return {
    name,
    requirements: typeRequirements(info, {
      region: 'us-east-1',
      family,
      zones: [],
      offeredIn: new Set(),
      reservations: [],
    }),
    capacity: capacityOf(info, nodeClass, { family, pods, memoryOverheadPercent: 0.075 }),
    overhead: { kubeReserved: {}, systemReserved: {}, evictionThreshold: {} },
    offerings,
  };
}

interface Situation extends Partial<TemplatePlanInput> {
  readonly spec?: Spec;
  readonly types?: never;
  readonly typeNames?: readonly string[];
  readonly offerings?: readonly Offering[];
  /** Name of the NodeClass. */
  readonly named?: string;
}

function planned({ spec = {}, typeNames = ['m5.large'], offerings = [], named, ...more }: Situation) {
  const plain = nodeClassOf(spec);
  const nodeClass = named === undefined ? plain : { ...plain, metadata: { name: named } };
  return planTemplates({
    nodeClass,
    claim: claimOf(),
    types: typeNames.map((name) => typeOf(name, nodeClass, offerings)),
    capacityType: 'on-demand',
    tenancy: 'default',
    tags: { team: 'a' },
    placementGroup: undefined,
    cluster: CLUSTER,
    cidr: '10.100.0.0/16',
    region: 'us-east-1',
    reservedCapacity: true,
    reservedOf: () => resolveReserved(parseKubelet(nodeClass.spec.kubelet)),
    log: silent,
    ...(more as Partial<TemplatePlanInput>),
  });
}

/** The data of the templates that a launch needs, user data apart and decoded. */
function templates(situation: Situation) {
  return planned(situation).map(({ template }) => {
    const { UserData = '', ...data } = template.data;
    return { userData: Buffer.from(UserData, 'base64').toString(), data };
  });
}

const userDataOf = (situation: Situation): string => templates(situation)[0]?.userData ?? '';

const EVERY_KUBELET_FIELD = {
  clusterDNS: ['10.0.0.99'],
  maxPods: 42,
  podsPerCore: 10,
  systemReserved: { cpu: '100m', memory: '100Mi' },
  kubeReserved: { cpu: '200m', 'ephemeral-storage': '2Gi' },
  evictionHard: { 'memory.available': '5%', 'nodefs.available': '1Gi' },
  evictionSoft: { 'memory.available': '10%' },
  evictionSoftGracePeriod: { 'memory.available': '60s' },
  evictionMaxPodGracePeriod: 30,
  imageGCHighThresholdPercent: 85,
  imageGCLowThresholdPercent: 80,
  cpuCFSQuota: false,
};
const { podsPerCore: _, ...FOR_BOTTLEROCKET } = EVERY_KUBELET_FIELD;

const SCRIPT = '#!/bin/bash\necho "before the node joins"\n';
const MIME = [
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary="BOUNDARY"',
  '',
  '--BOUNDARY',
  'content-type: text/x-shellscript; charset="us-ascii"',
  'MIME-Version: 1.0',
  '',
  SCRIPT,
  '--BOUNDARY',
  'Content-Type: text/cloud-config',
  'Content-Transfer-Encoding: quoted-printable',
  '',
  'packages: [a=3Db]',
  '--BOUNDARY--',
  '',
].join('\r\n');
const NODE_CONFIG =
  'apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config:\n      shutdownGracePeriod: 30s\n';
const TOML = `
[settings.kubernetes]
max-pods = 7
cluster-name = "theirs"
container-log-max-files = 9
nonsense = true

[settings.kubernetes.node-labels]
"team" = "a"
"karpenter.sh/nodepool" = "theirs"

[settings.kubernetes.node-taints]
theirs = ["true:NoSchedule"]

[settings.kubernetes.credential-providers.ecr-credential-provider]
enabled = true
image-patterns = ["*.dkr.ecr.*.amazonaws.com"]
unheard-of = 1

[settings.kernel.sysctl]
"vm.max_map_count" = "262144"

[settings.bootstrap-commands.first]
commands = [["apiclient", "set", "motd=hello"]]
mode = "once"
essential = false

[unsettled]
ignored = true
`;

const TAINTED: Partial<NodeClaim['spec']> = {
  taints: [
    { key: 'dedicated', value: 'db', effect: 'NoSchedule' },
    { key: 'dedicated', effect: 'NoExecute' },
  ],
  startupTaints: [{ key: 'cni', value: 'starting', effect: 'NoSchedule' }],
};

interface Family {
  readonly name: AmiFamily;
  readonly kubelet: NonNullable<EC2NodeClass['spec']['kubelet']>;
  /** User data that the family merges with its own. */
  readonly custom: Readonly<Record<string, string>>;
}

const scripts = { script: SCRIPT, archive: MIME };
const powershell = { commands: 'Write-Host "before the node joins"' };
const FAMILIES: readonly Family[] = [
  { name: 'AL2', kubelet: EVERY_KUBELET_FIELD, custom: scripts },
  {
    name: 'AL2023',
    kubelet: { ...EVERY_KUBELET_FIELD, shutdownGracePeriod: '1m' },
    custom: {
      ...scripts,
      NodeConfig: NODE_CONFIG,
      'comments alone': '# nothing yet\n',
    },
  },
  { name: 'Bottlerocket', kubelet: FOR_BOTTLEROCKET, custom: { settings: TOML } },
  { name: 'Windows2019', kubelet: EVERY_KUBELET_FIELD, custom: powershell },
  { name: 'Windows2022', kubelet: EVERY_KUBELET_FIELD, custom: powershell },
  { name: 'Windows2025', kubelet: EVERY_KUBELET_FIELD, custom: powershell },
];

describe.each(FAMILIES)('user data of $name', ({ name: amiFamily, kubelet, custom }) => {
  const situations: Readonly<Record<string, Situation>> = {
    plain: { spec: { amiFamily } },
    'every kubelet field': { spec: { amiFamily, kubelet } },
    'local disks': { spec: { amiFamily, instanceStorePolicy: 'RAID0' } },
    'taints and labels': { spec: { amiFamily }, claim: claimOf(TAINTED), capacityType: 'spot' },
    'neither CA nor DNS': { spec: { amiFamily }, cluster: { ...CLUSTER, caBundle: undefined, dnsIp: undefined } },
    IPv6: { spec: { amiFamily }, cluster: IPV6 },
    ...Object.fromEntries(
      Object.entries(custom).map(([what, userData]) => [`with custom ${what}`, { spec: { amiFamily, userData } }]),
    ),
  };

  it.each(Object.entries(situations))('%s', (_, situation) => {
    const text = userDataOf(situation);
    expect(text).toMatchSnapshot();

    // A machine of the local world that gets it comes up as the NodeClaim says.
    const node = decodeUserData(text);
    const unregistered = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' };
    const { taints = [], startupTaints = [] } = situation.claim?.spec ?? {};
    const inOrder = (list: readonly object[]) => list.map((each) => JSON.stringify(each)).sort();
    expect(node).toMatchObject({
      clusterName: 'demo',
      endpoint: 'https://cluster.example',
      labels: {
        'karpenter.sh/nodepool': 'golden',
        'karpenter.sh/capacity-type': situation.capacityType ?? 'on-demand',
        'karpenter.sh/do-not-sync-taints': 'true',
      },
      maxPods: situation.spec?.kubelet === undefined ? (amiFamily.startsWith('Windows') ? 110 : 29) : 42,
    });
    expect(node.labels).not.toHaveProperty('kubernetes.io/arch');
    const plain = node.taints.map(({ key, value, effect }) => ({ key, ...(value ? { value } : {}), effect }));
    expect(inOrder(plain)).toEqual(inOrder([...taints, ...startupTaints, unregistered]));
  });
});

describe('user data of AL2023 as YAML 1.1, which nodeadm reads', () => {
  it.each([
    'yes',
    'No',
    'on',
    'off',
    'y',
    'N',
    '1_000',
    '0b11',
    '12:30:45',
    '0o14',
    '1e3',
    '2001-01-01',
    'true',
    '7',
  ])('keeps the value %s of a taint a text', (value) => {
    const taint = { key: 'dedicated', value, effect: 'NoSchedule' as const };
    const text = userDataOf({ spec: { amiFamily: 'AL2023' }, claim: claimOf({ taints: [taint] }) });
    const [, config = ''] = /(# Karpenter Generated[\s\S]*?)\n--/.exec(text) ?? [];
    for (const version of ['1.1', '1.2'] as const)
      expect(parse(config, { version }).spec.kubelet.config.registerWithTaints).toContainEqual(taint);
  });
});

describe('user data of AL2023 that is not a mapping', () => {
  it.each<[string, string, string]>([
    ['several documents', `${NODE_CONFIG}---\n${NODE_CONFIG}`, 'application/node.eks.aws'],
    ['a list', '- one\n- two\n', 'text/x-shellscript; charset="us-ascii"'],
    ['plain text', 'echo hello\n', 'text/x-shellscript; charset="us-ascii"'],
    ['what is not YAML', 'a: b: c\n\t- [\n', 'text/x-shellscript; charset="us-ascii"'],
  ])('is taken for what its beginning is: %s', (_, userData, type) => {
    const text = userDataOf({ spec: { amiFamily: 'AL2023', userData } });
    expect(text).toContain(`--//\nContent-Type: ${type}\n\n${userData}\n--//\n`);
  });
});

describe('user data of Bottlerocket with local disks', () => {
  it.each<[string, Spec, boolean]>([
    ['an alias of now', { amiSelectorTerms: [{ alias: 'bottlerocket@latest' }] }, false],
    ['an alias of 1.46', { amiSelectorTerms: [{ alias: 'bottlerocket@v1.46.0' }] }, false],
    ['an alias of 1.45', { amiSelectorTerms: [{ alias: 'bottlerocket@1.45.2' }] }, true],
    ['a name of 1.50', { amiSelectorTerms: [{ name: 'bottlerocket-aws-k8s-1.34-x86_64-v1.50.0-abc' }] }, false],
    ['a name without a patch', { amiSelectorTerms: [{ name: 'bottlerocket-aws-k8s-1.34-x86_64-v1.50' }] }, true],
    ['an id that tells nothing', { amiSelectorTerms: [{ id: 'ami-1' }] }, true],
  ])('names the directories unless the image knows them: %s', (_, spec, named) => {
    const text = userDataOf({ spec: { amiFamily: 'Bottlerocket', instanceStorePolicy: 'RAID0', ...spec } });
    expect(text.includes('--dirs')).toBe(named);
  });
});

describe('user data of Custom', () => {
  it.each([SCRIPT, ''])('is %j as it stands', (userData) => {
    const spec: Spec = { amiFamily: 'Custom', userData, kubelet: EVERY_KUBELET_FIELD, instanceStorePolicy: 'RAID0' };
    expect(userDataOf({ spec, claim: claimOf(TAINTED) })).toBe(userData);
  });
});

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
const group = (strategy: string, partitions = 0) => ({ id: 'pg-1', name: 'group', strategy, partitions });
const inPartition = claimOf({
  requirements: [{ key: 'karpenter.k8s.aws/placement-group-partition', operator: 'In', values: ['3', '10'] }],
});
const ZONE = { key: 'topology.kubernetes.io/zone', operator: 'In', values: ['us-east-1b'] } as const;
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

/** Each situation, with what differs from the plain template in each of those that a launch needs. */
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
  // The first in the order of text.
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
  it.each(Object.entries(TEMPLATES))('with %s', (_, [{ spec = {}, ...situation }, ...differences]) => {
    const made = templates({ spec: { amiFamily: 'Custom', ...spec }, ...situation }).map(({ data }) => data);
    expect(made).toEqual(differences.map((difference) => ({ ...PLAIN, ...difference })));
  });

  it('is not made of a mapping without ebs', () => {
    const spec = { blockDeviceMappings: [{ deviceName: '/dev/xvda' }] };
    expect(() => templates({ spec: { amiFamily: 'Custom', ...spec } })).toThrow(
      'block device mapping "/dev/xvda" has no ebs settings',
    );
  });

  it.each<[string, keyof NonNullable<EC2NodeClass['status']>, string]>([
    ['security groups', 'securityGroups', 'no security groups are present in the status'],
    ['images', 'amis', 'no amis exist given constraints'],
  ])('is not made without %s', (_, member, error) => {
    const nodeClass = nodeClassOf({ amiFamily: 'Custom' });
    const status = { ...nodeClass.status, [member]: [] };
    expect(() => templates({ nodeClass: { ...nodeClass, status } })).toThrow(error);
  });

  it('waits for the cluster CIDR where the family needs it', () => {
    expect(() => templates({ spec: { amiFamily: 'AL2023' }, cidr: undefined })).toThrow('resolving cluster CIDR');
  });
});

describe('the name of a launch template', () => {
  const nameOf = (situation: Situation): string => planned(situation)[0]?.template.name ?? '';
  const labelled = { ...claimOf(), metadata: { ...claimOf().metadata, labels: { team: 'b' } } };

  it('is a number of 64 bits', () => {
    expect(nameOf({})).toMatch(/^karpenter\.k8s\.aws\/\d{1,20}$/);
  });

  it.each<[string, Situation]>([
    ['other instance types that need the same', { typeNames: ['m6i.large'] }],
    ['other terms of selection', { spec: { subnetSelectorTerms: [{ id: 'subnet-9' }] } }],
    ['a claim for another zone', { claim: claimOf({ requirements: [ZONE] }) }],
    ['other labels, which custom user data leaves out', { claim: labelled }],
    ['another CA, which custom user data leaves out', { cluster: { ...CLUSTER, caBundle: 'bm9uZQ==' } }],
  ])('stays the same with %s', (_, situation) => {
    const custom = { ...situation, spec: { amiFamily: 'Custom' as const, ...situation.spec } };
    expect(nameOf(custom)).toBe(nameOf({ spec: { amiFamily: 'Custom' } }));
  });

  it.each<[string, Situation]>([
    ['another NodeClass', { named: 'other' }],
    ['another capacity type', { capacityType: 'spot' }],
    ['another tenancy', { tenancy: 'dedicated' }],
    ['another cluster', { cluster: { ...CLUSTER, name: 'other' } }],
    ['another endpoint', { cluster: { ...CLUSTER, endpoint: 'https://other.example' } }],
    ['another DNS', { cluster: { ...CLUSTER, dnsIp: '10.100.0.11' } }],
    ['another network', { cidr: '10.101.0.0/16' }],
    ['another policy for local disks', { spec: { instanceStorePolicy: 'RAID0' } }],
    ['other tags', { tags: { team: 'b' } }],
    ['other user data', { spec: { userData: 'echo' } }],
  ])('differs with %s', (_, situation) => {
    const custom = { ...situation, spec: { amiFamily: 'Custom' as const, ...situation.spec } };
    expect(nameOf(custom)).not.toBe(nameOf({ spec: { amiFamily: 'Custom' } }));
  });

  it('differs with labels and CA where user data has them', () => {
    const al2023 = { spec: { amiFamily: 'AL2023' as const } };
    const others = [{ claim: labelled }, { cluster: { ...CLUSTER, caBundle: 'bm9uZQ==' } }, {}];
    expect(new Set(others.map((other) => nameOf({ ...al2023, ...other }))).size).toBe(3);
  });
});

/** EC2NodeClass: configuration of nodes on EC2. */
import {
  ALIAS_FAMILIES,
  type AliasFamily,
  AMI_FAMILIES,
  amiSelectorTerms,
  capacityReservationSelectorTerms,
  familyExpression,
  placementGroupSelector,
  securityGroupSelectorTerms,
  subnetSelectorTerms,
} from './ec2-selectors.ts';
import { AWS_GROUP } from './labels.ts';
import {
  type CelRule,
  choice,
  type Declared,
  flag,
  int32,
  int64,
  list,
  object,
  openObject,
  optional,
  patternLike,
  rule,
  stringMap,
  text,
  time,
} from './schema/declare.ts';
import { columns, type Resource, type ResourceDeclaration } from './schema/resource.ts';
import { conditions, OPERATORS } from './shapes.ts';

/** Tags that the operator itself sets. */
const OWN_TAGS = ['karpenter.sh/nodepool', 'karpenter.sh/nodeclaim', 'karpenter.k8s.aws/ec2nodeclass'] as const;

const restrictedTag = (condition: string, shown: string): CelRule =>
  rule(`self.all(key, ${condition})`, `tag contains a restricted tag matching ${shown}`);

const tags = stringMap({
  description: 'Additional tags of instances, volumes, network interfaces and launch templates.',
  rules: [
    rule("self.all(key, key != '')", "empty tag keys aren't supported"),
    restrictedTag("key != 'eks:eks-cluster-name'", 'eks:eks-cluster-name'),
    restrictedTag("!key.startsWith('kubernetes.io/cluster')", 'kubernetes.io/cluster/'),
    ...OWN_TAGS.map((own) => restrictedTag(`key != '${own}'`, own)),
  ],
});

const VOLUME_SIZE =
  '^((?:[1-9][0-9]{0,3}|[1-4][0-9]{4}|[5][0-8][0-9]{3}|59000)Gi|(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|[6][0-3][0-9]{3}|64000)G|([1-9]||[1-5][0-7]|58)Ti|([1-9]||[1-5][0-9]|6[0-3]|64)T)$';

const blockDevice = object(
  {
    deleteOnTermination: optional(flag({ description: 'If true, the volume is deleted with the instance.' })),
    encrypted: optional(flag({ description: 'If true, the volume is encrypted.' })),
    iops: optional(int64({ description: 'Number of I/O operations per second.' })),
    kmsKeyID: optional(text({ description: 'ID of the KMS key that encrypts the volume.' })),
    snapshotID: optional(text({ description: 'ID of the snapshot from which the volume is created.' })),
    throughput: optional(int64({ description: 'Throughput in MiB/s, for gp3 volumes.' })),
    volumeInitializationRate: optional(
      int32({
        description: 'Rate in MiB/s at which the snapshot is copied to the volume.',
        minimum: 100,
        maximum: 300,
      }),
    ),
    volumeSize: optional(
      text({ description: 'Size of the volume, in Gi, G, Ti or T.', pattern: patternLike(VOLUME_SIZE, '100Gi') }),
    ),
    volumeType: optional(
      choice(['standard', 'io1', 'io2', 'gp2', 'sc1', 'st1', 'gp3'], { description: 'Type of the volume.' }),
    ),
  },
  {
    description: 'EBS volume of the device.',
    rules: [
      rule('has(self.snapshotID) || has(self.volumeSize)', 'snapshotID or volumeSize must be defined'),
      rule(
        "!has(self.volumeInitializationRate) || (has(self.snapshotID) && self.snapshotID != '')",
        'snapshotID must be set when volumeInitializationRate is set',
      ),
    ],
  },
);

const blockDeviceMappings = list(
  object({
    deviceName: optional(text({ description: 'Name of the device, such as `/dev/xvda`.' })),
    rootVolume: optional(
      flag({
        description:
          "If true, the volume contains the kubelet's root directory, and its size is the ephemeral storage of the node.",
      }),
    ),
    ebs: optional(blockDevice),
  }),
  {
    description: 'Volumes of the instances. They replace the default volumes of the AMI family.',
    maxItems: 50,
    rules: [
      rule(
        'self.filter(x, has(x.rootVolume) && x.rootVolume).size() <= 1',
        'must have only one blockDeviceMappings with rootVolume',
      ),
    ],
  },
);

const networkInterfaces = list(
  object({
    networkCardIndex: int32({ description: 'Index of the network card of the instance.', minimum: 0 }),
    deviceIndex: int32({ description: 'Index of the device on the network card.', minimum: 0 }),
    interfaceType: choice(['interface', 'efa-only'], { description: 'Type of the interface.' }),
  }),
  {
    description: 'Network interfaces of the instances. They replace the default interfaces of the instance type.',
    maxItems: 150,
    rules: [
      rule(
        "self.size() == 0 || self.exists(x, x.networkCardIndex == 0 && x.deviceIndex == 0 && x.interfaceType == 'interface')",
        "networkInterfaces must include a primary interface with interfaceType='interface'",
      ),
      rule(
        'self.all(x, self.exists_one(y, x.networkCardIndex == y.networkCardIndex && x.deviceIndex == y.deviceIndex)' +
          " && (x.interfaceType != 'efa-only' ||" +
          " self.exists_one(y, x.networkCardIndex == y.networkCardIndex && y.interfaceType == 'efa-only')))",
        'networkInterfaces must not have duplicate networkCardIndex and deviceIndex pairs, and can have at most one efa device per network card',
      ),
    ],
  },
);

const metadataOptions = object(
  {
    httpEndpoint: optional(
      choice(['enabled', 'disabled'], {
        description: 'Enables the HTTP endpoint of the instance metadata service.',
        default: 'enabled',
      }),
    ),
    httpProtocolIPv6: optional(
      choice(['enabled', 'disabled'], {
        description: 'Enables the IPv6 endpoint of the instance metadata service.',
        default: 'disabled',
      }),
    ),
    httpPutResponseHopLimit: optional(
      int64({
        description: 'Maximum number of network hops of token responses. Pods without host network need 2.',
        default: 1,
        minimum: 1,
        maximum: 64,
      }),
    ),
    httpTokens: optional(
      choice(['required', 'optional'], {
        description: 'Requires session tokens (IMDSv2), or makes them optional.',
        default: 'required',
      }),
    ),
  },
  {
    description: 'Options of the instance metadata service.',
    default: {
      httpEndpoint: 'enabled',
      httpProtocolIPv6: 'disabled',
      httpPutResponseHopLimit: 1,
      httpTokens: 'required',
    },
  },
);

const seconds = (description: string, minimum: number, maximum: number) =>
  optional(int32({ description: `${description}, in seconds.`, minimum, maximum }));

const connectionTracking = object(
  {
    tcpEstablishedTimeout: seconds('Timeout of idle established TCP connections', 60, 432_000),
    udpStreamTimeout: seconds('Timeout of idle UDP streams', 60, 180),
    udpTimeout: seconds('Timeout of idle UDP flows with a single request and response', 30, 60),
  },
  {
    description: 'Idle timeouts of tracked connections.',
    rules: [
      rule(
        'has(self.tcpEstablishedTimeout) || has(self.udpStreamTimeout) || has(self.udpTimeout)',
        'at least one of tcpEstablishedTimeout, udpStreamTimeout, or udpTimeout must be set',
      ),
    ],
  },
);

const aliasFamilyRule = (family: AliasFamily): CelRule =>
  rule(
    `!has(self.amiFamily) || self.amiFamily in ['${family}', 'Custom'] || ` +
      `!self.amiSelectorTerms.exists(x, has(x.alias) && ${familyExpression('x.alias')} == '${family.toLowerCase()}')`,
    `if set, amiFamily must be '${family}' or 'Custom' when using ${family.startsWith('A') ? 'an' : 'a'} ${family} alias`,
  );

const ec2NodeClassSpec = object(
  {
    subnetSelectorTerms,
    securityGroupSelectorTerms,
    amiSelectorTerms,
    capacityReservationSelectorTerms: optional(capacityReservationSelectorTerms),
    placementGroupSelector: optional(placementGroupSelector),
    amiFamily: optional(
      choice(AMI_FAMILIES, {
        description:
          'AMI family, which determines user data and default volumes. If it is not set, it is the family of the alias.',
      }),
    ),
    userData: optional(
      text({
        description:
          'User data of the instances. It is merged with the user data of the AMI family, unless the family is Custom.',
      }),
    ),
    role: optional(
      text({
        description: 'IAM role of the nodes. An instance profile is created for it.',
        rules: [rule("self != ''", 'role cannot be empty')],
      }),
    ),
    instanceProfile: optional(
      text({
        description: 'Instance profile of the nodes. Set it instead of a role.',
        rules: [rule("self != ''", 'instanceProfile cannot be empty')],
      }),
    ),
    associatePublicIPAddress: optional(
      flag({
        description: 'If true, instances get a public IP address. If it is not set, the setting of the subnet applies.',
      }),
    ),
    ipPrefixCount: optional(
      int32({ description: 'Number of IP prefixes of the primary network interface.', minimum: 0 }),
    ),
    tags: optional(tags),
    kubelet: optional(
      openObject({
        description:
          'Settings of the kubelet, as in KubeletConfiguration: clusterDNS, maxPods, podsPerCore, systemReserved, kubeReserved, evictionHard, evictionSoft, evictionSoftGracePeriod, evictionMaxPodGracePeriod, imageGCHighThresholdPercent, imageGCLowThresholdPercent, cpuCFSQuota.',
      }),
    ),
    blockDeviceMappings: optional(blockDeviceMappings),
    instanceStorePolicy: optional(
      choice(['RAID0'], { description: 'Use of local disks. RAID0 combines them to one volume for pods and images.' }),
    ),
    networkInterfaces: optional(networkInterfaces),
    detailedMonitoring: optional(flag({ description: 'Enables detailed monitoring, with metrics every minute.' })),
    metadataOptions: optional(metadataOptions),
    connectionTracking: optional(connectionTracking),
    context: optional(text({ description: 'Context of the EC2 fleet request.' })),
    cpuOptions: optional(
      object(
        {
          nestedVirtualization: optional(
            choice(['enabled', 'disabled'], { description: 'Enables virtual machines on instances.' }),
          ),
        },
        { description: 'CPU options of the instances.' },
      ),
    ),
  },
  {
    description: 'Desired state.',
    rules: [
      rule('has(self.role) != has(self.instanceProfile)', "must specify exactly one of ['role', 'instanceProfile']"),
      ...ALIAS_FAMILIES.map(aliasFamilyRule),
      rule(
        'has(self.amiFamily) || self.amiSelectorTerms.exists(x, has(x.alias))',
        'must specify amiFamily if amiSelectorTerms does not contain an alias',
      ),
    ],
  },
);

const amiStatus = object({
  id: text({ description: 'ID of the image.' }),
  name: optional(text({ description: 'Name of the image.' })),
  deprecated: optional(flag({ description: 'If true, the image is deprecated.' })),
  requirements: list(
    object({
      key: text({ description: 'Key of the label.' }),
      operator: choice(OPERATORS, { description: 'Operator that compares the label with the values.' }),
      values: optional(list(text(), { description: 'Values for the comparison.', merge: 'atomic' })),
    }),
    { description: 'Requirements of instance types that can use the image.' },
  ),
});

const capacityReservationStatus = object({
  id: text({ description: 'ID of the reservation.', pattern: patternLike('^cr-[0-9a-z]+$', 'cr-0123456789abcdef0') }),
  availabilityZone: text({ description: 'Zone of the reservation.' }),
  instanceType: text({ description: 'Instance type of the reservation.' }),
  instanceMatchCriteria: choice(['open', 'targeted'], {
    description:
      'Instances that can run in the reservation: `open` for any matching instance, `targeted` for instances that request it.',
  }),
  ownerID: text({
    description: 'ID of the account that owns the reservation.',
    pattern: patternLike('^[0-9]{12}$', '123456789012'),
  }),
  endTime: optional(time({ description: 'Time at which the reservation ends.' })),
  interruptible: optional(flag({ description: 'If true, the owner can reclaim the capacity.' })),
  reservationType: optional(
    choice(['default', 'capacity-block'], { description: 'Type of the reservation.', default: 'default' }),
  ),
  state: optional(
    choice(['active', 'expiring'], {
      description: 'State of the reservation: `expiring` if it ends soon.',
      default: 'active',
    }),
  ),
});

const ec2NodeClassStatus = object(
  {
    subnets: optional(
      list(
        object({
          id: text({ description: 'ID of the subnet.' }),
          zone: text({ description: 'Zone of the subnet.' }),
          zoneID: optional(text({ description: 'ID of the zone, which is the same in every account.' })),
        }),
        { description: 'Subnets that match the selector terms.' },
      ),
    ),
    securityGroups: optional(
      list(
        object({
          id: text({ description: 'ID of the security group.' }),
          name: optional(text({ description: 'Name of the security group.' })),
        }),
        { description: 'Security groups that match the selector terms.' },
      ),
    ),
    capacityReservations: optional(
      list(capacityReservationStatus, { description: 'Capacity reservations that match the selector terms.' }),
    ),
    amis: optional(list(amiStatus, { description: 'Images that match the selector terms, newest first.' })),
    instanceProfile: optional(text({ description: 'Instance profile of the nodes.' })),
    conditions: optional(conditions()),
  },
  { description: 'Observed state.' },
);

export type {
  AmiSelectorTerm,
  SecurityGroupSelectorTerm,
  SubnetSelectorTerm,
} from './ec2-selectors.ts';
export type EC2NodeClassSpec = Declared<typeof ec2NodeClassSpec>;
export type EC2NodeClassStatus = Declared<typeof ec2NodeClassStatus>;
export type BlockDeviceMapping = Declared<typeof blockDeviceMappings>[number];
export type AmiFamily = NonNullable<EC2NodeClassSpec['amiFamily']>;
export type AmiStatus = Declared<typeof amiStatus>;
export type CapacityReservationStatus = Declared<typeof capacityReservationStatus>;
export type SubnetStatus = NonNullable<EC2NodeClassStatus['subnets']>[number];
export type SecurityGroupStatus = NonNullable<EC2NodeClassStatus['securityGroups']>[number];
export type EC2NodeClass = Resource<typeof ec2NodeClassSpec, typeof ec2NodeClassStatus>;

/** Returns the family, as `amiFamily` spells it, and the version of the AMI alias, or undefined without an alias. */
function amiAlias(
  spec: Pick<EC2NodeClassSpec, 'amiSelectorTerms'>,
): { family: AmiFamily | undefined; version: string } | undefined {
  const alias = spec.amiSelectorTerms.find((term) => term.alias)?.alias;
  if (!alias) return undefined;
  const [name = '', ...rest] = alias.split('@');
  const family = ALIAS_FAMILIES.find((known) => known.toLowerCase() === name.toLowerCase());
  return { family, version: rest.join('@') };
}

/**
 * Returns the family that determines user data and defaults: `amiFamily`, otherwise the family of the alias, otherwise Custom.
 */
export const resolvedAmiFamily = (
  spec: Pick<EC2NodeClassSpec, 'amiSelectorTerms'> & { readonly amiFamily?: AmiFamily | undefined },
): AmiFamily => spec.amiFamily ?? amiAlias(spec)?.family ?? 'Custom';

export const EC2_NODE_CLASS_DECLARATION: ResourceDeclaration = {
  group: AWS_GROUP,
  version: 'v1',
  kind: 'EC2NodeClass',
  plural: 'ec2nodeclasses',
  singular: 'ec2nodeclass',
  shortNames: ['ec2nc', 'ec2ncs'],
  scope: 'Cluster',
  category: 'karpenter',
  description: 'EC2NodeClass defines the configuration of nodes on EC2: network, image, role, volumes and kubelet.',
  columns: [columns.ready, columns.age, { name: 'Role', type: 'string', jsonPath: '.spec.role', priority: 1 }],
  specMayBeAbsent: true,
  spec: ec2NodeClassSpec,
  status: ec2NodeClassStatus,
};

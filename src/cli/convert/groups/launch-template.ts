/** Converts EC2 launch templates to fields of NodePools and EC2NodeClasses. */

import { ALIAS_FAMILIES, type AliasFamily, type AmiFamily, INSTANCE_TENANCY_LABEL } from '#api/objects';
import { defined, type Field } from '#lib';
import { decodeUserData, type KubeletConfig } from '#local/machines';
import { messageOf } from '../../objects/errors.ts';
import type { Path } from '../notes.ts';
import { addLabels, addTags, addTaint, addVolume, setCapacity, setImage, setInstanceTypes } from './common.ts';
import { mapOf, nameOfArn, textOf, textsOf } from './fields.ts';
import type { FindTemplate, ReferenceNames } from './inputs.ts';
import { applyInstanceRequirements } from './instance-requirements.ts';
import { type NodeGroup, REQUIREMENTS } from './node-group.ts';

type Apply = (group: NodeGroup, field: Field, path: Path) => void;

const lost =
  (text: string): Apply =>
  (group, _, path) =>
    group.onClass('lost', path, text);

const nothing: Apply = () => undefined;

const FIELDS: Readonly<Record<string, Apply>> = {
  ImageId: image,
  InstanceType: (group, field) => setInstanceTypes(group, [textOf(field) ?? '']),
  InstanceRequirements: applyInstanceRequirements,
  IamInstanceProfile: (group, field) => {
    const name = textOf(field.at('Name')) ?? nameOfArn(textOf(field.at('Arn')) ?? '');
    if (name === '') return;
    group.nodeClass.instanceProfile = name;
    delete group.nodeClass.role;
  },
  BlockDeviceMappings: (group, field, path) => {
    for (const [index, one] of field.items().entries()) volume(group, one, [...path, index]);
  },
  UserData: (group, field, path) => applyUserData(group, Buffer.from(textOf(field) ?? '', 'base64').toString(), path),
  SecurityGroupIds: (group, field) => securityGroups(group, textsOf(field), 'id'),
  SecurityGroups: (group, field) => securityGroups(group, textsOf(field), 'name'),
  NetworkInterfaces: networkInterfaces,
  MetadataOptions: metadata,
  Monitoring: (group, field) => {
    if (field.at('Enabled').given?.flag()) group.nodeClass.detailedMonitoring = true;
  },
  TagSpecifications: (group, field, path) => {
    for (const [index, one] of field.items().entries())
      if (textOf(one.at('ResourceType')) === 'instance') addTags(group, tagsOf(one.at('Tags')), [...path, index]);
  },
  InstanceMarketOptions: (group, field, path) => {
    const market = textOf(field.at('MarketType'));
    if (market === 'spot') setCapacity(group, ['spot']);
    if (market === 'capacity-block') setCapacity(group, ['reserved']);
    if (!field.at('SpotOptions').at('MaxPrice').isMissing)
      group.onPool('lost', path, 'spot instances cost the market price, at most the on-demand price', REQUIREMENTS);
  },
  Placement: placement,
  CapacityReservationSpecification: (group, field) => {
    const id = textOf(field.at('CapacityReservationTarget').at('CapacityReservationId'));
    if (id === undefined) return;
    group.nodeClass.capacityReservationSelectorTerms = [{ id }];
    setCapacity(group, ['reserved', 'on-demand']);
  },
  KeyName: lost('nodes get no SSH key; use Session Manager of AWS Systems Manager, or a key in userData'),
  EbsOptimized: nothing,
  DisableApiTermination: lost('termination protection is off, because Karpenter must be able to terminate instances'),
  InstanceInitiatedShutdownBehavior: nothing,
  CreditSpecification: lost('burstable types use the credit option of the account'),
  CpuOptions: lost('cores and threads are set by the instance type'),
  HibernationOptions: nothing,
  EnclaveOptions: lost('Nitro Enclaves are not supported'),
  LicenseSpecifications: lost('licence configurations are not supported'),
  ElasticGpuSpecifications: lost('elastic GPUs are no longer sold'),
  KernelId: lost('the image sets its kernel'),
  RamDiskId: lost('the image sets its kernel'),
  PrivateDnsNameOptions: lost('host names are set by the subnet'),
  MaintenanceOptions: nothing,
  DisableApiStop: nothing,
};

interface TemplateReference {
  readonly find: FindTemplate;
  /** Names of the fields in this reference. */
  readonly keys: ReferenceNames;
  /** Path of this reference in the group. */
  readonly path: Path;
}

/** Applies the launch template that a group refers to. Adds a note if the files do not contain it. */
export function applyReferenced(group: NodeGroup, reference: Field, { find, keys, path }: TemplateReference): void {
  if (reference.isMissing) return;
  const data = find(reference, keys);
  if (data === undefined) {
    group.onClass(
      'lost',
      path,
      'the files do not contain the launch template; add the output of `aws ec2 describe-launch-template-versions`',
    );
    return;
  }
  applyLaunchTemplate(group, data, [...path, 'LaunchTemplateData']);
  correctFamily(group, textOf(data.at('UserData')));
}

/**
 * @param data `LaunchTemplateData`
 * @param path path of the data below the group
 */
function applyLaunchTemplate(group: NodeGroup, data: Field, path: Path): void {
  for (const key of data.keys()) {
    const field = data.at(key);
    if (field.isMissing) continue;
    const apply = Object.hasOwn(FIELDS, key) ? FIELDS[key] : undefined;
    if (apply) apply(group, field, [...path, key]);
    else group.onClass('lost', [...path, key], `${key} has no equivalent field in an EC2NodeClass`);
  }
}

/**
 * Sets the image. Its family is assumed until the user data, which comes later in a launch template, shows how its
 * nodes boot.
 */
function image(group: NodeGroup, field: Field, path: Path): void {
  group.forgetClass(['spec', 'amiSelectorTerms']);
  setImage(group, textOf(field) ?? '', 'AL2023');
  group.onClass('assumed', path, 'amiFamily AL2023: the image is assumed to boot like AL2023; correct this if needed', [
    'spec',
    'amiFamily',
  ]);
  group.onClass('assumed', path, 'only this image; use amiSelectorTerms with name or tags to follow new images', [
    'spec',
    'amiSelectorTerms',
  ]);
}

/**
 * Corrects the AMI family if the user data shows how the nodes boot.
 *
 * @param userData base64
 */
function correctFamily(group: NodeGroup, userData: string | undefined): void {
  const id = group.nodeClass.amiSelectorTerms?.[0]?.id;
  const family = bootstrapFamily(Buffer.from(userData ?? '', 'base64').toString());
  if (id === undefined || family === undefined) return;
  setImage(group, id, family);
  const index = group.remarks.findIndex(({ text }) => text.startsWith('amiFamily AL2023'));
  const [remark] = index < 0 ? [] : group.remarks.splice(index, 1);
  if (remark) group.remarks.push({ ...remark, text: `amiFamily ${family}, from the user data` });
}

function volume(group: NodeGroup, mapping: Field, path: Path): void {
  const device = textOf(mapping.at('DeviceName'));
  const ebs = mapping.at('Ebs');
  if (device === undefined || ebs.isMissing) {
    group.onClass(
      'lost',
      path,
      'only EBS volumes are mapped; local disks are available, and instanceStorePolicy: RAID0 combines them',
      ['spec', 'blockDeviceMappings'],
    );
    return;
  }
  addVolume(group, device, {
    sizeGi: ebs.at('VolumeSize').given?.count(),
    type: textOf(ebs.at('VolumeType')),
    iops: ebs.at('Iops').given?.count(),
    throughput: ebs.at('Throughput').given?.count(),
    encrypted: ebs.at('Encrypted').given?.flag(),
    kmsKeyID: textOf(ebs.at('KmsKeyId')),
    snapshotID: textOf(ebs.at('SnapshotId')),
    deleteOnTermination: ebs.at('DeleteOnTermination').given?.flag(),
  });
}

function securityGroups(group: NodeGroup, names: readonly string[], member: 'id' | 'name'): void {
  if (names.length === 0) return;
  group.forgetClass(['spec', 'securityGroupSelectorTerms']);
  group.nodeClass.securityGroupSelectorTerms = names.map((name) => ({ [member]: name }));
}

function networkInterfaces(group: NodeGroup, field: Field, path: Path): void {
  const [first, ...others] = field.items();
  if (first === undefined) return;
  const isPublic = first.at('AssociatePublicIpAddress').given?.flag();
  if (isPublic !== undefined) group.nodeClass.associatePublicIPAddress = isPublic;
  securityGroups(group, textsOf(first.at('Groups')), 'id');
  const prefixes = first.at('Ipv4PrefixCount').given?.count();
  if (prefixes !== undefined) group.nodeClass.ipPrefixCount = prefixes;
  if (others.length > 0 || first.at('InterfaceType').value === 'efa')
    group.onClass(
      'lost',
      path,
      'Karpenter adds further interfaces and EFA for pods that request vpc.amazonaws.com/efa',
    );
}

type Metadata = NonNullable<NodeGroup['nodeClass']['metadataOptions']>;

function metadata(group: NodeGroup, field: Field): void {
  const [httpTokens, httpEndpoint, httpProtocolIPv6] = ['HttpTokens', 'HttpEndpoint', 'HttpProtocolIpv6'].map((key) =>
    textOf(field.at(key)),
  );
  group.nodeClass.metadataOptions = {
    ...group.nodeClass.metadataOptions,
    ...(defined({
      httpTokens,
      httpEndpoint,
      httpProtocolIPv6,
      httpPutResponseHopLimit: field.at('HttpPutResponseHopLimit').given?.count(),
    }) as Metadata),
  };
}

function placement(group: NodeGroup, field: Field, path: Path): void {
  const name = textOf(field.at('GroupName'));
  if (name) group.nodeClass.placementGroupSelector = { name };
  const tenancy = textOf(field.at('Tenancy'));
  if (tenancy === 'dedicated') group.require(INSTANCE_TENANCY_LABEL, ['dedicated']);
  const zone = textOf(field.at('AvailabilityZone'));
  if (zone) group.zones = [zone];
  if (tenancy === 'host' || !field.at('HostId').isMissing)
    group.onPool('lost', path, 'dedicated hosts are not supported', REQUIREMENTS);
}

/** Reads tags of EC2, `[{Key, Value}]`. */
const tagsOf = (field: Field): Readonly<Record<string, string>> =>
  Object.fromEntries(
    field.items().map((tag) => {
      const { Key = '', Value = '' } = mapOf(tag);
      return [Key, Value];
    }),
  );

/** Texts in the bootstrap of the families. The families of Windows share a bootstrap script. */
const BOOTSTRAPS: Readonly<Record<AliasFamily, string | undefined>> = {
  AL2: '/etc/eks/bootstrap.sh',
  AL2023: 'node.eks.aws/',
  Bottlerocket: '[settings.kubernetes',
  Windows2019: undefined,
  Windows2022: '-EKSClusterName',
  Windows2025: undefined,
};

/**
 * Returns the AMI family that matches the bootstrap of the user data, or undefined if the user data contains no
 * bootstrap.
 */
const bootstrapFamily = (text: string): AmiFamily | undefined =>
  ALIAS_FAMILIES.find((family) => BOOTSTRAPS[family] !== undefined && text.includes(BOOTSTRAPS[family]));

/** Applies user data. If it cannot be read, adds a note instead of throwing InputError. */
function applyUserData(group: NodeGroup, text: string, field: Path): void {
  const at: Path = ['spec', 'userData'];
  let config: KubeletConfig;
  try {
    config = decodeUserData(text);
  } catch (error) {
    group.onClass('lost', field, `the user data cannot be parsed: ${messageOf(error).split('\n', 1)[0]}`, at);
    return;
  }
  if (bootstrapFamily(text) === undefined) {
    group.nodeClass.userData = text;
    group.onClass(
      'assumed',
      field,
      'unchanged user data, merged with the user data of Karpenter; make sure that it does not start the kubelet',
      at,
    );
    return;
  }
  applyKubelet(group, config, field);
  group.onClass(
    'lost',
    field,
    'the user data starts the kubelet, but Karpenter generates this part; labels, taints and kubelet settings were extracted ' +
      'from it; add its other commands to userData',
    at,
  );
}

function applyKubelet(group: NodeGroup, config: KubeletConfig, field: Path): void {
  addLabels(group, config.labels, field);
  for (const { key, value, effect } of config.taints)
    if (!key.startsWith('karpenter.sh/')) addTaint(group, { key, value, effect }, field);
  const { maxPods, podsPerCore, kubeReserved, systemReserved, evictionHard } = config;
  group.kubelet({
    ...defined({ maxPods, podsPerCore }),
    ...ifAny('kubeReserved', kubeReserved),
    ...ifAny('systemReserved', systemReserved),
    ...ifAny('evictionHard', evictionHard),
  });
  if (config.raid0) group.nodeClass.instanceStorePolicy = 'RAID0';
}

const ifAny = (name: string, map: Readonly<Record<string, string>>): Readonly<Record<string, unknown>> =>
  Object.keys(map).length === 0 ? {} : { [name]: map };

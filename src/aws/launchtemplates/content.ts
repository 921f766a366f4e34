/** Contents of launch templates. */
import type {
  LaunchTemplateBlockDeviceMappingRequest,
  LaunchTemplateInstanceNetworkInterfaceSpecificationRequest,
  MarketType,
  RequestLaunchTemplateData,
} from '@aws-sdk/client-ec2';
import type { BlockDeviceMapping, EC2NodeClass, StringMap } from '#api/objects';
import { parseQuantity } from '#api/values';
import { defined } from '#lib';
import type { AmiFamily } from '../amis/families.ts';
import { isIpv6 } from '../cluster.ts';
import { tagList } from '../tags.ts';

export interface TemplateReservation {
  readonly id: string;
  readonly type: string;
  readonly interruptible: boolean;
}

interface TemplateInput {
  readonly nodeClass: EC2NodeClass;
  readonly family: AmiFamily;
  readonly imageId: string;
  /** Plain text, before the base64 encoding. */
  readonly userData: string;
  readonly tags: StringMap;
  readonly capacityType: string;
  readonly tenancy: 'default' | 'dedicated';
  readonly efaCount: number;
  readonly nitroSandbox: boolean;
  readonly dnsIp: string | undefined;
  readonly region: string;
  readonly placement: { readonly groupId: string; readonly partition?: number | undefined } | undefined;
  readonly reservation: TemplateReservation | undefined;
  /** True if templates specify a capacity reservation preference. */
  readonly reservedCapacity: boolean;
}

const GIB = 2 ** 30;
/** Regions without the IPv6 metadata endpoint. */
const WITHOUT_IPV6_METADATA = new Set([
  'us-iso-east-1',
  'us-iso-west-1',
  'us-isob-east-1',
  'us-isob-west-1',
  'us-isof-south-1',
  'us-isof-east-1',
]);

function blockDevice({ deviceName, ebs }: BlockDeviceMapping): LaunchTemplateBlockDeviceMappingRequest {
  if (ebs === undefined) throw new Error(`block device mapping "${deviceName ?? ''}" has no ebs settings`);
  const { volumeSize, iops, throughput } = ebs;
  return {
    ...defined({ DeviceName: deviceName }),
    Ebs: {
      ...defined({
        DeleteOnTermination: ebs.deleteOnTermination,
        Encrypted: ebs.encrypted,
        VolumeType: ebs.volumeType,
        Iops: iops === 0 ? undefined : iops,
        Throughput: throughput === 0 ? undefined : throughput,
        KmsKeyId: ebs.kmsKeyID,
        SnapshotId: ebs.snapshotID,
        VolumeInitializationRate: ebs.volumeInitializationRate,
        VolumeSize: volumeSize === undefined ? undefined : Math.ceil(parseQuantity(volumeSize) / GIB),
      }),
    },
  };
}

function blockDevices({ nodeClass, family }: TemplateInput): LaunchTemplateBlockDeviceMappingRequest[] | undefined {
  const own = nodeClass.spec.blockDeviceMappings ?? [];
  if (own.length > 0) return own.map(blockDevice);
  const defaults = family.blockDevices.map(({ deviceName, size }) =>
    blockDevice({ deviceName, ebs: { encrypted: true, volumeSize: size, volumeType: 'gp3' } }),
  );
  return defaults.length === 0 ? undefined : defaults;
}

type Interface = LaunchTemplateInstanceNetworkInterfaceSpecificationRequest;

/** Returns the common settings of interfaces for IP traffic. */
function trafficSettings({ nodeClass, dnsIp }: TemplateInput): Interface {
  const { associatePublicIPAddress, ipPrefixCount, connectionTracking: tracking } = nodeClass.spec;
  const ipv6 = isIpv6(dnsIp);
  return {
    ...defined({ AssociatePublicIpAddress: associatePublicIPAddress }),
    ...(ipv6 ? { PrimaryIpv6: true, Ipv6AddressCount: 1 } : {}),
    ...defined({
      Ipv6PrefixCount: ipv6 ? ipPrefixCount : undefined,
      Ipv4PrefixCount: ipv6 ? undefined : ipPrefixCount,
    }),
    ...defined({
      ConnectionTrackingSpecification:
        tracking &&
        defined({
          TcpEstablishedTimeout: tracking.tcpEstablishedTimeout,
          UdpStreamTimeout: tracking.udpStreamTimeout,
          UdpTimeout: tracking.udpTimeout,
        }),
    }),
  };
}

/**
 * Returns the interfaces of the NodeClass, one interface per EFA card, or a single interface. The overrides of the
 * fleet set the subnets.
 */
function networkInterfaces(input: TemplateInput): Interface[] {
  const { nodeClass, efaCount } = input;
  const Groups = (nodeClass.status?.securityGroups ?? []).map((group) => group.id);
  const traffic = trafficSettings(input);
  const own = nodeClass.spec.networkInterfaces ?? [];
  if (own.length > 0)
    return own.map(({ networkCardIndex, deviceIndex, interfaceType }) => ({
      NetworkCardIndex: networkCardIndex,
      DeviceIndex: deviceIndex,
      InterfaceType: interfaceType,
      Groups,
      ...(interfaceType === 'efa-only' ? {} : traffic),
    }));
  if (efaCount > 0)
    return Array.from({ length: efaCount }, (_, card) => ({
      NetworkCardIndex: card,
      DeviceIndex: card === 0 ? 0 : 1,
      InterfaceType: 'efa',
      Groups,
      ...traffic,
    }));
  return [{ DeviceIndex: 0, Groups, ...traffic }];
}

function metadataOptions({ nodeClass, dnsIp, region }: TemplateInput): RequestLaunchTemplateData['MetadataOptions'] {
  const options = nodeClass.spec.metadataOptions;
  const protocol = options === undefined ? (isIpv6(dnsIp) ? 'enabled' : 'disabled') : options.httpProtocolIPv6;
  return {
    ...defined({
      HttpEndpoint: options === undefined ? 'disabled' : options.httpEndpoint,
      HttpProtocolIpv6: WITHOUT_IPV6_METADATA.has(region) ? undefined : protocol,
      HttpPutResponseHopLimit: options === undefined ? 2 : options.httpPutResponseHopLimit,
      HttpTokens: options === undefined ? 'required' : options.httpTokens,
    }),
    InstanceMetadataTags: 'disabled',
  };
}

function reservationMembers({ reservation, reservedCapacity }: TemplateInput): RequestLaunchTemplateData {
  if (!reservedCapacity) return {};
  // Without a selected reservation, the launch must not use open reservations.
  if (reservation === undefined) return { CapacityReservationSpecification: { CapacityReservationPreference: 'none' } };
  const market: MarketType | undefined =
    reservation.type === 'capacity-block'
      ? 'capacity-block'
      : reservation.interruptible
        ? 'interruptible-capacity-reservation'
        : undefined;
  return {
    CapacityReservationSpecification: {
      CapacityReservationPreference: 'capacity-reservations-only',
      CapacityReservationTarget: { CapacityReservationId: reservation.id },
    },
    ...defined({ InstanceMarketOptions: market && { MarketType: market } }),
  };
}

/**
 * Builds the template data for EC2.
 * @throws Error if a block device mapping has no EBS settings
 */
export function templateData(input: TemplateInput): RequestLaunchTemplateData {
  const { nodeClass, placement } = input;
  const nested = nodeClass.spec.cpuOptions?.nestedVirtualization;
  const taggedResources = ['network-interface', ...(input.capacityType === 'spot' ? ['spot-instances-request'] : [])];
  return {
    ImageId: input.imageId,
    UserData: Buffer.from(input.userData).toString('base64'),
    IamInstanceProfile: defined({ Name: nodeClass.status?.instanceProfile }),
    ...defined({ BlockDeviceMappings: blockDevices(input) }),
    NetworkInterfaces: networkInterfaces(input),
    Monitoring: { Enabled: nodeClass.spec.detailedMonitoring ?? false },
    Placement: {
      Tenancy: input.tenancy,
      ...defined({ GroupId: placement?.groupId, PartitionNumber: placement?.partition }),
    },
    MetadataOptions: metadataOptions(input),
    EnclaveOptions: { Enabled: input.nitroSandbox },
    ...defined({ CpuOptions: nested && { NestedVirtualization: nested } }),
    ...reservationMembers(input),
    TagSpecifications: taggedResources.map((ResourceType) => ({
      ResourceType: ResourceType as 'network-interface' | 'spot-instances-request',
      Tags: tagList(input.tags),
    })),
  };
}

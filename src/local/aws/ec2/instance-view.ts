/** Formats an instance as DescribeInstances returns it. */
import type { Instance, InstanceNetworkInterface } from '@aws-sdk/client-ec2';
import type { Account } from '../state/account.ts';
import { type Machine, tagsAt } from '../state/machines.ts';
import type { InstanceState } from '../types.ts';
import { ec2Tags } from './tags.ts';

const CODES: Readonly<Record<InstanceState, number>> = {
  pending: 0,
  running: 16,
  'shutting-down': 32,
  terminated: 48,
  stopping: 64,
  stopped: 80,
};

export const stateCode = (state: InstanceState): number => CODES[state];

interface Shown {
  /** All variable parts of this instance that the view contains. */
  readonly of: readonly unknown[];
  readonly view: Instance;
}

const shown = new WeakMap<Machine, Shown>();

/**
 * Returns the same object while the instance is unchanged. Repeated lists of hundreds of instances only create changed
 * objects again.
 */
export function instanceView(account: Account, machine: Machine, launchIndex: number): Instance {
  const of = [
    launchIndex,
    machine.state,
    machine.stateReason,
    tagsAt(machine, account.clock.now()),
    machine.capacityType,
    machine.capacityReservationId,
    machine.lifecycle,
    account.profiles.get(machine.instanceProfile),
  ];
  const known = shown.get(machine);
  if (known?.of.every((value, at) => value === of[at])) return known.view;
  const view = viewOf(account, machine, launchIndex);
  shown.set(machine, { of, view });
  return view;
}

function viewOf(account: Account, machine: Machine, launchIndex: number): Instance {
  const isGone = machine.state === 'terminated';
  return {
    ...identity(account, machine, launchIndex),
    // a terminated instance has released its network interfaces and disks
    ...(isGone ? {} : attachments(account, machine)),
    ...(machine.stateReason
      ? { StateReason: machine.stateReason, StateTransitionReason: machine.stateReason.Message ?? '' }
      : { StateTransitionReason: '' }),
    Tags: ec2Tags(tagsAt(machine, account.clock.now())),
  };
}

function identity(account: Account, machine: Machine, launchIndex: number): Instance {
  const { data, hardware, placementGroup } = machine;
  return {
    InstanceId: machine.id,
    ImageId: machine.imageId,
    InstanceType: hardware.InstanceType,
    State: { Code: stateCode(machine.state), Name: machine.state },
    AmiLaunchIndex: launchIndex,
    LaunchTime: new Date(Math.floor(machine.launchedAt / 1000) * 1000),
    Placement: {
      AvailabilityZone: machine.zone,
      AvailabilityZoneId: machine.zoneId,
      Tenancy: machine.tenancy as 'default' | 'dedicated' | 'host',
      GroupName: placementGroup?.name ?? '',
      ...(placementGroup ? { GroupId: placementGroup.id } : {}),
      ...(machine.partition === undefined ? {} : { PartitionNumber: machine.partition }),
    },
    Architecture: machine.architecture,
    Hypervisor: 'xen',
    VirtualizationType: 'hvm',
    RootDeviceType: 'ebs',
    RootDeviceName: machine.rootDeviceName,
    EnaSupport: true,
    EbsOptimized: data.EbsOptimized ?? false,
    ClientToken: machine.clientToken,
    Monitoring: { State: data.Monitoring?.Enabled ? 'enabled' : 'disabled' },
    CpuOptions: {
      CoreCount: data.CpuOptions?.CoreCount ?? hardware.VCpuInfo?.DefaultCores,
      ThreadsPerCore: data.CpuOptions?.ThreadsPerCore ?? hardware.VCpuInfo?.DefaultThreadsPerCore,
      ...(data.CpuOptions?.AmdSevSnp ? { AmdSevSnp: data.CpuOptions.AmdSevSnp } : {}),
      ...(data.CpuOptions?.NestedVirtualization ? { NestedVirtualization: data.CpuOptions.NestedVirtualization } : {}),
    },
    EnclaveOptions: { Enabled: data.EnclaveOptions?.Enabled ?? false },
    HibernationOptions: { Configured: false },
    PlatformDetails: machine.platform === 'windows' ? 'Windows' : 'Linux/UNIX',
    ...(machine.platform === 'windows' ? { Platform: 'Windows' as const } : {}),
    ...(machine.spotRequestId ? { SpotInstanceRequestId: machine.spotRequestId } : {}),
    ...(machine.lifecycle
      ? { InstanceLifecycle: machine.lifecycle as NonNullable<Instance['InstanceLifecycle']> }
      : {}),
    ...(machine.capacityReservationId ? { CapacityReservationId: machine.capacityReservationId } : {}),
    CapacityReservationSpecification: {
      CapacityReservationPreference: data.CapacityReservationSpecification?.CapacityReservationPreference ?? 'open',
      ...(data.CapacityReservationSpecification?.CapacityReservationTarget
        ? { CapacityReservationTarget: data.CapacityReservationSpecification.CapacityReservationTarget }
        : {}),
    },
    MetadataOptions: metadataOptions(data),
    ...(machine.instanceProfile
      ? {
          IamInstanceProfile: {
            Arn: account.profiles.get(machine.instanceProfile)?.arn,
            Id: account.profiles.get(machine.instanceProfile)?.id,
          },
        }
      : {}),
  };
}

const metadataOptions = ({ MetadataOptions: given }: Machine['data']): Instance['MetadataOptions'] => ({
  State: 'applied',
  HttpEndpoint: given?.HttpEndpoint ?? 'enabled',
  HttpTokens: given?.HttpTokens ?? 'optional',
  HttpPutResponseHopLimit: given?.HttpPutResponseHopLimit ?? 1,
  HttpProtocolIpv6: given?.HttpProtocolIpv6 ?? 'disabled',
  InstanceMetadataTags: given?.InstanceMetadataTags ?? 'disabled',
});

function attachments(account: Account, machine: Machine): Partial<Instance> {
  const groups = (ids: readonly string[]): { GroupId: string; GroupName: string | undefined }[] =>
    ids.map((id) => ({ GroupId: id, GroupName: account.securityGroups.get(id)?.name }));
  return {
    SubnetId: machine.subnetId,
    VpcId: machine.vpcId,
    PrivateIpAddress: machine.privateIp,
    ...(machine.ipv6Address === undefined ? {} : { Ipv6Address: machine.ipv6Address }),
    PrivateDnsName: machine.privateDnsName,
    PublicDnsName: '',
    ...(machine.publicIp ? { PublicIpAddress: machine.publicIp } : {}),
    SourceDestCheck: true,
    SecurityGroups: groups(machine.securityGroupIds),
    NetworkInterfaces: machine.interfaces.map(
      (each): InstanceNetworkInterface => ({
        NetworkInterfaceId: each.id,
        InterfaceType: each.type,
        Status: 'in-use',
        SubnetId: machine.subnetId,
        VpcId: machine.vpcId,
        OwnerId: account.id,
        PrivateIpAddress: each.privateIp,
        Ipv6Addresses: each.ipv6Address === undefined ? [] : [{ Ipv6Address: each.ipv6Address, IsPrimaryIpv6: true }],
        PrivateDnsName: machine.privateDnsName,
        Groups: groups(each.securityGroupIds),
        Attachment: {
          AttachmentId: each.attachmentId,
          DeviceIndex: each.deviceIndex,
          NetworkCardIndex: each.cardIndex,
          Status: 'attached',
          DeleteOnTermination: true,
        },
      }),
    ),
    BlockDeviceMappings: machine.volumes.map((volume) => ({
      DeviceName: volume.deviceName,
      Ebs: { VolumeId: volume.id, Status: 'attached', DeleteOnTermination: true },
    })),
  };
}

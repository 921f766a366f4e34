/** Describes volumes, spot requests and single attributes of instances. */
import type {
  DescribeInstanceAttributeRequest,
  DescribeSpotInstanceRequestsRequest,
  DescribeSpotInstanceRequestsResult,
  DescribeVolumesRequest,
  DescribeVolumesResult,
  Volume as Ec2Volume,
  InstanceAttribute,
  SpotInstanceRequest,
} from '@aws-sdk/client-ec2';
import { applyFilters, page } from '../filters.ts';
import type { Account } from '../state/account.ts';
import type { Machine } from '../state/machines.ts';
import type { Volume } from '../types.ts';
import { invalidValue, missingParameter } from '../wire/error.ts';
import { byIds } from './ids.ts';
import { visibleMachines } from './instances.ts';
import { ec2Tags } from './tags.ts';

interface Disk {
  readonly machine: Machine;
  readonly volume: Volume;
}

/** Describes the volumes of instances. A volume is deleted with its instance. */
export function describeVolumes(account: Account, input: DescribeVolumesRequest): DescribeVolumesResult {
  const all = visibleMachines(account)
    .filter(({ state }) => state !== 'terminated')
    .flatMap((machine) => machine.volumes.map((volume): Disk => ({ machine, volume })));
  const tagsOf = ({ machine, volume }: Disk) => machine.volumeTags.get(volume.id) ?? {};
  const found = applyFilters(
    byIds(all, input.VolumeIds, 'vol', ({ volume }) => volume.id),
    input.Filters,
    {
      'volume-id': ({ volume }) => volume.id,
      'volume-type': ({ volume }) => volume.volumeType,
      size: ({ volume }) => String(volume.sizeGiB),
      status: () => 'in-use',
      'availability-zone': ({ machine }) => machine.zone,
      'attachment.instance-id': ({ machine }) => machine.id,
      'attachment.device': ({ volume }) => volume.deviceName,
      'attachment.status': () => 'attached',
      'attachment.delete-on-termination': (disk) => String(mappingOf(disk)?.DeleteOnTermination ?? true),
      encrypted: (disk) => String(mappingOf(disk)?.Encrypted ?? false),
    },
    tagsOf,
  );
  const { items, next } = page(found, input, { min: 5, max: 1000 });
  return {
    Volumes: items.map((disk) => ({ ...volumeView(disk), Tags: ec2Tags(tagsOf(disk)) })),
    NextToken: next,
  };
}

const mappingOf = ({ machine, volume }: Disk) =>
  machine.data.BlockDeviceMappings?.find(({ DeviceName: name }) => name === volume.deviceName)?.Ebs;

function volumeView(disk: Disk): Ec2Volume {
  const { machine, volume } = disk;
  const ebs = mappingOf(disk);
  return {
    VolumeId: volume.id,
    VolumeType: volume.volumeType as NonNullable<Ec2Volume['VolumeType']>,
    Size: volume.sizeGiB,
    State: 'in-use',
    AvailabilityZone: machine.zone,
    AvailabilityZoneId: machine.zoneId,
    CreateTime: new Date(machine.launchedAt),
    Encrypted: ebs?.Encrypted ?? false,
    ...(ebs?.KmsKeyId === undefined ? {} : { KmsKeyId: ebs.KmsKeyId }),
    ...(ebs?.SnapshotId === undefined ? {} : { SnapshotId: ebs.SnapshotId }),
    Iops: ebs?.Iops ?? 3000,
    ...(volume.volumeType === 'gp3' ? { Throughput: ebs?.Throughput ?? 125 } : {}),
    MultiAttachEnabled: false,
    Attachments: [
      {
        VolumeId: volume.id,
        InstanceId: machine.id,
        Device: volume.deviceName,
        State: 'attached',
        AttachTime: new Date(machine.launchedAt),
        DeleteOnTermination: ebs?.DeleteOnTermination ?? true,
      },
    ],
  };
}

type Requested = Machine & { readonly spotRequestId: string };

export function describeSpotInstanceRequests(
  account: Account,
  input: DescribeSpotInstanceRequestsRequest,
): DescribeSpotInstanceRequestsResult {
  const all = visibleMachines(account).filter((machine): machine is Requested => machine.spotRequestId !== undefined);
  const found = applyFilters(
    byIds(all, input.SpotInstanceRequestIds, 'sir', ({ spotRequestId }) => spotRequestId),
    input.Filters,
    {
      'spot-instance-request-id': ({ spotRequestId }) => spotRequestId,
      'instance-id': ({ id }) => id,
      state: (machine) => requestState(machine),
      'status-code': (machine) => requestStatus(machine),
      type: () => 'one-time',
      'launch.instance-type': (machine) => machine.type,
      'launch.image-id': ({ imageId }) => imageId,
      'launched-availability-zone': ({ zone }) => zone,
      'availability-zone-id': ({ zoneId }) => zoneId,
    },
    ({ spotRequestTags }) => spotRequestTags,
  );
  const { items, next } = page(found, input, { min: 5, max: 1000 });
  return { SpotInstanceRequests: items.map(requestView), NextToken: next };
}

const isOver = ({ state }: Machine): boolean => state === 'shutting-down' || state === 'terminated';
const requestState = (machine: Machine): 'active' | 'closed' => (isOver(machine) ? 'closed' : 'active');
const requestStatus = (machine: Machine): string =>
  !isOver(machine)
    ? 'fulfilled'
    : machine.stateReason?.Code === 'Server.SpotInstanceTermination'
      ? 'instance-terminated-no-capacity'
      : 'instance-terminated-by-user';

const requestView = (machine: Requested): SpotInstanceRequest => ({
  SpotInstanceRequestId: machine.spotRequestId,
  InstanceId: machine.id,
  State: requestState(machine),
  Status: {
    Code: requestStatus(machine),
    UpdateTime: new Date(machine.endedAt ?? machine.launchedAt),
    Message: isOver(machine) ? 'The instance was terminated.' : 'Your Spot request is fulfilled.',
  },
  Type: 'one-time',
  InstanceInterruptionBehavior: 'terminate',
  CreateTime: new Date(machine.launchedAt),
  LaunchedAvailabilityZone: machine.zone,
  LaunchedAvailabilityZoneId: machine.zoneId,
  ProductDescription: machine.platform === 'windows' ? 'Windows' : 'Linux/UNIX',
  SpotPrice: machine.usdPerHour.toFixed(6),
  LaunchSpecification: {
    ImageId: machine.imageId,
    InstanceType: machine.type as NonNullable<SpotInstanceRequest['LaunchSpecification']>['InstanceType'],
    SubnetId: machine.subnetId,
    Placement: { AvailabilityZone: machine.zone },
  },
  Tags: ec2Tags(machine.spotRequestTags),
});

/** Attributes by their names in EC2. */
const ATTRIBUTES: Readonly<Record<string, (machine: Machine) => InstanceAttribute>> = {
  userData: ({ userData }) => ({
    UserData: userData === '' ? {} : { Value: Buffer.from(userData).toString('base64') },
  }),
  instanceType: ({ type }) => ({ InstanceType: { Value: type } }),
  ebsOptimized: ({ data }) => ({ EbsOptimized: { Value: data.EbsOptimized ?? false } }),
  disableApiTermination: ({ data }) => ({ DisableApiTermination: { Value: data.DisableApiTermination ?? false } }),
  disableApiStop: ({ data }) => ({ DisableApiStop: { Value: data.DisableApiStop ?? false } }),
  instanceInitiatedShutdownBehavior: ({ data }) => ({
    InstanceInitiatedShutdownBehavior: { Value: data.InstanceInitiatedShutdownBehavior ?? 'stop' },
  }),
  rootDeviceName: ({ rootDeviceName }) => ({ RootDeviceName: { Value: rootDeviceName } }),
  enaSupport: () => ({ EnaSupport: { Value: true } }),
  sourceDestCheck: () => ({ SourceDestCheck: { Value: true } }),
  groupSet: ({ securityGroupIds }) => ({ Groups: securityGroupIds.map((id) => ({ GroupId: id })) }),
};

export function describeInstanceAttribute(
  account: Account,
  input: DescribeInstanceAttributeRequest,
): InstanceAttribute {
  if (!input.Attribute) throw missingParameter('attribute');
  if (!input.InstanceId) throw missingParameter('instanceId');
  const [machine] = byIds(visibleMachines(account), [input.InstanceId], 'i', ({ id }) => id);
  const read = ATTRIBUTES[input.Attribute];
  if (!read || !machine) {
    throw invalidValue('attribute', input.Attribute, `The local AWS supports ${Object.keys(ATTRIBUTES).join(', ')}.`);
  }
  return { InstanceId: machine.id, ...read(machine) };
}

/** Instances in the EC2 API: run, describe, status and terminate, and their network interfaces. */
import type {
  DescribeInstanceStatusRequest,
  DescribeInstanceStatusResult,
  DescribeInstancesRequest,
  DescribeInstancesResult,
  DescribeNetworkInterfacesRequest,
  DescribeNetworkInterfacesResult,
  Instance,
  InstanceStateChange,
  InstanceStatus,
  InstanceStatusSummary,
  NetworkInterface,
  RebootInstancesRequest,
  RequestLaunchTemplateData,
  Reservation,
  RunInstancesRequest,
  StateReason,
  StopInstancesRequest,
  StopInstancesResult,
  TerminateInstancesRequest,
  TerminateInstancesResult,
} from '@aws-sdk/client-ec2';
import { applyFilters, type FilterFields, page } from '../filters.ts';
import type { Account } from '../state/account.ts';
import { type Machine, tagsAt } from '../state/machines.ts';
import type { InstanceState } from '../types.ts';
import { AwsError, invalidCombination, missingParameter } from '../wire/error.ts';
import { refuseDryRun } from './dry-run.ts';
import { unknownId } from './ids.ts';
import { instanceView, stateCode } from './instance-view.ts';
import { launchInstances } from './launch.ts';
import { planLaunch } from './plan.ts';
import { ec2Tags, specifiedTags } from './tags.ts';
import { findTemplate } from './templates.ts';

/** Returns the instances that are currently visible to read requests. */
export function visibleMachines(account: Account): readonly Machine[] {
  const now = account.clock.now();
  return account.machines.all().filter((machine) => machine.visibleAt <= now);
}

/**
 * Returns the instances with the ids in their order, or all instances. @throws AwsError `InvalidInstanceID.NotFound`
 */
function machinesBy(account: Account, ids: readonly string[] | undefined): readonly Machine[] {
  if (!ids?.length) return visibleMachines(account);
  const now = account.clock.now();
  return [...new Set(ids)].map((id) => {
    const machine = account.machines.machine(id);
    if (!machine || machine.visibleAt > now) throw unknownId(id, 'i');
    return machine;
  });
}

const FIELDS: FilterFields<Machine> = {
  'instance-id': (machine) => machine.id,
  'instance-state-name': (machine) => machine.state,
  'instance-state-code': (machine) => String(stateCode(machine.state)),
  'instance-type': (machine) => machine.type,
  'instance-lifecycle': (machine) => machine.lifecycle,
  'availability-zone': (machine) => machine.zone,
  'availability-zone-id': (machine) => machine.zoneId,
  architecture: (machine) => machine.architecture,
  'image-id': (machine) => machine.imageId,
  'subnet-id': (machine) => machine.subnetId,
  'vpc-id': (machine) => machine.vpcId,
  'private-dns-name': (machine) => machine.privateDnsName,
  'private-ip-address': (machine) => machine.privateIp,
  'instance.group-id': (machine) => machine.securityGroupIds,
  'placement-group-name': (machine) => machine.placementGroup?.name,
  'capacity-reservation-id': (machine) => machine.capacityReservationId,
  'spot-instance-request-id': (machine) => machine.spotRequestId,
  'reservation-id': (machine) => machine.reservationId,
  'client-token': (machine) => machine.clientToken,
  tenancy: (machine) => machine.tenancy,
};

export function describeInstances(account: Account, input: DescribeInstancesRequest): DescribeInstancesResult {
  if (input.InstanceIds?.length && input.MaxResults !== undefined) {
    throw invalidCombination('The parameter instancesSet cannot be used with the parameter maxResults');
  }
  const machines = machinesBy(account, input.InstanceIds);
  const now = account.clock.now();
  const found = applyFilters(machines, input.Filters, FIELDS, (machine) => tagsAt(machine, now));
  const { items, next } = page(found, input, { min: 5, max: 1000 });
  return { Reservations: reservations(account, items), NextToken: next };
}

function reservations(account: Account, machines: readonly Machine[]): Reservation[] {
  const groups = Map.groupBy(machines, (machine) => machine.reservationId);
  return [...groups].map(([id, members]) => ({
    ReservationId: id,
    OwnerId: account.id,
    Groups: [],
    Instances: members.map((machine, index): Instance => instanceView(account, machine, index)),
  }));
}

export function describeInstanceStatus(
  account: Account,
  input: DescribeInstanceStatusRequest,
): DescribeInstanceStatusResult {
  if (input.InstanceIds?.length && input.MaxResults !== undefined) {
    throw invalidCombination('The parameter instancesSet cannot be used with the parameter maxResults');
  }
  const machines = machinesBy(account, input.InstanceIds);
  const now = account.clock.now();
  const shown = machines.filter(
    (machine) => input.IncludeAllInstances || machine.state === 'running' || failedLately(machine, now),
  );
  const checkOf = (machine: Machine, check: Check): string => checkAt(machine, check, now);
  const found = applyFilters(shown, input.Filters, {
    'instance-state-name': (machine) => machine.state,
    'availability-zone': (machine) => machine.zone,
    'instance-status.status': (machine) => checkOf(machine, 'instance'),
    'instance-status.reachability': (machine) => (checkOf(machine, 'instance') === 'ok' ? 'passed' : 'failed'),
    'system-status.status': (machine) => checkOf(machine, 'system'),
    'system-status.reachability': (machine) => (checkOf(machine, 'system') === 'ok' ? 'passed' : 'failed'),
    'event.code': (machine) => machine.scheduledEvents.map((event) => event.Code ?? ''),
    'event.instance-event-id': (machine) => machine.scheduledEvents.map((event) => event.InstanceEventId ?? ''),
  });
  const { items, next } = page(found, input, { min: 5, max: 1000 });
  return {
    InstanceStatuses: items.map(
      (machine): InstanceStatus => ({
        InstanceId: machine.id,
        AvailabilityZone: machine.zone,
        AvailabilityZoneId: machine.zoneId,
        InstanceState: { Code: stateCode(machine.state), Name: machine.state },
        InstanceStatus: statusSummary(machine, 'instance', now),
        SystemStatus: statusSummary(machine, 'system', now),
        ...(machine.scheduledEvents.length > 0 ? { Events: [...machine.scheduledEvents] } : {}),
      }),
    ),
    NextToken: next,
  };
}

type Check = 'instance' | 'system';

/**
 * Minimum time for which a failed check is reported, even if the instance terminates in the meantime. A client that
 * polls every 30 s then sees the failure although instances of this world can be ten times as fast as in EC2.
 */
const FAILURE_SHOWN_MS = 300_000;

const isLately = (since: number | undefined, now: number): boolean =>
  since !== undefined && now - since < FAILURE_SHOWN_MS;

const failedLately = ({ impairedSince }: Machine, now: number): boolean =>
  isLately(impairedSince.instance, now) || isLately(impairedSince.system, now);

const checkAt = (machine: Machine, check: Check, now: number): 'ok' | 'impaired' | 'not-applicable' => {
  const since = machine.impairedSince[check];
  if (machine.state !== 'running') return isLately(since, now) ? 'impaired' : 'not-applicable';
  return since === undefined ? 'ok' : 'impaired';
};

function statusSummary(machine: Machine, check: Check, now: number): InstanceStatusSummary {
  const status = checkAt(machine, check, now);
  const since = machine.impairedSince[check];
  return {
    Status: status,
    Details: [
      {
        Name: 'reachability',
        Status: since === undefined ? 'passed' : 'failed',
        ...(since === undefined ? {} : { ImpairedSince: new Date(since) }),
      },
    ],
  };
}

/** @throws AwsError the error of EC2 for a single launch; a dry run ends at the capacity check */
export function runInstances(account: Account, input: RunInstancesRequest): Reservation {
  if (input.MinCount === undefined || input.MaxCount === undefined) throw missingParameter('MinCount and MaxCount');
  if (input.MinCount < 1 || input.MaxCount < input.MinCount) {
    throw new AwsError('InvalidParameterValue', 'MinCount must be at least 1 and at most MaxCount');
  }
  const template = input.LaunchTemplate && findTemplate(account, input.LaunchTemplate);
  const data = runData(input, template?.data ?? {});
  const plan = planLaunch(account, {
    instanceType: input.InstanceType,
    subnetId: input.SubnetId ?? input.NetworkInterfaces?.[0]?.SubnetId,
    zone: input.Placement?.AvailabilityZone,
    imageId: input.ImageId,
    data,
    market: input.InstanceMarketOptions?.MarketType ?? 'on-demand',
    template,
    tags: (type) => ({
      ...specifiedTags(template?.data.TagSpecifications, type),
      ...specifiedTags(input.TagSpecifications, type),
    }),
    ...(input.ClientToken ? { clientToken: input.ClientToken } : {}),
  });
  refuseDryRun(input);

  const reservationId = account.random.id('r');
  const started: Machine[] = [];
  for (let index = 0; index < input.MaxCount; index += 1) {
    try {
      started.push(launchInstances(account, plan, reservationId));
    } catch (error) {
      if (started.length >= input.MinCount) break;
      for (const machine of started)
        account.machines.terminate(machine, { Code: 'Server.InsufficientInstanceCapacity' });
      throw error;
    }
  }
  const [reservation] = reservations(account, started);
  return reservation ?? { ReservationId: reservationId };
}

/** Merges the request into the data of the template. Members of the request take precedence. */
function runData(input: RunInstancesRequest, data: RequestLaunchTemplateData): RequestLaunchTemplateData {
  const over = {
    UserData: input.UserData,
    KeyName: input.KeyName,
    IamInstanceProfile: input.IamInstanceProfile,
    NetworkInterfaces: input.NetworkInterfaces,
    BlockDeviceMappings: input.BlockDeviceMappings,
    SecurityGroupIds: input.SecurityGroupIds,
    MetadataOptions: input.MetadataOptions,
    Monitoring: input.Monitoring,
    EbsOptimized: input.EbsOptimized,
    CapacityReservationSpecification: input.CapacityReservationSpecification,
    Placement: input.Placement,
  };
  const given = Object.fromEntries(Object.entries(over).filter(([, value]) => value !== undefined));
  return { ...data, ...given } as RequestLaunchTemplateData;
}

const BY_USER: StateReason = {
  Code: 'Client.UserInitiatedShutdown',
  Message: 'Client.UserInitiatedShutdown: User initiated shutdown',
};

export function terminateInstances(account: Account, input: TerminateInstancesRequest): TerminateInstancesResult {
  const machines = machinesOf(account, input.InstanceIds);
  refuseDryRun(input);
  for (const { id } of machines) {
    const refusal = account.faults.termination(id);
    if (refusal) throw refusal;
  }
  return { TerminatingInstances: changeStates(machines, (machine) => account.machines.terminate(machine, BY_USER)) };
}

/** @throws AwsError IncorrectInstanceState, or UnsupportedOperation for one-time spot instances */
export function stopInstances(account: Account, input: StopInstancesRequest): StopInstancesResult {
  const machines = machinesOf(account, input.InstanceIds);
  for (const { id, state, lifecycle } of machines) {
    if (lifecycle === 'spot')
      throw new AwsError(
        'UnsupportedOperation',
        `You can't stop the Spot Instance '${id}' because it is associated with a one-time Spot Instance request.`,
      );
    if (state === 'shutting-down' || state === 'terminated')
      throw new AwsError(
        'IncorrectInstanceState',
        `The instance '${id}' is not in a state from which it can be stopped.`,
      );
  }
  refuseDryRun(input);
  return { StoppingInstances: changeStates(machines, (machine) => account.machines.stop(machine, BY_USER)) };
}

/** @throws AwsError IncorrectState for instances that do not run */
export function rebootInstances(account: Account, input: RebootInstancesRequest): Record<string, never> {
  const machines = machinesOf(account, input.InstanceIds);
  for (const { id, state } of machines) {
    if (state !== 'running' && state !== 'pending')
      throw new AwsError('IncorrectState', `The instance '${id}' is not in a state from which it can be rebooted.`);
  }
  refuseDryRun(input);
  for (const machine of machines) account.machines.reboot(machine);
  return {};
}

function machinesOf(account: Account, ids: readonly string[] | undefined): readonly Machine[] {
  if (!ids?.length) throw missingParameter('InstanceId');
  return machinesBy(account, ids);
}

/** Changes instances and returns the states before and after. */
function changeStates(machines: readonly Machine[], change: (machine: Machine) => void): InstanceStateChange[] {
  return machines.map((machine) => {
    const previous: InstanceState = machine.state;
    change(machine);
    return {
      InstanceId: machine.id,
      CurrentState: { Code: stateCode(machine.state), Name: machine.state },
      PreviousState: { Code: stateCode(previous), Name: previous },
    };
  });
}

export function describeNetworkInterfaces(
  account: Account,
  input: DescribeNetworkInterfacesRequest,
): DescribeNetworkInterfacesResult {
  const rows = visibleMachines(account)
    .filter((machine) => machine.state !== 'terminated')
    .flatMap((machine) => machine.interfaces.map((each) => ({ machine, each })));
  const named = input.NetworkInterfaceIds?.map((id) => {
    const row = rows.find(({ each }) => each.id === id);
    if (!row) throw unknownId(id, 'eni');
    return row;
  });
  const found = applyFilters(
    named ?? rows,
    input.Filters,
    {
      'network-interface-id': ({ each }) => each.id,
      'attachment.instance-id': ({ machine }) => machine.id,
      'attachment.attachment-id': ({ each }) => each.attachmentId,
      'availability-zone': ({ machine }) => machine.zone,
      'subnet-id': ({ machine }) => machine.subnetId,
      'vpc-id': ({ machine }) => machine.vpcId,
      'group-id': ({ each }) => each.securityGroupIds,
      'private-ip-address': ({ each }) => each.privateIp,
      'interface-type': ({ each }) => each.type,
      status: () => 'in-use',
    },
    ({ each }) => each.tags,
  );
  const { items, next } = page(found, input, { min: 5, max: 1000 });
  return {
    NetworkInterfaces: items.map(
      ({ machine, each }): NetworkInterface => ({
        NetworkInterfaceId: each.id,
        InterfaceType: each.type as NonNullable<NetworkInterface['InterfaceType']>,
        Status: 'in-use',
        AvailabilityZone: machine.zone,
        SubnetId: machine.subnetId,
        VpcId: machine.vpcId,
        OwnerId: account.id,
        PrivateIpAddress: each.privateIp,
        PrivateDnsName: machine.privateDnsName,
        Groups: each.securityGroupIds.map((id) => ({ GroupId: id, GroupName: account.securityGroups.get(id)?.name })),
        Attachment: {
          AttachmentId: each.attachmentId,
          InstanceId: machine.id,
          DeviceIndex: each.deviceIndex,
          NetworkCardIndex: each.cardIndex,
          Status: 'attached',
        },
        ...(each.connectionTracking ? { ConnectionTrackingConfiguration: each.connectionTracking } : {}),
        TagSet: ec2Tags(each.tags),
      }),
    ),
    NextToken: next,
  };
}

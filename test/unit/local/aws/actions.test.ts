/** Actions of users and tests that change an account, called with the unmodified SDK. */
import {
  CancelCapacityReservationCommand,
  CopyImageCommand,
  CreateCapacityReservationCommand,
  CreateInterruptibleCapacityReservationAllocationCommand,
  CreatePlacementGroupCommand,
  CreateSecurityGroupCommand,
  CreateTagsCommand,
  DeletePlacementGroupCommand,
  DeleteSecurityGroupCommand,
  DescribeCapacityReservationsCommand,
  DescribeImagesCommand,
  DescribeInstanceAttributeCommand,
  DescribeInstancesCommand,
  DescribeNetworkInterfacesCommand,
  DescribePlacementGroupsCommand,
  DescribeSecurityGroupsCommand,
  DescribeSpotInstanceRequestsCommand,
  DescribeSubnetsCommand,
  DescribeVolumesCommand,
  DisableImageDeprecationCommand,
  EnableImageDeprecationCommand,
  type Instance,
  ModifySubnetAttributeCommand,
  RebootInstancesCommand,
  RunInstancesCommand,
  type RunInstancesCommandInput,
  StopInstancesCommand,
  UpdateInterruptibleCapacityReservationAllocationCommand,
} from '@aws-sdk/client-ec2';
import {
  AttachRolePolicyCommand,
  CreateRoleCommand,
  DeleteRoleCommand,
  DeleteRolePolicyCommand,
  DetachRolePolicyCommand,
  GetRolePolicyCommand,
  IAMClient,
  ListAttachedRolePoliciesCommand,
  ListRolePoliciesCommand,
  ListRolesCommand,
  PutRolePolicyCommand,
} from '@aws-sdk/client-iam';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { codeOf, type Fixture, startFixture } from './fixture.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await startFixture();
});
afterEach(() => fixture.close());

/** Launches an instance. */
async function run(more: Partial<RunInstancesCommandInput> = {}): Promise<Instance> {
  const { Instances } = await fixture.ec2.send(
    new RunInstancesCommand({
      ImageId: fixture.imageId,
      InstanceType: 'm5.large',
      MinCount: 1,
      MaxCount: 1,
      ...(more.NetworkInterfaces ? {} : { SubnetId: fixture.subnets[0]?.SubnetId }),
      ...more,
    }),
  );
  await fixture.clock.advance(10_000);
  return describeOne(Instances?.[0]?.InstanceId);
}

async function describeOne(id = ''): Promise<Instance> {
  const { Reservations } = await fixture.ec2.send(new DescribeInstancesCommand({ InstanceIds: [id] }));
  return Reservations?.[0]?.Instances?.[0] as Instance;
}

describe('a capacity reservation', () => {
  const create = () =>
    fixture.ec2.send(
      new CreateCapacityReservationCommand({
        InstanceType: 'm5.large',
        InstancePlatform: 'Linux/UNIX',
        AvailabilityZone: 'us-west-2a',
        InstanceCount: 2,
        InstanceMatchCriteria: 'targeted',
        TagSpecifications: [{ ResourceType: 'capacity-reservation', Tags: [{ Key: 'team', Value: 'a' }] }],
      }),
    );

  it('is created, used and cancelled, and its instances then become on-demand', async () => {
    const { CapacityReservation: made } = await create();
    const id = made?.CapacityReservationId as string;
    expect(made).toMatchObject({
      State: 'active',
      TotalInstanceCount: 2,
      AvailableInstanceCount: 2,
      InstanceMatchCriteria: 'targeted',
      EndDateType: 'unlimited',
      Tags: [{ Key: 'team', Value: 'a' }],
    });
    const target = { CapacityReservationTarget: { CapacityReservationId: id } };
    const instance = await run({ CapacityReservationSpecification: target });
    expect(instance.CapacityReservationId).toBe(id);
    const local = fixture.aws.instances.get(instance.InstanceId as string);
    expect(local?.capacityType).toBe('reserved');

    const cancel = new CancelCapacityReservationCommand({ CapacityReservationId: id });
    expect((await fixture.ec2.send(cancel)).Return).toBe(true);
    const { CapacityReservations } = await fixture.ec2.send(
      new DescribeCapacityReservationsCommand({ CapacityReservationIds: [id] }),
    );
    expect(CapacityReservations).toMatchObject([{ State: 'cancelled', AvailableInstanceCount: 0 }]);
    const after = await describeOne(instance.InstanceId);
    expect([after.State?.Name, after.CapacityReservationId]).toEqual(['running', undefined]);
    expect([local?.capacityType, local?.capacityReservationId]).toEqual(['on-demand', undefined]);
    expect((await fixture.ec2.send(cancel)).Return).toBe(true);
  });

  it.each([
    ['an unknown type', { InstanceType: 'm5.enormous' }, 'InvalidParameterValue'],
    ['an unknown zone', { AvailabilityZone: 'us-west-2z' }, 'InvalidParameterValue'],
    ['no instance', { InstanceCount: 0 }, 'InvalidParameterValue'],
    ['a dry run', { DryRun: true }, 'DryRunOperation'],
  ])('is rejected for %s', async (_, more, code) => {
    const base = { InstanceType: 'm5.large', AvailabilityZone: 'us-west-2a', InstanceCount: 1 };
    const input = { ...base, InstancePlatform: 'Linux/UNIX' as const, ...more };
    expect(await codeOf(fixture.ec2.send(new CreateCapacityReservationCommand(input)))).toBe(code);
  });

  it('gives unused instances to an interruptible reservation', async () => {
    const { CapacityReservation: made } = await create();
    const CapacityReservationId = made?.CapacityReservationId ?? '';
    const allocate = (InstanceCount: number) =>
      fixture.ec2.send(
        new CreateInterruptibleCapacityReservationAllocationCommand({ CapacityReservationId, InstanceCount }),
      );
    expect(await codeOf(allocate(3))).toBe('InsufficientCapacity');
    expect(await allocate(1)).toMatchObject({ SourceCapacityReservationId: CapacityReservationId, Status: 'active' });
    const { CapacityReservations = [] } = await fixture.ec2.send(new DescribeCapacityReservationsCommand({}));
    expect(CapacityReservations).toMatchObject([
      { CapacityReservationId, TotalInstanceCount: 1, AvailableInstanceCount: 1 },
      { Interruptible: true, TotalInstanceCount: 1, InterruptionInfo: { InterruptionType: 'adhoc' } },
    ]);
  });

  it('takes unused instances of an interruptible reservation back', async () => {
    const { CapacityReservation: made } = await create();
    const CapacityReservationId = made?.CapacityReservationId ?? '';
    const update = (TargetInstanceCount: number) =>
      fixture.ec2.send(
        new UpdateInterruptibleCapacityReservationAllocationCommand({ CapacityReservationId, TargetInstanceCount }),
      );
    expect(await codeOf(update(0))).toBe('InvalidParameterValue');
    const counts = { CapacityReservationId, InstanceCount: 2 };
    await fixture.ec2.send(new CreateInterruptibleCapacityReservationAllocationCommand(counts));
    expect(await update(1)).toMatchObject({ InstanceCount: 1, TargetInstanceCount: 1, Status: 'active' });
    const { CapacityReservations = [] } = await fixture.ec2.send(new DescribeCapacityReservationsCommand({}));
    expect(CapacityReservations).toMatchObject([
      { CapacityReservationId, TotalInstanceCount: 1, AvailableInstanceCount: 1 },
      { Interruptible: true, TotalInstanceCount: 1, AvailableInstanceCount: 1 },
    ]);
    expect(await codeOf(update(3))).toBe('InsufficientCapacity');
  });

  it('cannot be cancelled if it does not exist', async () => {
    const cancel = new CancelCapacityReservationCommand({ CapacityReservationId: 'cr-0123' });
    expect(await codeOf(fixture.ec2.send(cancel))).toBe('InvalidCapacityReservationId.NotFound');
  });
});

describe('a placement group', () => {
  it('is created, and deleted if it has no instances', async () => {
    const { PlacementGroup: made } = await fixture.ec2.send(
      new CreatePlacementGroupCommand({ GroupName: 'close', Strategy: 'cluster' }),
    );
    expect(made).toMatchObject({ GroupName: 'close', Strategy: 'cluster', State: 'available' });
    const again = new CreatePlacementGroupCommand({ GroupName: 'close', Strategy: 'spread' });
    expect(await codeOf(fixture.ec2.send(again))).toBe('InvalidPlacementGroup.Duplicate');
    const { InstanceId: id } = await run({ Placement: { GroupName: 'close' } });
    const remove = new DeletePlacementGroupCommand({ GroupName: 'close' });
    expect(await codeOf(fixture.ec2.send(remove))).toBe('InvalidPlacementGroup.InUse');
    fixture.aws.faults.terminate(id as string);
    await fixture.clock.advance(60_000);
    await fixture.ec2.send(remove);
    expect((await fixture.ec2.send(new DescribePlacementGroupsCommand({}))).PlacementGroups).toEqual([]);
    expect(await codeOf(fixture.ec2.send(remove))).toBe('InvalidPlacementGroup.Unknown');
  });

  it('has the requested number of partitions', async () => {
    const { PlacementGroup: made } = await fixture.ec2.send(
      new CreatePlacementGroupCommand({ GroupName: 'apart', Strategy: 'partition', PartitionCount: 5 }),
    );
    expect(made?.PartitionCount).toBe(5);
    const input = { GroupName: 'wrong', Strategy: 'spread' as const, PartitionCount: 2 };
    expect(await codeOf(fixture.ec2.send(new CreatePlacementGroupCommand(input)))).toBe('InvalidParameterValue');
  });
});

describe('an instance', () => {
  it('can be stopped, unless it is a spot instance', async () => {
    const { InstanceId: id = '' } = await run();
    const { StoppingInstances } = await fixture.ec2.send(new StopInstancesCommand({ InstanceIds: [id] }));
    expect(StoppingInstances).toMatchObject([
      { InstanceId: id, CurrentState: { Code: 64, Name: 'stopping' }, PreviousState: { Name: 'running' } },
    ]);
    await fixture.clock.advance(60_000);
    expect((await describeOne(id)).State?.Name).toBe('stopped');
    const { InstanceId: spot = '' } = await run({ InstanceMarketOptions: { MarketType: 'spot' } });
    const stop = new StopInstancesCommand({ InstanceIds: [spot] });
    expect(await codeOf(fixture.ec2.send(stop))).toBe('UnsupportedOperation');
  });

  it('can be rebooted while it runs, and keeps its state', async () => {
    const { InstanceId: id = '' } = await run();
    await fixture.ec2.send(new RebootInstancesCommand({ InstanceIds: [id] }));
    expect((await describeOne(id)).State?.Name).toBe('running');
    await fixture.ec2.send(new StopInstancesCommand({ InstanceIds: [id] }));
    await fixture.clock.advance(60_000);
    expect(await codeOf(fixture.ec2.send(new RebootInstancesCommand({ InstanceIds: [id] })))).toBe('IncorrectState');
    expect(await codeOf(fixture.ec2.send(new RebootInstancesCommand({ InstanceIds: ['i-0123456789abcdef0'] })))).toBe(
      'InvalidInstanceID.NotFound',
    );
  });

  it('has its volumes', async () => {
    const { InstanceId: id = '' } = await run({
      BlockDeviceMappings: [
        {
          DeviceName: '/dev/xvda',
          Ebs: { VolumeSize: 30, VolumeType: 'gp3', Iops: 4000, Throughput: 200, Encrypted: true },
        },
      ],
      TagSpecifications: [{ ResourceType: 'volume', Tags: [{ Key: 'team', Value: 'a' }] }],
    });
    const { Volumes } = await fixture.ec2.send(
      new DescribeVolumesCommand({ Filters: [{ Name: 'attachment.instance-id', Values: [id] }] }),
    );
    expect(Volumes).toMatchObject([
      {
        Size: 30,
        VolumeType: 'gp3',
        Iops: 4000,
        Throughput: 200,
        Encrypted: true,
        State: 'in-use',
        Attachments: [{ InstanceId: id, Device: '/dev/xvda', State: 'attached' }],
        Tags: [{ Key: 'team', Value: 'a' }],
      },
    ]);
    const named = new DescribeVolumesCommand({ VolumeIds: [Volumes?.[0]?.VolumeId ?? ''] });
    expect((await fixture.ec2.send(named)).Volumes).toHaveLength(1);
    const unknown = new DescribeVolumesCommand({ VolumeIds: ['vol-0123'] });
    expect(await codeOf(fixture.ec2.send(unknown))).toBe('InvalidVolume.NotFound');
  });

  it('has its user data', async () => {
    const UserData = Buffer.from('#!/bin/sh\necho hi').toString('base64');
    const { InstanceId } = await run({ UserData });
    const read = (Attribute: 'userData' | 'instanceType') =>
      fixture.ec2.send(new DescribeInstanceAttributeCommand({ InstanceId, Attribute }));
    expect((await read('userData')).UserData?.Value).toBe(UserData);
    expect((await read('instanceType')).InstanceType?.Value).toBe('m5.large');
    const { InstanceId: bare } = await run();
    const none = new DescribeInstanceAttributeCommand({ InstanceId: bare, Attribute: 'userData' });
    expect((await fixture.ec2.send(none)).UserData?.Value).toBeUndefined();
    const unknown = new DescribeInstanceAttributeCommand({ InstanceId: 'i-0123', Attribute: 'userData' });
    expect(await codeOf(fixture.ec2.send(unknown))).toBe('InvalidInstanceID.NotFound');
  });

  it('has the CPU options and connection tracking of its launch template', async () => {
    const tracking = { TcpEstablishedTimeout: 100, UdpTimeout: 30 };
    const template = await fixture.template('tracked', {
      CpuOptions: { CoreCount: 1, ThreadsPerCore: 1 },
      NetworkInterfaces: [{ DeviceIndex: 0, ConnectionTrackingSpecification: tracking }],
    });
    await fixture.fleet({ template, types: ['m5.large'] });
    const [machine] = fixture.aws.instances.list();
    expect((await describeOne(machine?.id)).CpuOptions).toMatchObject({ CoreCount: 1, ThreadsPerCore: 1 });
    const { NetworkInterfaces } = await fixture.ec2.send(new DescribeNetworkInterfacesCommand({}));
    expect(NetworkInterfaces).toMatchObject([{ ConnectionTrackingConfiguration: tracking }]);
  });

  it('has a spot request with separate tags', async () => {
    const { InstanceId: id, SpotInstanceRequestId: request = '' } = await run({
      InstanceMarketOptions: { MarketType: 'spot' },
      TagSpecifications: [{ ResourceType: 'spot-instances-request', Tags: [{ Key: 'team', Value: 'a' }] }],
    });
    await fixture.ec2.send(new CreateTagsCommand({ Resources: [request], Tags: [{ Key: 'cost', Value: 'b' }] }));
    const find = (Filters: { Name: string; Values: string[] }[]) =>
      fixture.ec2.send(new DescribeSpotInstanceRequestsCommand({ Filters }));
    const { SpotInstanceRequests } = await find([{ Name: 'tag:team', Values: ['a'] }]);
    expect(SpotInstanceRequests).toMatchObject([
      { SpotInstanceRequestId: request, InstanceId: id, State: 'active', Status: { Code: 'fulfilled' } },
    ]);
    expect(SpotInstanceRequests?.[0]?.Tags).toContainEqual({ Key: 'cost', Value: 'b' });
    fixture.aws.faults.terminate(id as string);
    expect((await find([{ Name: 'state', Values: ['closed'] }])).SpotInstanceRequests).toHaveLength(1);
  });
});

describe('the network', () => {
  it('assigns public addresses to new instances if the subnet is configured so', async () => {
    const SubnetId = fixture.subnets[0]?.SubnetId ?? '';
    expect((await run()).PublicIpAddress).toBeUndefined();
    const MapPublicIpOnLaunch = { Value: true };
    await fixture.ec2.send(new ModifySubnetAttributeCommand({ SubnetId, MapPublicIpOnLaunch }));
    const { Subnets } = await fixture.ec2.send(new DescribeSubnetsCommand({ SubnetIds: [SubnetId] }));
    expect(Subnets?.[0]?.MapPublicIpOnLaunch).toBe(true);
    expect((await run()).PublicIpAddress).toBeDefined();
    const unknown = new ModifySubnetAttributeCommand({ SubnetId: 'subnet-0123', MapPublicIpOnLaunch });
    expect(await codeOf(fixture.ec2.send(unknown))).toBe('InvalidSubnetID.NotFound');
  });

  it('names new instances by their resource if the subnet is configured so', async () => {
    const SubnetId = fixture.subnets[0]?.SubnetId ?? '';
    const { PrivateDnsName } = await run();
    expect(PrivateDnsName).toMatch(/^ip-10-0-/);
    await fixture.ec2.send(
      new ModifySubnetAttributeCommand({ SubnetId, PrivateDnsHostnameTypeOnLaunch: 'resource-name' }),
    );
    const { InstanceId, PrivateDnsName: named } = await run();
    expect(named).toBe(`${InstanceId}.us-west-2.compute.internal`);
    const records = { SubnetId, EnableResourceNameDnsARecordOnLaunch: { Value: true } };
    await fixture.ec2.send(new ModifySubnetAttributeCommand(records));
    const { Subnets } = await fixture.ec2.send(new DescribeSubnetsCommand({ SubnetIds: [SubnetId] }));
    expect(Subnets?.[0]?.PrivateDnsNameOptionsOnLaunch).toEqual({
      HostnameType: 'resource-name',
      EnableResourceNameDnsARecord: true,
      EnableResourceNameDnsAAAARecord: false,
    });
    const two = { SubnetId, MapPublicIpOnLaunch: { Value: true }, EnableDns64: { Value: true } };
    expect(await codeOf(fixture.ec2.send(new ModifySubnetAttributeCommand(two)))).toBe('InvalidParameterCombination');
  });

  it('assigns IPv6 addresses and records to new instances if the subnet is configured so', async () => {
    const SubnetId = fixture.subnets[0]?.SubnetId ?? '';
    expect((await run()).Ipv6Address).toBeUndefined();
    const on = { Value: true };
    for (const change of [
      { AssignIpv6AddressOnCreation: on },
      { EnableDns64: on },
      { EnableResourceNameDnsAAAARecordOnLaunch: on },
    ])
      await fixture.ec2.send(new ModifySubnetAttributeCommand({ SubnetId, ...change }));
    const { Subnets } = await fixture.ec2.send(new DescribeSubnetsCommand({ SubnetIds: [SubnetId] }));
    expect(Subnets?.[0]).toMatchObject({
      AssignIpv6AddressOnCreation: true,
      EnableDns64: true,
      PrivateDnsNameOptionsOnLaunch: { EnableResourceNameDnsAAAARecord: true },
    });
    expect((await run()).Ipv6Address).toMatch(/^2600:1f14:0:a:0:/);
    const outpost = new ModifySubnetAttributeCommand({ SubnetId, EnableLniAtDeviceIndex: 1 });
    await expect(fixture.ec2.send(outpost)).rejects.toThrow('EnableLniAtDeviceIndex requires a subnet on an Outpost');
  });

  it('creates and deletes security groups that are not in use', async () => {
    const input = { GroupName: 'mine', Description: 'for a test', VpcId: fixture.subnets[0]?.VpcId };
    const Tags = [{ Key: 'karpenter.sh/discovery', Value: 'demo' }];
    const { GroupId = '' } = await fixture.ec2.send(
      new CreateSecurityGroupCommand({ ...input, TagSpecifications: [{ ResourceType: 'security-group', Tags }] }),
    );
    expect(await codeOf(fixture.ec2.send(new CreateSecurityGroupCommand(input)))).toBe('InvalidGroup.Duplicate');
    const found = await fixture.ec2.send(new DescribeSecurityGroupsCommand({ GroupIds: [GroupId] }));
    expect(found.SecurityGroups).toMatchObject([{ GroupName: 'mine', Description: 'for a test', Tags }]);
    const { InstanceId } = await run({ SecurityGroupIds: [GroupId] });
    const remove = new DeleteSecurityGroupCommand({ GroupId });
    expect(await codeOf(fixture.ec2.send(remove))).toBe('DependencyViolation');
    fixture.aws.faults.terminate(InstanceId as string);
    await fixture.clock.advance(60_000);
    await fixture.ec2.send(remove);
    expect(await codeOf(fixture.ec2.send(remove))).toBe('InvalidGroup.NotFound');
  });
});

describe('an image', () => {
  it('is copied and deprecated', async () => {
    const { ImageId = '' } = await fixture.ec2.send(
      new CopyImageCommand({ Name: 'copy', SourceImageId: fixture.imageId, SourceRegion: 'us-west-2' }),
    );
    const describeCopy = async () =>
      (await fixture.ec2.send(new DescribeImagesCommand({ ImageIds: [ImageId] }))).Images;
    expect(await describeCopy()).toMatchObject([{ Name: 'copy', OwnerId: fixture.aws.accountId, State: 'available' }]);
    const DeprecateAt = new Date(fixture.clock.now() + 3_600_000);
    await fixture.ec2.send(new EnableImageDeprecationCommand({ ImageId, DeprecateAt }));
    const [deprecated] = (await describeCopy()) ?? [];
    expect(Math.abs(Date.parse(deprecated?.DeprecationTime ?? '') - DeprecateAt.getTime())).toBeLessThanOrEqual(30_000);
    await fixture.ec2.send(new DisableImageDeprecationCommand({ ImageId }));
    expect((await describeCopy())?.[0]?.DeprecationTime).toBeUndefined();
    const present = new EnableImageDeprecationCommand({ ImageId, DeprecateAt: new Date(fixture.clock.now()) });
    expect((await fixture.ec2.send(present)).Return).toBe(true);
    const past = new EnableImageDeprecationCommand({ ImageId, DeprecateAt: new Date(0) });
    expect(await codeOf(fixture.ec2.send(past))).toBe('InvalidParameterValue');
  });

  it('cannot be deprecated if it is of another account', async () => {
    const ImageId = fixture.aws.seed.image({ name: 'theirs', ownerId: '999999999999' });
    const DeprecateAt = new Date(fixture.clock.now() + 3_600_000);
    expect(await codeOf(fixture.ec2.send(new EnableImageDeprecationCommand({ ImageId, DeprecateAt })))).toBe(
      'AuthFailure',
    );
  });
});

describe('an IAM role', () => {
  let iam: IAMClient;
  const RoleName = 'operator';
  beforeEach(async () => {
    iam = new IAMClient(fixture.config);
    await iam.send(new CreateRoleCommand({ RoleName, AssumeRolePolicyDocument: '{}' }));
  });
  afterEach(() => iam.destroy());

  it('is listed in pages', async () => {
    const first = await iam.send(new ListRolesCommand({ MaxItems: 1 }));
    expect([first.Roles?.length, first.IsTruncated]).toEqual([1, true]);
    const rest = await iam.send(new ListRolesCommand({ Marker: first.Marker }));
    expect([...(first.Roles ?? []), ...(rest.Roles ?? [])].map((role) => role.RoleName)).toContain(RoleName);
    expect((await iam.send(new ListRolesCommand({ PathPrefix: '/none/' }))).Roles).toEqual([]);
  });

  it('denies actions while its policy denies them', async () => {
    const policy = (Effect: string) =>
      JSON.stringify({
        Version: '2012-10-17',
        Statement: [{ Effect, Action: ['ec2:DescribeSubnets'], Resource: '*' }],
      });
    const put = (PolicyDocument: string) =>
      iam.send(new PutRolePolicyCommand({ RoleName, PolicyName: 'deny', PolicyDocument }));
    const describeSubnets = () => fixture.ec2.send(new DescribeSubnetsCommand({}));
    await put(policy('Deny'));
    expect(await codeOf(describeSubnets())).toBe('UnauthorizedOperation');
    const got = await iam.send(new GetRolePolicyCommand({ RoleName, PolicyName: 'deny' }));
    expect(decodeURIComponent(got.PolicyDocument ?? '')).toBe(policy('Deny'));
    expect((await iam.send(new ListRolePoliciesCommand({ RoleName }))).PolicyNames).toEqual(['deny']);
    await put(policy('Allow'));
    await describeSubnets();
    await put(policy('Deny'));
    await iam.send(new DeleteRolePolicyCommand({ RoleName, PolicyName: 'deny' }));
    await describeSubnets();
    expect(await codeOf(put('nonsense'))).toBe('MalformedPolicyDocument');
  });

  it('has managed policies, and can be deleted without policies', async () => {
    const PolicyArn = 'arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy';
    await iam.send(new AttachRolePolicyCommand({ RoleName, PolicyArn }));
    const { AttachedPolicies } = await iam.send(new ListAttachedRolePoliciesCommand({ RoleName }));
    expect(AttachedPolicies).toEqual([{ PolicyArn, PolicyName: 'AmazonEKSWorkerNodePolicy' }]);
    expect(await codeOf(iam.send(new DeleteRoleCommand({ RoleName })))).toBe('DeleteConflict');
    await iam.send(new DetachRolePolicyCommand({ RoleName, PolicyArn }));
    await iam.send(new DeleteRoleCommand({ RoleName }));
    expect(await codeOf(iam.send(new ListRolePoliciesCommand({ RoleName })))).toBe('NoSuchEntity');
  });
});

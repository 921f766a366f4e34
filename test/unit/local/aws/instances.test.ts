import {
  CreateTagsCommand,
  DeleteTagsCommand,
  DescribeInstanceStatusCommand,
  DescribeInstancesCommand,
  DescribeNetworkInterfacesCommand,
  DescribeTagsCommand,
  type Instance,
  RunInstancesCommand,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { codeOf, type Fixture, instanceIds, startFixture } from './fixture.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await startFixture();
});
afterEach(() => fixture.close());

const buy = async (on: Fixture = fixture, market: 'spot' | 'on-demand' = 'on-demand'): Promise<string> => {
  const template = await on.template(undefined, { UserData: Buffer.from('#!/bin/sh\necho hi').toString('base64') });
  const answer = await on.fleet({ template, types: ['m5.large'], market });
  return String(instanceIds(answer)[0]);
};
const describeOne = async (id: string, on: Fixture = fixture): Promise<Instance | undefined> =>
  (await on.ec2.send(new DescribeInstancesCommand({ InstanceIds: [id] }))).Reservations?.[0]?.Instances?.[0];

describe('an instance', () => {
  it('changes from pending to running to terminated on the clock, and notifies subscribers', async () => {
    const seen: string[] = [];
    fixture.aws.instances.subscribe((instance, previous) => seen.push(`${previous ?? 'new'} → ${instance.state}`));
    const id = await buy();
    await fixture.clock.advance(7_000);
    expect((await describeOne(id))?.State).toEqual({ Code: 0, Name: 'pending' });
    await fixture.clock.advance(1_000);
    expect((await describeOne(id))?.State).toEqual({ Code: 16, Name: 'running' });

    const answer = await fixture.ec2.send(new TerminateInstancesCommand({ InstanceIds: [id] }));
    expect(answer.TerminatingInstances?.[0]).toMatchObject({
      PreviousState: { Name: 'running' },
      CurrentState: { Name: 'shutting-down' },
    });
    const again = await fixture.ec2.send(new TerminateInstancesCommand({ InstanceIds: [id] }));
    expect(again.TerminatingInstances?.[0]?.PreviousState?.Name).toBe('shutting-down');
    await fixture.clock.advance(15_000);
    expect(await describeOne(id)).toMatchObject({ State: { Name: 'terminated' } });
    expect((await describeOne(id))?.PrivateIpAddress).toBeUndefined();
    await fixture.clock.advance(3_600_000);
    expect(await codeOf(describeOne(id))).toBe('InvalidInstanceID.NotFound');
    expect(seen).toEqual([
      'new → pending',
      'pending → running',
      'running → shutting-down',
      'shutting-down → terminated',
    ]);
  });

  it('has its address, name, disks and decoded user data', async () => {
    const id = await buy();
    const local = fixture.aws.instances.get(id);
    expect(local).toMatchObject({
      privateIp: '10.0.0.4',
      privateDnsName: 'ip-10-0-0-4.us-west-2.compute.internal',
      userData: '#!/bin/sh\necho hi',
      architecture: 'x86_64',
      zoneId: 'usw2-az2',
      joins: true,
      volumes: [{ deviceName: '/dev/xvda', sizeGiB: 8 }],
    });
    expect(await describeOne(id)).toMatchObject({
      PrivateIpAddress: '10.0.0.4',
      SubnetId: fixture.subnets[0]?.SubnetId,
      Placement: { AvailabilityZone: 'us-west-2a', AvailabilityZoneId: 'usw2-az2' },
      BlockDeviceMappings: [{ DeviceName: '/dev/xvda' }],
    });
    const interfaces = await fixture.ec2.send(
      new DescribeNetworkInterfacesCommand({ Filters: [{ Name: 'attachment.instance-id', Values: [id] }] }),
    );
    expect(interfaces.NetworkInterfaces).toMatchObject([{ PrivateIpAddress: '10.0.0.4' }]);
  });

  it('is unknown to reads and tagging until it is visible', async () => {
    const slow = await startFixture();
    slow.aws.faults.add({ kind: 'invisible', ms: 2_000 });
    try {
      const id = await buy(slow);
      const tag = new CreateTagsCommand({ Resources: [id], Tags: [{ Key: 'a', Value: 'b' }] });
      expect(await codeOf(describeOne(id, slow))).toBe('InvalidInstanceID.NotFound');
      expect(await codeOf(slow.ec2.send(tag))).toBe('InvalidInstanceID.NotFound');
      await slow.clock.advance(2_000);
      await slow.ec2.send(tag);
      expect((await describeOne(id, slow))?.Tags).toContainEqual({ Key: 'a', Value: 'b' });
    } finally {
      await slow.close();
    }
  });

  it('is found by state and tags in pages', async () => {
    const template = await fixture.template();
    const tags = [{ Key: 'karpenter.sh/nodepool', Value: 'default' }];
    for (let index = 0; index < 7; index += 1) {
      await fixture.fleet({
        template,
        types: ['m5.large'],
        more: { TagSpecifications: [{ ResourceType: 'instance', Tags: tags }] },
      });
    }
    await fixture.fleet({ template, types: ['m5.large'] });
    const Filters = [
      { Name: 'tag-key', Values: ['karpenter.sh/nodepool'] },
      { Name: 'instance-state-name', Values: ['pending', 'running'] },
    ];
    const first = await fixture.ec2.send(new DescribeInstancesCommand({ Filters, MaxResults: 5 }));
    const second = await fixture.ec2.send(
      new DescribeInstancesCommand({ Filters, MaxResults: 5, NextToken: first.NextToken }),
    );
    const ids = [first, second].flatMap((page) => page.Reservations?.flatMap((each) => each.Instances ?? []) ?? []);
    expect(new Set(ids.map((instance) => instance.InstanceId)).size).toBe(7);
    expect(second.NextToken).toBeUndefined();
  });

  it('can be stopped externally, and fails status checks if it is impaired', async () => {
    const id = await buy();
    await fixture.clock.advance(8_000);
    const impaired = async (): Promise<number | undefined> =>
      (
        await fixture.ec2.send(
          new DescribeInstanceStatusCommand({ Filters: [{ Name: 'system-status.status', Values: ['impaired'] }] }),
        )
      ).InstanceStatuses?.length;
    expect(await impaired()).toBe(0);
    fixture.aws.faults.impair(id, 'system');
    expect(await impaired()).toBe(1);
    fixture.aws.faults.recover(id);
    expect(await impaired()).toBe(0);

    fixture.aws.faults.scheduleChange(id);
    const events = await fixture.ec2.send(
      new DescribeInstanceStatusCommand({ Filters: [{ Name: 'event.code', Values: ['system-maintenance'] }] }),
    );
    expect(events.InstanceStatuses).toMatchObject([{ InstanceId: id, Events: [{ Code: 'system-maintenance' }] }]);

    fixture.aws.faults.stop(id);
    await fixture.clock.advance(15_000);
    expect((await describeOne(id))?.State?.Name).toBe('stopped');
  });

  it.each(['instance', 'system'] as const)('has a failed %s check for a while after its termination', async (check) => {
    const id = await buy();
    await fixture.clock.advance(8_000);
    const Filters = [{ Name: `${check}-status.status`, Values: ['impaired'] }];
    const impaired = async (): Promise<readonly (string | undefined)[]> => {
      const answer = await fixture.ec2.send(new DescribeInstanceStatusCommand({ Filters }));
      return (answer.InstanceStatuses ?? []).map(({ InstanceState }) => InstanceState?.Name);
    };
    fixture.aws.faults.impair(id, check);
    expect(await impaired()).toEqual(['running']);
    fixture.aws.faults.terminate(id);
    // At ten times the speed, instances are gone before a client that polls every 30 s lists them again.
    await fixture.clock.advance(299_000);
    expect(await impaired()).toEqual(['terminated']);
    await fixture.clock.advance(2_000);
    expect(await impaired()).toEqual([]);
  });
});

describe('the cost of instances', () => {
  it('is charged per second from running to the end, at least for a minute', async () => {
    const id = await buy();
    await fixture.clock.advance(8_000);
    await fixture.clock.advance(30_000);
    expect(fixture.aws.spending.usd(id)).toBeCloseTo(0.096 / 60, 8);
    expect(fixture.aws.spending.usdPerHour()).toBeCloseTo(0.096, 8);
    await fixture.clock.advance(30 * 60_000 - 30_000);
    fixture.aws.faults.terminate(id);
    await fixture.clock.advance(2 * 3_600_000);
    expect(fixture.aws.spending.usd()).toBeCloseTo(0.048, 8);
    expect(fixture.aws.spending.usdPerHour()).toBe(0);
  });
});

describe('RunInstances', () => {
  const run = (more: object): Promise<unknown> =>
    fixture.ec2.send(
      new RunInstancesCommand({
        MinCount: 1,
        MaxCount: 1,
        InstanceType: 'm5.large',
        ImageId: fixture.imageId,
        NetworkInterfaces: [{ DeviceIndex: 0, SubnetId: fixture.subnets[0]?.SubnetId }],
        ...more,
      }),
    );

  it('launches instances', async () => {
    expect(await run({ MaxCount: 2 })).toMatchObject({
      Instances: [{ InstanceType: 'm5.large' }, { AmiLaunchIndex: 1 }],
    });
  });

  it.each([
    { when: 'all is well in a dry run', more: { DryRun: true }, code: 'DryRunOperation' },
    { when: 'the image is unknown', more: { DryRun: true, ImageId: 'ami-0123' }, code: 'InvalidAMIID.NotFound' },
    { when: 'the image id is no id', more: { DryRun: true, ImageId: 'mine' }, code: 'InvalidAMIID.Malformed' },
    {
      when: 'the profile is unknown',
      more: { DryRun: true, IamInstanceProfile: { Name: 'none' } },
      code: 'InvalidParameterValue',
    },
    {
      when: 'the subnet is unknown',
      more: { NetworkInterfaces: [{ SubnetId: 'subnet-0123' }] },
      code: 'InvalidSubnetID.NotFound',
    },
    {
      when: 'the disk is too small',
      more: { BlockDeviceMappings: [{ DeviceName: '/dev/xvda', Ebs: { VolumeSize: 4 } }] },
      code: 'InvalidBlockDeviceMapping',
    },
  ])('returns $code if $when', async ({ more, code }) => {
    expect(await codeOf(run(more))).toBe(code);
    expect(fixture.aws.instances.list()).toEqual([]);
  });

  it('reports that security group and subnet are in different networks', async () => {
    const vpcId = fixture.aws.seed.vpc({ cidr: '10.9.0.0/16' });
    const group = fixture.aws.seed.securityGroup({ name: 'elsewhere', vpcId });
    const NetworkInterfaces = [{ DeviceIndex: 0, SubnetId: fixture.subnets[0]?.SubnetId, Groups: [group] }];
    await expect(run({ NetworkInterfaces })).rejects.toThrow('belong to different networks');
  });
});

describe('a tag', () => {
  it('is merged, listed and removed', async () => {
    const id = await buy();
    const list = async (): Promise<Record<string, string>> => {
      const { Tags = [] } = await fixture.ec2.send(
        new DescribeTagsCommand({
          Filters: [
            { Name: 'resource-id', Values: [id] },
            { Name: 'key', Values: ['t?'] },
          ],
        }),
      );
      return Object.fromEntries(Tags.map((tag) => [String(tag.Key), String(tag.Value)]));
    };
    const tag = (tags: Record<string, string>): Promise<unknown> =>
      fixture.ec2.send(
        new CreateTagsCommand({ Resources: [id], Tags: Object.entries(tags).map(([Key, Value]) => ({ Key, Value })) }),
      );
    await tag({ t1: 'a', t2: 'b' });
    await tag({ t2: 'c' });
    expect(await list()).toEqual({ t1: 'a', t2: 'c' });
    await fixture.ec2.send(
      new DeleteTagsCommand({ Resources: [id], Tags: [{ Key: 't1' }, { Key: 't2', Value: 'other' }] }),
    );
    expect(await list()).toEqual({ t2: 'c' });
    expect(await codeOf(tag({ 'aws:mine': 'x' }))).toBe('InvalidParameterValue');
  });

  it.each(['volume', 'network-interface', 'launch-template', 'subnet'])('can be put on a %s', async (kind) => {
    const instance = await describeOne(await buy());
    const ids: Record<string, string | undefined> = {
      volume: instance?.BlockDeviceMappings?.[0]?.Ebs?.VolumeId,
      'network-interface': instance?.NetworkInterfaces?.[0]?.NetworkInterfaceId,
      'launch-template': instance?.Tags?.find((tag) => tag.Key === 'aws:ec2launchtemplate:id')?.Value,
      subnet: instance?.SubnetId,
    };
    const tagIt = (id: string): Promise<unknown> =>
      fixture.ec2.send(new CreateTagsCommand({ Resources: [id], Tags: [{ Key: 'mine', Value: kind }] }));
    await tagIt(String(ids[kind]));
    const { Tags } = await fixture.ec2.send(new DescribeTagsCommand({ Filters: [{ Name: 'key', Values: ['mine'] }] }));
    expect(Tags).toEqual([{ ResourceId: ids[kind], ResourceType: kind, Key: 'mine', Value: kind }]);
    expect(await codeOf(tagIt(`${ids[kind]}0`))).toMatch(/NotFound$/);
  });
});

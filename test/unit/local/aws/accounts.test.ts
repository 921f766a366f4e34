import {
  type _InstanceType,
  DeleteLaunchTemplateCommand,
  DescribeAvailabilityZonesCommand,
  DescribeCapacityReservationsCommand,
  DescribeImagesCommand,
  DescribeInstanceTypeOfferingsCommand,
  DescribeInstanceTypesCommand,
  DescribeLaunchTemplatesCommand,
  type DescribeLaunchTemplatesCommandOutput,
  DescribePlacementGroupsCommand,
  DescribeSecurityGroupsCommand,
  DescribeSpotPriceHistoryCommand,
  DescribeSubnetsCommand,
  type InstanceTypeInfo,
  paginateDescribeInstanceTypes,
} from '@aws-sdk/client-ec2';
import { GetParameterCommand, SSMClient } from '@aws-sdk/client-ssm';
import { describe, expect, it } from '@jest/globals';
import { ruleBuiltCatalogue } from '../../../../src/local/aws/catalogue/catalogue.ts';
import type { LocalAwsOptions } from '../../../../src/local/aws/server.ts';
import { codeOf, type Fixture, instanceIds, startFixture } from './fixture.ts';

async function within(options: Partial<LocalAwsOptions>, test: (fixture: Fixture) => Promise<void>): Promise<void> {
  const fixture = await startFixture(options);
  try {
    await test(fixture);
  } finally {
    await fixture.close();
  }
}

describe('a ready EKS account', () => {
  it('has a private subnet per zone and one security group with the discovery tag', () =>
    within({}, async ({ ec2, subnets }) => {
      expect(
        subnets.map((subnet) => [subnet.AvailabilityZone, subnet.AvailableIpAddressCount, subnet.MapPublicIpOnLaunch]),
      ).toEqual([
        ['us-west-2a', 8187, false],
        ['us-west-2b', 8187, false],
        ['us-west-2c', 8187, false],
      ]);
      const Filters = [{ Name: 'tag:karpenter.sh/discovery', Values: ['demo'] }];
      const groups = await ec2.send(new DescribeSecurityGroupsCommand({ Filters }));
      expect(groups.SecurityGroups).toMatchObject([
        { GroupName: 'eks-cluster-sg-demo' },
        { GroupName: 'eksctl-demo-cluster-ClusterSharedNodeSecurityGroup' },
      ]);
      expect((await ec2.send(new DescribeSubnetsCommand({}))).Subnets).toHaveLength(6);
    }));

  it('returns its types in pages, and the zones of each type', () =>
    within({}, async ({ ec2, aws }) => {
      const Filters = [
        { Name: 'supported-virtualization-type', Values: ['hvm'] },
        { Name: 'processor-info.supported-architecture', Values: ['x86_64', 'arm64'] },
      ];
      const types: InstanceTypeInfo[] = [];
      let pages = 0;
      for await (const { InstanceTypes } of paginateDescribeInstanceTypes(
        { client: ec2, pageSize: 100 },
        { Filters },
      )) {
        pages += 1;
        types.push(...(InstanceTypes ?? []));
      }
      expect(pages).toBe(Math.ceil(aws.catalogue.types.length / 100));
      // The response contains every member of the catalogue.
      expect(types).toEqual(aws.catalogue.types);

      const offerings = await ec2.send(
        new DescribeInstanceTypeOfferingsCommand({
          LocationType: 'availability-zone',
          Filters: [{ Name: 'instance-type', Values: ['p5.48*'] }],
        }),
      );
      expect(offerings.InstanceTypeOfferings?.map((offering) => offering.Location)).toEqual([
        'us-west-2a',
        'us-west-2c',
      ]);
      expect(
        await codeOf(ec2.send(new DescribeInstanceTypesCommand({ InstanceTypes: ['m5.huge' as _InstanceType] }))),
      ).toBe('InvalidInstanceType');
      expect(await codeOf(ec2.send(new DescribeInstanceTypesCommand({ DryRun: true })))).toBe('DryRunOperation');
    }));

  it('returns current spot prices and those of the previous day', () =>
    within({}, async ({ ec2, aws, clock }) => {
      const history = async (StartTime: Date): Promise<(string | undefined)[]> =>
        (
          await ec2.send(
            new DescribeSpotPriceHistoryCommand({
              StartTime,
              InstanceTypes: ['m5.large'],
              AvailabilityZone: 'us-west-2a',
              ProductDescriptions: ['Linux/UNIX', 'Linux/UNIX (Amazon VPC)'],
            }),
          )
        ).SpotPriceHistory?.map((price) => price.SpotPrice) ?? [];
      const now = aws.catalogue.spotUsd('m5.large', 'us-west-2a', clock.now());
      expect(await history(new Date(clock.now()))).toEqual([now?.toFixed(6)]);
      expect(await history(new Date(clock.now() - 24 * 3_600_000))).toHaveLength(5);
    }));

  it('hides deprecated images of other accounts by default', () =>
    within({}, async ({ ec2, aws }) => {
      aws.seed.image({
        name: 'old',
        ownerId: '1',
        creationDate: '2020-01-01T00:00:00.000Z',
        deprecationTime: '2022-01-01T00:00:00.000Z',
      });
      const count = async (IncludeDeprecated: boolean): Promise<number | undefined> =>
        (await ec2.send(new DescribeImagesCommand({ IncludeDeprecated, Filters: [{ Name: 'name', Values: ['ol?'] }] })))
          .Images?.length;
      expect([await count(false), await count(true)]).toEqual([0, 1]);
      const own = await ec2.send(new DescribeImagesCommand({ Owners: ['self'] }));
      expect(own.Images?.map((image) => image.Name)).toEqual(['test-image']);
    }));

  it('creates, finds and deletes launch templates', () =>
    within({}, async ({ ec2, template }) => {
      await template('a/one');
      await template('a/two', { UserData: Buffer.from('x').toString('base64') });
      expect(await codeOf(template('a/one'))).toBe('InvalidLaunchTemplateName.AlreadyExistsException');
      expect(await codeOf(template('no spaces'))).toBe('InvalidLaunchTemplateName.MalformedException');
      const large = { UserData: Buffer.alloc(16_385).toString('base64') };
      await expect(template('a/large', large)).rejects.toThrow('User data is limited to 16384 bytes');
      const find = (...LaunchTemplateNames: string[]): Promise<DescribeLaunchTemplatesCommandOutput> =>
        ec2.send(new DescribeLaunchTemplatesCommand({ LaunchTemplateNames }));
      expect((await find('a/one')).LaunchTemplates).toMatchObject([{ LaunchTemplateName: 'a/one' }]);
      await ec2.send(new DeleteLaunchTemplateCommand({ LaunchTemplateName: 'a/one' }));
      expect(await codeOf(find('a/one'))).toBe('InvalidLaunchTemplateName.NotFoundException');
      expect((await find()).LaunchTemplates).toHaveLength(1);
    }));
});

describe('an empty account', () => {
  it('contains only seeded objects, in another region and catalogue', () => {
    const zones = [{ name: 'us-east-1a', id: 'use1-az6' }];
    const rules = ruleBuiltCatalogue(zones, 1);
    const catalogue = {
      ...rules,
      types: rules.types.filter((info) => info.InstanceType === 'm5.large'),
      spotUsd: () => 0.04,
    };
    return within(
      { region: 'us-east-1', zones, account: 'empty', publicImages: false, catalogue, queueName: 'mine' },
      async ({ ec2, aws, template, fleet }) => {
        aws.seed.vpc({ id: 'vpc-0a000000000000001' });
        const SubnetId = aws.seed.subnet({ id: 'subnet-0a000000000000001', zone: 'us-east-1a', cidr: '10.0.112.0/26' });
        expect((await ec2.send(new DescribeSubnetsCommand({}))).Subnets).toMatchObject([
          { SubnetId, AvailableIpAddressCount: 59, AvailabilityZoneId: 'use1-az6' },
        ]);
        expect((await ec2.send(new DescribeAvailabilityZonesCommand({}))).AvailabilityZones).toMatchObject([
          { ZoneName: 'us-east-1a' },
        ]);
        const answer = await fleet({
          template: await template(),
          types: ['m5.large'],
          subnets: [{ SubnetId }],
          market: 'spot',
        });
        expect(aws.instances.get(String(instanceIds(answer)[0]))).toMatchObject({
          usdPerHour: 0.04,
          privateDnsName: 'ip-10-0-112-4.ec2.internal',
        });
        expect(aws.queue.name).toBe('mine');
        expect(() => aws.seed.subnet({ zone: 'us-east-1z', cidr: '10.0.0.0/24' })).toThrow(
          /zone "us-east-1z" is not one of us-east-1a/,
        );
        expect(() => aws.seed.subnet({ zone: 'us-east-1a', cidr: '10.0.0.0' })).toThrow(/CIDR "10.0.0.0"/);
      },
    );
  });

  it('can represent a kOps cluster', () =>
    within(
      { region: 'eu-central-1', clusterName: 'my-cluster.example.com', account: 'empty' },
      async ({ ec2, aws, config, template, fleet }) => {
        const name = 'my-cluster.example.com';
        const tags = { KubernetesCluster: name };
        aws.seed.vpc({ tags });
        const SubnetId = aws.seed.subnet({ zone: 'eu-central-1a', cidr: '172.20.0.0/16', public: true, tags });
        const group = aws.seed.securityGroup({ name: `nodes.${name}`, tags: { ...tags, Name: `nodes.${name}` } });
        aws.seed.instanceProfile({ name: `nodes.${name}`, role: `nodes.${name}` });
        const parameter = '/aws/service/canonical/ubuntu/server/24.04/stable/current/arm64/hvm/ebs-gp3/ami-id';
        const { Parameter } = await new SSMClient(config).send(new GetParameterCommand({ Name: parameter }));
        const launch = await template('kops', {
          ImageId: String(Parameter?.Value),
          IamInstanceProfile: { Name: `nodes.${name}` },
          NetworkInterfaces: [{ DeviceIndex: 0, AssociatePublicIpAddress: true, Groups: [group] }],
          UserData: Buffer.from('#!/bin/bash\nnodeup').toString('base64'),
        });
        const answer = await fleet({ template: launch, types: ['m6g.large'], subnets: [{ SubnetId }] });
        expect(answer.Errors).toEqual([]);
        expect(aws.instances.list()).toMatchObject([
          {
            architecture: 'arm64',
            instanceProfile: `nodes.${name}`,
            userData: '#!/bin/bash\nnodeup',
            privateIp: '172.20.0.4',
            publicIp: expect.any(String),
            zoneId: 'euc1-az2',
          },
        ]);
        const filters = [
          { Name: 'tag:Name', Values: [`nodes.${name}`] },
          { Name: 'tag:KubernetesCluster', Values: [name] },
        ];
        expect((await ec2.send(new DescribeSecurityGroupsCommand({ Filters: filters }))).SecurityGroups).toHaveLength(
          1,
        );
      },
    ));

  it('can have capacity reservations and placement groups', () =>
    within({}, async ({ ec2, aws, subnets, template, fleet }) => {
      const id = aws.seed.capacityReservation({
        instanceType: 'm5.large',
        zone: 'us-west-2a',
        total: 2,
        matchCriteria: 'open',
        tags: { a: 'b' },
      });
      const reservations = await ec2.send(
        new DescribeCapacityReservationsCommand({
          Filters: [
            { Name: 'tag:a', Values: ['b'] },
            { Name: 'state', Values: ['active'] },
          ],
        }),
      );
      expect(reservations.CapacityReservations).toMatchObject([
        { CapacityReservationId: id, AvailableInstanceCount: 2 },
      ]);
      expect(
        await codeOf(ec2.send(new DescribeCapacityReservationsCommand({ CapacityReservationIds: ['cr-0123'] }))),
      ).toBe('InvalidCapacityReservationId.NotFound');

      const group = aws.seed.placementGroup({ name: 'apart', strategy: 'spread' });
      const found = await ec2.send(new DescribePlacementGroupsCommand({ GroupNames: ['apart'] }));
      expect(found.PlacementGroups).toMatchObject([{ GroupId: group, Strategy: 'spread', State: 'available' }]);
      const name = await template('spread', { Placement: { GroupId: group } });
      const answer = await fleet({ template: name, types: ['m5.large'], subnets: subnets.slice(0, 1), count: 8 });
      expect(instanceIds(answer)).toHaveLength(7);
      expect(answer.Errors?.[0]?.ErrorMessage).toContain('limit of instances in this spread placement group');
      // Two of the seven used the open reservation, and remain as on-demand instances.
      expect(aws.instances.list().filter((instance) => instance.capacityReservationId === id)).toHaveLength(2);
      expect(new Set(aws.instances.list().map((instance) => instance.capacityType))).toEqual(new Set(['on-demand']));
    }));
});

describe('a partition group', () => {
  it('fills its partitions evenly unless the template specifies one', () =>
    within({}, async ({ aws, template, fleet }) => {
      const group = aws.seed.placementGroup({ name: 'racks', strategy: 'partition', partitions: 3 });
      const even = await template('even', { Placement: { GroupId: group } });
      await fleet({ template: even, types: ['m5.large'], count: 6 });
      expect(aws.instances.list().map((instance) => instance.partition)).toEqual([1, 2, 3, 1, 2, 3]);
      const named = await template('named', { Placement: { GroupId: group, PartitionNumber: 2 } });
      await fleet({ template: named, types: ['m5.large'] });
      expect(aws.instances.list().at(-1)?.partition).toBe(2);
    }));
});

describe('a port', () => {
  it('is rejected if it is in use, and can be used after it is closed', async () => {
    const first = await startFixture();
    const port = Number(new URL(first.aws.url).port);
    await expect(startFixture({ port })).rejects.toThrow(/another process uses the port/);
    await first.close();
    expect(first.clock.waiting).toBe(0);
    await within({ port }, async ({ aws }) => expect(aws.url).toBe(`http://127.0.0.1:${port}`));
  });
});

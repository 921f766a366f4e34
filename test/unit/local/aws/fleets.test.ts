import { CreateFleetCommand, DescribeInstancesCommand, DescribeSubnetsCommand } from '@aws-sdk/client-ec2';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { FaultRule } from '../../../../src/local/aws/fault-rules.ts';
import { codeOf, type Fixture, instanceIds, startFixture } from './fixture.ts';

let fixture: Fixture;
let template: string;
beforeEach(async () => {
  fixture = await startFixture();
  template = await fixture.template();
});
afterEach(() => fixture.close());

const spot = { SpotOptions: { AllocationStrategy: 'price-capacity-optimized' as const } };

describe('an instant fleet', () => {
  it('launches the cheapest override and reports it', async () => {
    const answer = await fixture.fleet({ template, types: ['m5.xlarge', 'm5.large', 'c5.large'], count: 2 });
    expect(answer.FleetId).toMatch(/^fleet-/);
    expect(answer.Errors).toEqual([]);
    expect(answer.Instances).toHaveLength(1);
    const [bought] = answer.Instances ?? [];
    expect(bought).toMatchObject({ InstanceType: 'c5.large', Lifecycle: 'on-demand' });
    expect(bought?.LaunchTemplateAndOverrides?.Overrides).toMatchObject({ SubnetId: fixture.subnets[0]?.SubnetId });
    expect(instanceIds(answer)).toHaveLength(2);
    expect(fixture.aws.instances.get(String(instanceIds(answer)[0]))).toMatchObject({
      type: 'c5.large',
      zone: 'us-west-2a',
      capacityType: 'on-demand',
      usdPerHour: 0.085,
      launchTemplateName: template,
    });
  });

  it.each([
    { strategy: 'lowest-price' as const, type: 'c5.large' },
    { strategy: 'prioritized' as const, type: 'm5.xlarge' },
  ])('uses the on-demand strategy $strategy', async ({ strategy, type }) => {
    const subnet = fixture.subnets[0];
    const overrides = ['m5.xlarge', 'm5.large', 'c5.large'].map((each, index) => ({
      InstanceType: each as 'm5.large',
      SubnetId: subnet?.SubnetId,
      Priority: index,
    }));
    const answer = await fixture.ec2.send(
      new CreateFleetCommand({
        Type: 'instant',
        LaunchTemplateConfigs: [
          { LaunchTemplateSpecification: { LaunchTemplateName: template }, Overrides: overrides },
        ],
        OnDemandOptions: { AllocationStrategy: strategy },
        TargetCapacitySpecification: { TotalTargetCapacity: 1, DefaultTargetCapacityType: 'on-demand' },
      }),
    );
    expect(answer.Instances?.[0]?.InstanceType).toBe(type);
  });

  it('launches spot at the price of a zone and marks the instance as spot', async () => {
    const answer = await fixture.fleet({ template, types: ['m5.large'], market: 'spot', more: spot });
    const [id] = instanceIds(answer);
    const found = await fixture.ec2.send(new DescribeInstancesCommand({ InstanceIds: [String(id)] }));
    const instance = found.Reservations?.[0]?.Instances?.[0];
    expect(instance).toMatchObject({
      InstanceLifecycle: 'spot',
      SpotInstanceRequestId: expect.stringMatching(/^sir-/),
    });
    const local = fixture.aws.instances.get(String(id));
    expect(local?.usdPerHour).toBe(fixture.aws.catalogue.spotUsd('m5.large', String(local?.zone), fixture.clock.now()));
  });

  it('tries prioritized pools before all others', async () => {
    fixture.aws.prefer({ instanceType: 'm5.xlarge', zone: 'us-west-2c' });
    const answer = await fixture.fleet({ template, types: ['c5.large', 'm5.xlarge'] });
    expect(fixture.aws.instances.get(String(instanceIds(answer)[0]))).toMatchObject({
      type: 'm5.xlarge',
      zone: 'us-west-2c',
    });
  });

  it('uses the next pool if one has no capacity, and reports the error', async () => {
    fixture.aws.faults.add({ kind: 'capacity', instanceType: 'c5.large', zone: 'us-west-2a', remaining: 1 });
    const answer = await fixture.fleet({ template, types: ['c5.large'], count: 3 });
    expect(
      answer.Instances?.map((each) => [
        each.LaunchTemplateAndOverrides?.Overrides?.AvailabilityZone,
        each.InstanceIds?.length,
      ]),
    ).toEqual([
      ['us-west-2a', 1],
      ['us-west-2b', 2],
    ]);
    expect(answer.Errors).toMatchObject([
      {
        ErrorCode: 'InsufficientInstanceCapacity',
        Lifecycle: 'on-demand',
        LaunchTemplateAndOverrides: { Overrides: { InstanceType: 'c5.large', AvailabilityZone: 'us-west-2a' } },
      },
    ]);
  });

  it('returns only errors and launches no instance if no pool has capacity', async () => {
    fixture.aws.faults.add({ kind: 'capacity' });
    const answer = await fixture.fleet({ template, types: ['c5.large', 'm5.large'] });
    expect(answer.Instances).toEqual([]);
    expect(answer.Errors).toHaveLength(6);
    expect(fixture.aws.instances.list()).toEqual([]);
  });

  const failing: readonly { code: string; rule?: FaultRule; types: string[]; market?: 'spot' }[] = [
    {
      code: 'AuthFailure.ServiceLinkedRoleCreationNotPermitted',
      rule: { kind: 'no-spot-role' },
      types: ['m5.large'],
      market: 'spot',
    },
    {
      code: 'UnfulfillableCapacity',
      rule: { kind: 'capacity', code: 'UnfulfillableCapacity' },
      types: ['m5.large'],
      market: 'spot',
    },
    { code: 'InvalidInstanceType', types: ['m5.huge'] },
    { code: 'InvalidParameterValue', types: ['m6g.large'] },
  ];
  it.each(failing)('reports $code for each override', async ({ code, rule, types, market }) => {
    if (rule) fixture.aws.faults.add(rule);
    const answer = await fixture.fleet({ template, types, ...(market ? { market } : {}) });
    expect(answer.Instances).toEqual([]);
    expect(new Set(answer.Errors?.map((error) => error.ErrorCode))).toEqual(new Set([code]));
  });

  it('reports a type that a zone does not offer', async () => {
    const windows = fixture.subnets.filter((subnet) => subnet.AvailabilityZone === 'us-west-2b');
    const answer = await fixture.fleet({ template, types: ['p5.4xlarge'], subnets: windows });
    expect(answer.Errors?.[0]).toMatchObject({
      ErrorCode: 'Unsupported',
      ErrorMessage: expect.stringContaining('us-west-2a'),
    });
  });

  it('uses the addresses of a subnet, and releases them with the instances', async () => {
    const SubnetId = fixture.aws.seed.subnet({ zone: 'us-west-2a', cidr: '10.0.200.0/28', freeAddresses: 2 });
    const small = [{ SubnetId, AvailabilityZone: 'us-west-2a' }];
    const free = async (): Promise<number | undefined> =>
      (await fixture.ec2.send(new DescribeSubnetsCommand({ SubnetIds: [SubnetId] }))).Subnets?.[0]
        ?.AvailableIpAddressCount;
    const answer = await fixture.fleet({ template, types: ['m5.large'], subnets: small, count: 3 });
    expect(instanceIds(answer)).toHaveLength(2);
    expect(answer.Errors?.[0]?.ErrorCode).toBe('InsufficientFreeAddressesInSubnet');
    expect(await free()).toBe(0);
    for (const id of instanceIds(answer)) fixture.aws.faults.terminate(id);
    await fixture.clock.advance(20_000);
    expect(await free()).toBe(2);
  });

  it('launches into the reservation of the template until it is full', async () => {
    const id = fixture.aws.seed.capacityReservation({
      instanceType: 'm5.large',
      zone: 'us-west-2a',
      total: 1,
      matchCriteria: 'targeted',
    });
    const reserved = await fixture.template('karpenter.k8s.aws/reserved', {
      CapacityReservationSpecification: {
        CapacityReservationPreference: 'capacity-reservations-only',
        CapacityReservationTarget: { CapacityReservationId: id },
      },
    });
    const request = { template: reserved, types: ['m5.large'], subnets: fixture.subnets.slice(0, 1) };
    const [first] = instanceIds(await fixture.fleet(request));
    expect(fixture.aws.instances.get(String(first))).toMatchObject({
      capacityType: 'reserved',
      capacityReservationId: id,
    });
    expect((await fixture.fleet(request)).Errors?.[0]?.ErrorCode).toBe('ReservationCapacityExceeded');
    fixture.aws.faults.terminate(String(first));
    expect(instanceIds(await fixture.fleet(request))).toHaveLength(1);
  });

  it('merges the tags of the request over those of the template', async () => {
    const tagged = await fixture.template('karpenter.k8s.aws/tagged', {
      TagSpecifications: [
        {
          ResourceType: 'instance',
          Tags: [
            { Key: 'a', Value: 'template' },
            { Key: 'b', Value: 'template' },
          ],
        },
      ],
    });
    const answer = await fixture.fleet({
      template: tagged,
      types: ['m5.large'],
      more: { TagSpecifications: [{ ResourceType: 'instance', Tags: [{ Key: 'a', Value: 'request' }] }] },
    });
    expect(fixture.aws.instances.get(String(instanceIds(answer)[0]))?.tags).toMatchObject({
      a: 'request',
      b: 'template',
      'aws:ec2:fleet-id': answer.FleetId,
      'aws:ec2launchtemplate:version': '1',
    });
  });

  it('returns the same fleet for the same client token, and rejects another request with the token', async () => {
    const request = { template, types: ['m5.large'], more: { ClientToken: 'once' } };
    const [first, second] = [await fixture.fleet(request), await fixture.fleet(request)];
    expect(instanceIds(second)).toEqual(instanceIds(first));
    expect(fixture.aws.instances.list()).toHaveLength(1);
    expect(await codeOf(fixture.fleet({ ...request, count: 2 }))).toBe('IdempotentParameterMismatch');
  });

  it.each([
    {
      when: 'the template is unknown',
      code: 'InvalidLaunchTemplateName.NotFoundException',
      more: {},
      name: 'nothing/like/it',
    },
    { when: 'it is a dry run', code: 'DryRunOperation', more: { DryRun: true } },
    { when: 'the type is maintain', code: 'UnsupportedOperation', more: { Type: 'maintain' as const } },
    {
      when: 'a tag is reserved',
      code: 'InvalidParameterValue',
      more: { TagSpecifications: [{ ResourceType: 'instance' as const, Tags: [{ Key: 'aws:x', Value: '' }] }] },
    },
  ])('is rejected if $when', async ({ code, more, name = template }) => {
    expect(await codeOf(fixture.fleet({ template: name, types: ['m5.large'], more }))).toBe(code);
    expect(fixture.aws.instances.list()).toEqual([]);
  });
});

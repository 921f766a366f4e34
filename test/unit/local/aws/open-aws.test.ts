import type { CreateFleetResult, DescribeInstancesResult, DescribeSubnetsResult, Instance } from '@aws-sdk/client-ec2';
import { describe, expect, it } from '@jest/globals';
import { openAws } from '../../../../src/local/aws/open-aws.ts';
import type { LocalAwsOptions } from '../../../../src/local/aws/options.ts';
import { type VirtualClock, virtualClock } from '../../virtualclock.ts';

interface Opened {
  readonly clock: VirtualClock;
  readonly aws: ReturnType<typeof openAws>;
  ec2<Output>(action: string, input?: object): Promise<Output>;
  /** Returns the first instance as the API describes it. */
  described(): Promise<Instance | undefined>;
}

async function open(options: Partial<LocalAwsOptions> = {}): Promise<Opened> {
  const clock = virtualClock();
  const aws = openAws({ clock, clusterName: 'test', ...options });
  const ec2 = async <Output>(action: string, input: object = {}): Promise<Output> =>
    (await aws.call('ec2', action, input)).output as Output;
  const ImageId = aws.seed.image({ name: 'mine' });
  await ec2('CreateLaunchTemplate', { LaunchTemplateName: 'nodes', LaunchTemplateData: { ImageId } });
  const { Subnets = [] } = await ec2<DescribeSubnetsResult>('DescribeSubnets');
  await ec2<CreateFleetResult>('CreateFleet', {
    Type: 'instant',
    LaunchTemplateConfigs: [
      {
        LaunchTemplateSpecification: { LaunchTemplateName: 'nodes' },
        Overrides: [{ InstanceType: 'm5.large', SubnetId: Subnets[0]?.SubnetId }],
      },
    ],
    TargetCapacitySpecification: { TotalTargetCapacity: 1, DefaultTargetCapacityType: 'on-demand' },
  });
  const described = async (): Promise<Instance | undefined> =>
    (await ec2<DescribeInstancesResult>('DescribeInstances')).Reservations?.[0]?.Instances?.[0];
  return { clock, aws, ec2, described };
}

describe('an account without HTTP', () => {
  it('describes the current state of an instance, even if it was described before', async () => {
    const { clock, aws, ec2, described } = await open();
    const pending = await described();
    expect(pending).toMatchObject({ State: { Name: 'pending' } });
    expect(await described()).toBe(pending);
    await clock.advance(8_000);
    expect(await described()).toMatchObject({ State: { Name: 'running' } });
    await ec2('CreateTags', { Resources: [pending?.InstanceId], Tags: [{ Key: 'a', Value: 'b' }] });
    expect((await described())?.Tags).toContainEqual({ Key: 'a', Value: 'b' });
    aws.faults.terminate(pending?.InstanceId ?? '');
    expect(await described()).toMatchObject({
      State: { Name: 'shutting-down' },
      StateReason: { Code: 'Client.UserInitiatedShutdown' },
    });
    await clock.advance(15_000);
    expect(await described()).toMatchObject({ State: { Name: 'terminated' } });
    expect((await described())?.NetworkInterfaces).toBeUndefined();
    expect(pending).toMatchObject({ State: { Name: 'pending' } });
  });

  it('names missing features', async () => {
    const { aws } = await open();
    expect(await aws.call('ec2', 'DescribeNothing', {})).toMatchObject({
      error: { code: 'InvalidAction', shownCode: 'InvalidAction', status: 400 },
    });
    await expect(aws.call('s3', 'ListBuckets', {})).rejects.toThrow('The local AWS does not support the service "s3"');
  });

  it('has its queue at an address of its region', async () => {
    const { aws } = await open({ region: 'eu-central-1' });
    expect(aws.queue.url).toBe('https://sqs.eu-central-1.amazonaws.com/123456789012/test');
  });

  it('records the last calls up to a limit, and counts all calls', async () => {
    const { aws, ec2 } = await open({ keptCalls: 3 });
    for (let n = 0; n < 20; n++) await ec2('DescribeVpcs');
    expect(aws.calls.recorded()).toHaveLength(3);
    expect(aws.calls.counts().DescribeVpcs).toBe(20);
    const { aws: none } = await open({ keptCalls: 0 });
    expect(none.calls.recorded()).toEqual([]);
    expect(none.calls.counts().CreateFleet).toBe(1);
  });

  it('keeps the cost of an instance after it is no longer listed', async () => {
    const { clock, aws, described } = await open({ terminatedVisibleMs: 60_000 });
    const id = (await described())?.InstanceId ?? '';
    await clock.advance(8_000 + 3_600_000);
    expect(aws.spending.usd(id)).toBeCloseTo(0.096, 6);
    aws.faults.terminate(id);
    await clock.advance(3_600_000);
    expect(aws.instances.list()).toEqual([]);
    expect(aws.spending.usd(id)).toBeCloseTo(0.096, 6);
    expect(aws.spending.usd()).toBeCloseTo(0.096, 6);
    aws.close();
    expect(clock.waiting).toBe(0);
  });
});

/** The world model running on an in-process account. */
import {
  CreateFleetCommand,
  CreateLaunchTemplateCommand,
  DescribeInstancesCommand,
  DescribeSpotPriceHistoryCommand,
  DescribeSubnetsCommand,
} from '@aws-sdk/client-ec2';
import { ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { GetParameterCommand } from '@aws-sdk/client-ssm';
import { describe, expect, it } from '@jest/globals';
import { type LocalAwsOptions, type OpenAws, openAws } from '#local/aws';
import { inProcessClients } from '../../../../src/replay/aws/in-process-clients.ts';
import { awsOf, pace, startWorldModel } from '../../../../src/replay/world-model/start-world-model.ts';
import { DEFAULT_WORLD, type WorldModel } from '../../../../src/replay/world-model/world-model.ts';
import { type VirtualClock, virtualClock } from '../../virtualclock.ts';

const DAY = 86_400_000;
const NEUTRAL: WorldModel = {
  ...DEFAULT_WORLD,
  bootSeconds: { p50: 0, p95: 0 },
  spot: { volatility: 0, interruptionsPerDay: 0, unevenness: 1 },
  soldOut: { spot: 0, onDemand: 0, hours: 2 },
  imageRotationDays: 0,
};

interface Played {
  readonly clock: VirtualClock;
  readonly aws: OpenAws;
  readonly interrupted: readonly string[];
  launch(count: number, market: 'spot' | 'on-demand', types?: readonly string[]): Promise<readonly string[]>;
  end(): void;
}

const IMAGE = 'ami-0123456789abcdef0';

function play(change: Partial<WorldModel>, more: Partial<LocalAwsOptions> = {}): Played {
  const clock = virtualClock(Date.UTC(2026, 7, 20));
  const model = { ...NEUTRAL, ...change };
  const aws = openAws({ clock, clusterName: 'test', ...awsOf(model, clock.now()), ...more });
  const interrupted: string[] = [];
  const end = startWorldModel({ model, aws, clock, onInterrupted: ({ id }) => interrupted.push(id) });
  const { ec2 } = inProcessClients(aws, { clock });
  aws.seed.image({ id: IMAGE, name: 'mine' });
  const template = ec2.send(
    new CreateLaunchTemplateCommand({ LaunchTemplateName: 'nodes', LaunchTemplateData: { ImageId: IMAGE } }),
  );
  return {
    clock,
    aws,
    interrupted,
    end,
    async launch(count, market, types = ['m5.large', 'c5.large', 'r5.large']) {
      await template;
      const Filters = [{ Name: 'tag-key', Values: ['karpenter.sh/discovery'] }];
      const { Subnets = [] } = await ec2.send(new DescribeSubnetsCommand({ Filters }));
      const answer = await ec2.send(
        new CreateFleetCommand({
          Type: 'instant',
          LaunchTemplateConfigs: [
            {
              LaunchTemplateSpecification: { LaunchTemplateName: 'nodes', Version: '$Latest' },
              Overrides: types.flatMap((type) =>
                Subnets.map(({ SubnetId }) => ({ InstanceType: type as 'm5.large', SubnetId })),
              ),
            },
          ],
          TargetCapacitySpecification: { TotalTargetCapacity: count, DefaultTargetCapacityType: market },
        }),
      );
      expect((answer.Instances ?? []).flatMap(({ InstanceIds = [] }) => InstanceIds).length).toBeLessThanOrEqual(count);
      return (answer.Errors ?? []).map(({ ErrorCode }) => ErrorCode ?? '');
    },
  };
}

describe('a world with all parameters at 0', () => {
  it('behaves like the local AWS', async () => {
    const { region, randomSeed, zones, catalogue, ...rest } = awsOf(NEUTRAL, 0);
    expect(rest).toEqual({});
    const clock = virtualClock();
    const itself = openAws({ clock, clusterName: 'test', randomSeed: 1 });
    const modelled = openAws({ clock, clusterName: 'test', ...awsOf(NEUTRAL, 0) });
    startWorldModel({ model: NEUTRAL, aws: modelled, clock });
    expect(clock.waiting).toBe(0);
    const prices = async (aws: OpenAws) =>
      (
        await inProcessClients(aws, { clock }).ec2.send(
          new DescribeSpotPriceHistoryCommand({ StartTime: new Date(clock.now() - DAY) }),
        )
      ).SpotPriceHistory;
    expect(await prices(modelled)).toEqual(await prices(itself));
    expect([region, randomSeed, zones?.length, catalogue?.types.length]).toEqual([
      itself.region,
      1,
      3,
      itself.catalogue.types.length,
    ]);
  });
});

describe('an interruption', () => {
  const waited = async (change: Partial<WorldModel['spot']>, days: number, seed = 1): Promise<Played> => {
    const played = play({ seed, spot: { ...NEUTRAL.spot, ...change } }, { stateChangeEvents: false });
    await played.launch(1_000, 'spot');
    await played.launch(50, 'on-demand');
    for (let day = 0; day < days; day++) await played.clock.advance(DAY);
    return played;
  };

  it('affects the given share of spot instances per day, and no on-demand instances', async () => {
    const { aws, interrupted, end } = await waited({ interruptionsPerDay: 0.2 }, 1);
    expect(interrupted.length / 1_000).toBeGreaterThan(0.17);
    expect(interrupted.length / 1_000).toBeLessThan(0.23);
    const running = aws.instances.list().filter(({ state }) => state === 'running');
    // Instances with a warning within the last two minutes.
    expect(Math.abs(running.length - (1_050 - interrupted.length))).toBeLessThanOrEqual(2);
    expect(running.filter(({ capacityType }) => capacityType === 'on-demand')).toHaveLength(50);
    end();
  });

  it('is reproducible by seed', async () => {
    const places = async (seed: number) => {
      const { aws, interrupted, end } = await waited({ interruptionsPerDay: 0.1 }, 1, seed);
      end();
      const launched = aws.instances.list().map(({ id }) => id);
      return interrupted.map((id) => launched.indexOf(id));
    };
    const first = await places(1);
    expect(await places(1)).toEqual(first);
    expect(await places(2)).not.toEqual(first);
  });

  it('is more frequent in pools with little capacity, with the same total', () => {
    expect(pace(0, 4) / pace(1, 4)).toBeCloseTo(4);
    const depths = Array.from({ length: 10_000 }, (_, n) => (n + 0.5) / 10_000);
    expect(depths.reduce((sum, depth) => sum + pace(depth, 4), 0) / depths.length).toBeCloseTo(1, 4);
    expect(pace(0.3, 1)).toBe(1);
  });

  it('sends a warning to the queue two minutes before the termination', async () => {
    const { clock, aws, interrupted, launch, end } = play(
      { spot: { ...NEUTRAL.spot, interruptionsPerDay: 0.99 } },
      { stateChangeEvents: false },
    );
    await launch(1, 'spot');
    const { sqs } = inProcessClients(aws, { clock });
    while (interrupted.length === 0) await clock.advance(1_000);
    const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl: aws.queue.url }));
    expect(JSON.parse(Messages[0]?.Body ?? '{}')).toMatchObject({
      'detail-type': 'EC2 Spot Instance Interruption Warning',
      detail: { 'instance-id': interrupted[0], 'instance-action': 'terminate' },
    });
    await clock.advance(118_000);
    expect(aws.instances.get(interrupted[0] ?? '')?.state).toBe('running');
    await clock.advance(2_000);
    expect(aws.instances.get(interrupted[0] ?? '')?.state).toBe('shutting-down');
    end();
  });

  it('leaves no timers for terminated instances, or after the end', async () => {
    const { clock, aws, launch, end } = play({ spot: { ...NEUTRAL.spot, interruptionsPerDay: 0.01 } });
    await launch(2, 'spot');
    await clock.advance(60_000);
    const waiting = clock.waiting;
    expect(waiting).toBe(2);
    aws.faults.terminate(aws.instances.list()[0]?.id ?? '');
    await clock.advance(60_000);
    // The timer of the account that removes the instance.
    expect(clock.waiting).toBe(2);
    end();
    expect(clock.waiting).toBe(1);
  });
});

describe('a sold-out pool', () => {
  it('is rejected by fleets, which launch other pools instead', async () => {
    const { launch, aws, end } = play({ soldOut: { spot: 0.5, onDemand: 0, hours: 1 } });
    const errors: string[] = [];
    for (let n = 0; n < 20; n++) errors.push(...(await launch(1, 'spot')));
    expect(new Set(errors)).toEqual(new Set(['InsufficientInstanceCapacity']));
    expect(aws.instances.list().length).toBeGreaterThan(0);
    expect(await launch(1, 'on-demand')).toEqual([]);
    end();
  });

  it('is that of the model at that time', async () => {
    const { launch, clock, end } = play({ soldOut: { spot: 0.5, onDemand: 0.5, hours: 1 } });
    const outcomes: boolean[] = [];
    for (let hour = 0; hour < 48; hour++) {
      outcomes.push((await launch(1, 'on-demand', ['m5.large'])).length === 3);
      await clock.advance(3_600_000);
    }
    // All three zones are sold out at the same time in an eighth of the time.
    expect(outcomes.filter(Boolean).length).toBeGreaterThan(0);
    expect(outcomes.filter(Boolean).length).toBeLessThan(20);
    end();
  });
});

describe('the rotation of images', () => {
  it('publishes new images, and the parameters follow', async () => {
    const { clock, aws, end } = play({ imageRotationDays: 7 });
    const { ssm } = inProcessClients(aws, { clock });
    const names = [
      'eks/optimized-ami/1.34/amazon-linux-2023/x86_64/standard/recommended/image_id',
      'bottlerocket/aws-k8s-1.34/arm64/latest/image_id',
      'ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.34/image_id',
      'canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id',
    ];
    const latest = async () => {
      const read = names.map((name) => ssm.send(new GetParameterCommand({ Name: `/aws/service/${name}` })));
      return (await Promise.all(read)).map(({ Parameter }) => Parameter?.Value);
    };
    const first = await latest();
    await clock.advance(7 * DAY - 1);
    expect(await latest()).toEqual(first);
    await clock.advance(1);
    const second = await latest();
    expect(second.filter((id) => first.includes(id))).toEqual([]);
    await clock.advance(7 * DAY);
    expect((await latest()).filter((id) => second.includes(id))).toEqual([]);
    end();
    expect(clock.waiting).toBe(0);
  });
});

describe('a boot time', () => {
  it('is assigned in order of launches', async () => {
    const { launch, aws, end } = play({ bootSeconds: { p50: 40, p95: 70 } });
    await launch(3, 'on-demand');
    const expected = awsOf({ ...NEUTRAL, bootSeconds: { p50: 40, p95: 70 } }, 0).bootDelayMs;
    expect(aws.instances.list().map(({ bootDelayMs }) => bootDelayMs)).toEqual([0, 1, 2].map((n) => expected?.(n)));
    end();
  });
});

describe('a spot price', () => {
  it('is that of the hour, in responses and in costs', async () => {
    const { launch, aws, clock, end } = play({ spot: { ...NEUTRAL.spot, volatility: 0.2 } });
    const { ec2 } = inProcessClients(aws, { clock });
    await clock.advance(5.5 * 3_600_000);
    await launch(1, 'spot');
    const [instance] = aws.instances.list();
    const { SpotPriceHistory = [] } = await ec2.send(
      new DescribeSpotPriceHistoryCommand({
        StartTime: new Date(clock.now()),
        InstanceTypes: [instance?.type as 'm5.large'],
        AvailabilityZone: instance?.zone,
        ProductDescriptions: ['Linux/UNIX'],
      }),
    );
    expect(SpotPriceHistory.map(({ SpotPrice }) => Number(SpotPrice))).toEqual([instance?.usdPerHour]);
    const described = await ec2.send(new DescribeInstancesCommand({}));
    expect(described.Reservations?.[0]?.Instances?.[0]?.InstanceLifecycle).toBe('spot');
    end();
  });
});

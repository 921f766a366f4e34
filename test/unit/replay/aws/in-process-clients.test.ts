/** Calls over HTTP and in process must have the same results. */
import { createHook } from 'node:async_hooks';
import {
  CreateFleetCommand,
  type CreateFleetCommandInput,
  CreateLaunchTemplateCommand,
  CreateTagsCommand,
  DescribeImagesCommand,
  DescribeInstancesCommand,
  DescribeInstanceTypeOfferingsCommand,
  DescribeLaunchTemplateVersionsCommand,
  DescribeSecurityGroupsCommand,
  DescribeSpotPriceHistoryCommand,
  DescribeSubnetsCommand,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2';
import { DescribeClusterCommand } from '@aws-sdk/client-eks';
import {
  CreateInstanceProfileCommand,
  GetInstanceProfileCommand,
  ListInstanceProfilesCommand,
} from '@aws-sdk/client-iam';
import { GetProductsCommand } from '@aws-sdk/client-pricing';
import { DeleteMessageCommand, GetQueueUrlCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { GetParameterCommand } from '@aws-sdk/client-ssm';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Clients } from '#aws/clients';
import { createClients } from '#aws/testing';
import { openFence } from '#kube/client';
import type { Clock } from '#lib/clock';
import { type AwsAccount, type FaultRule, type LocalAwsOptions, openAws } from '#local/aws';
import { startAws } from '#local/testing';
import { inProcessClients } from '../../../../src/replay/aws/in-process-clients.ts';
import { virtualClock } from '../../virtualclock.ts';

/** A clock that stands still and on which no timer waits. */
const still: Clock = {
  now: () => Date.UTC(2026, 7, 10),
  sleep: async () => undefined,
  after: () => () => undefined,
};
const options: LocalAwsOptions = { clock: still, clusterName: 'test', randomSeed: 7 };

interface World {
  readonly aws: AwsAccount;
  readonly clients: Clients;
}

async function overHttp(): Promise<World & { close(): Promise<void> }> {
  const aws = await startAws(options);
  Object.assign(process.env, aws.env());
  return { aws, clients: await createClients({ fence: openFence(), clock: still }), close: () => aws.close() };
}

function inProcess(): World {
  const aws = openAws(options);
  return { aws, clients: inProcessClients(aws, { clock: still }) };
}

let http: Awaited<ReturnType<typeof overHttp>>;
let direct: World;
beforeAll(async () => {
  http = await overHttp();
  direct = inProcess();
});
afterAll(() => http.close());

/** Returns the result of a call without parts that differ between servers: request IDs and the address of the queue. */
async function outcome(call: Promise<object>): Promise<object> {
  try {
    return JSON.parse(
      JSON.stringify(await call, (key, value) => (key === 'requestId' || key === 'QueueUrl' ? undefined : value)),
    );
  } catch (error) {
    const { name, message, Code, $fault, $metadata, $retryable, code, clusterName } = error as Record<string, unknown>;
    const { httpStatusCode, attempts } = ($metadata ?? {}) as Record<string, unknown>;
    // Node's own errors have another realm than the tests, and the SDK wraps unknown errors.
    if (String(message).includes('ECONNRESET')) return { reset: String(message).split(',')[0], attempts };
    // The wording of parse errors may differ.
    const text =
      name === 'UnusableAnswer'
        ? String(message).replace(/(invalid:) (invalid XML|the response is truncated|it cannot be parsed).*/, '$1')
        : message;
    return {
      type: (error as object).constructor.name,
      ...{ name, text, Code, $fault, $retryable, code, clusterName, httpStatusCode, attempts },
    };
  }
}

type Call = (world: World) => Promise<object>;

async function same(call: Call): Promise<object> {
  const [theirs, ours] = [await outcome(call(http)), await outcome(call(direct))];
  expect(ours).toEqual(theirs);
  return ours;
}

const discovery = [{ Name: 'tag:karpenter.sh/discovery', Values: ['test'] }];

async function fleetInput({ clients: { ec2 } }: World): Promise<CreateFleetCommandInput> {
  const { Subnets: subnets = [] } = await ec2.send(new DescribeSubnetsCommand({ Filters: discovery }));
  return {
    Type: 'instant',
    LaunchTemplateConfigs: [
      {
        LaunchTemplateSpecification: { LaunchTemplateName: 'karpenter/1', Version: '$Latest' },
        Overrides: ['m5.large', 'c5.large', 'no.such'].flatMap((type) =>
          subnets.map(({ SubnetId }) => ({ InstanceType: type as 'm5.large', SubnetId })),
        ),
      },
    ],
    TargetCapacitySpecification: { TotalTargetCapacity: 2, DefaultTargetCapacityType: 'spot' },
    SpotOptions: { AllocationStrategy: 'price-capacity-optimized' },
    TagSpecifications: [{ ResourceType: 'instance', Tags: [{ Key: 'team', Value: 'a' }] }],
  };
}

const fleet: Call = async (world) => world.clients.ec2.send(new CreateFleetCommand(await fleetInput(world)));
const firstId = (world: World): string => world.aws.instances.list()[0]?.id ?? '';

const READS: Readonly<Record<string, Call>> = {
  DescribeSubnets: ({ clients }) => clients.ec2.send(new DescribeSubnetsCommand({ Filters: discovery })),
  DescribeSecurityGroups: ({ clients }) => clients.ec2.send(new DescribeSecurityGroupsCommand({})),
  DescribeInstances: ({ clients }) => clients.ec2.send(new DescribeInstancesCommand({})),
  'DescribeInstances without retries': ({ clients }) => clients.ec2Once.send(new DescribeInstancesCommand({})),
  'an unknown instance': ({ clients }) =>
    clients.ec2.send(new DescribeInstancesCommand({ InstanceIds: ['i-0123456789abcdef0'] })),
  'a dry run': ({ clients }) => clients.ec2Once.send(new DescribeInstancesCommand({ DryRun: true })),
  DescribeInstanceTypeOfferings: ({ clients }) =>
    clients.ec2.send(new DescribeInstanceTypeOfferingsCommand({ LocationType: 'availability-zone' })),
  DescribeSpotPriceHistory: ({ clients }) =>
    clients.ec2.send(
      new DescribeSpotPriceHistoryCommand({
        InstanceTypes: ['m5.large'],
        StartTime: new Date(still.now() - 86_400_000),
      }),
    ),
  DescribeImages: ({ clients }) => clients.ec2.send(new DescribeImagesCommand({ Owners: ['amazon'] })),
  GetInstanceProfile: ({ clients }) =>
    clients.iam.send(new GetInstanceProfileCommand({ InstanceProfileName: 'nobody' })),
  ListInstanceProfiles: ({ clients }) => clients.iam.send(new ListInstanceProfilesCommand({})),
  GetQueueUrl: ({ clients }) => clients.sqs.send(new GetQueueUrlCommand({ QueueName: 'nobody' })),
  'a handle that is none': ({ aws, clients }) =>
    clients.sqs.send(new DeleteMessageCommand({ QueueUrl: aws.queue.url, ReceiptHandle: 'nothing' })),
  GetParameter: ({ clients }) => clients.ssm.send(new GetParameterCommand({ Name: '/nothing' })),
  'a cluster': ({ clients }) => clients.eks.send(new DescribeClusterCommand({ name: 'test' })),
  'no cluster': ({ clients }) => clients.eks.send(new DescribeClusterCommand({ name: 'other' })),
  GetProducts: ({ clients }) =>
    clients.pricing.send(
      new GetProductsCommand({
        ServiceCode: 'AmazonEC2',
        Filters: [{ Type: 'TERM_MATCH', Field: 'instanceType', Value: 'm5.large' }],
      }),
    ),
  'a list of no prices': ({ clients }) => clients.pricing.send(new GetProductsCommand({ ServiceCode: 'Nothing' })),
};

describe('a call in process', () => {
  it('has the same effect and response as over HTTP', async () => {
    const template: Call = ({ clients }) =>
      clients.ec2.send(
        new CreateLaunchTemplateCommand({
          LaunchTemplateName: 'karpenter/1',
          LaunchTemplateData: {
            ImageId: 'ami-0123456789abcdef0',
            UserData: Buffer.from('boot').toString('base64'),
            MetadataOptions: { HttpTokens: 'required' },
          },
        }),
      );
    for (const { aws } of [http, direct]) aws.seed.image({ id: 'ami-0123456789abcdef0', name: 'mine' });
    await same(template);
    expect(await same(template)).toMatchObject({ name: 'InvalidLaunchTemplateName.AlreadyExistsException' });
    expect(await same(fleet)).toMatchObject({ Instances: [{ Lifecycle: 'spot' }], Errors: expect.anything() });
    await same(({ clients }) => clients.iam.send(new CreateInstanceProfileCommand({ InstanceProfileName: 'nodes' })));
    expect(
      await same(({ clients }) => clients.iam.send(new CreateInstanceProfileCommand({ InstanceProfileName: 'nodes' }))),
    ).toMatchObject({ name: 'EntityAlreadyExistsException', Code: 'EntityAlreadyExists' });
    for (const call of Object.values(READS)) await same(call);
    await same((world) =>
      world.clients.ec2.send(
        new CreateTagsCommand({ Resources: [firstId(world)], Tags: [{ Key: 'a', Value: '<b> & ü' }] }),
      ),
    );
    await same((world) => world.clients.ec2.send(new TerminateInstancesCommand({ InstanceIds: [firstId(world)] })));
    await same(READS.DescribeInstances as Call);
    await same(({ aws, clients }) =>
      clients.sqs.send(new ReceiveMessageCommand({ QueueUrl: aws.queue.url, MaxNumberOfMessages: 10 })),
    );
  });

  it.each<FaultRule>([
    { kind: 'throttle' },
    { kind: 'throttle', times: 3 },
    { kind: 'error', action: '*', code: 'AccessDenied' },
    { kind: 'error', action: '*', code: 'InternalError' },
    { kind: 'error', action: '*', code: 'Unavailable', times: 2 },
    { kind: 'expired-credentials' },
    { kind: 'malformed' },
    { kind: 'empty', action: '*' },
    { kind: 'reset' },
    { kind: 'reset', lost: 'request', times: 2 },
  ])('fails and is retried as over HTTP: %j', async (rule) => {
    for (const { aws } of [http, direct]) aws.calls.clear();
    for (const call of Object.values(READS)) {
      for (const { aws } of [http, direct]) aws.faults.clear();
      for (const { aws } of [http, direct]) aws.faults.add(rule);
      await same(call);
    }
    for (const { aws } of [http, direct]) aws.faults.clear();
    const recorded = ({ aws }: World) => aws.calls.recorded().map(({ action, errorCode }) => [action, errorCode]);
    expect(recorded(direct)).toEqual(recorded(http));
    expect(recorded(direct).length).toBeGreaterThanOrEqual(Object.keys(READS).length);
  });

  it('shares no mutable objects', async () => {
    const { aws, clients } = inProcess();
    const LaunchTemplateData = { UserData: 'Ym9vdA==' };
    await clients.ec2.send(new CreateLaunchTemplateCommand({ LaunchTemplateName: 'shared', LaunchTemplateData }));
    LaunchTemplateData.UserData = 'b3RoZXI=';
    const read = await clients.ec2.send(
      new DescribeLaunchTemplateVersionsCommand({ LaunchTemplateName: 'shared', Versions: ['1'] }),
    );
    expect(read.LaunchTemplateVersions?.[0]?.LaunchTemplateData?.UserData).toBe('Ym9vdA==');

    aws.seed.image({ id: 'ami-0123456789abcdef0', name: 'mine' });
    await clients.ec2.send(
      new CreateLaunchTemplateCommand({
        LaunchTemplateName: 'karpenter/1',
        LaunchTemplateData: { ImageId: 'ami-0123456789abcdef0' },
      }),
    );
    await fleet({ aws, clients });
    const before = await clients.ec2.send(new DescribeInstancesCommand({ InstanceIds: [firstId({ aws, clients })] }));
    const text = JSON.stringify(before);
    aws.faults.terminate(firstId({ aws, clients }));
    await clients.ec2.send(
      new CreateTagsCommand({ Resources: [firstId({ aws, clients })], Tags: [{ Key: 'later', Value: 'x' }] }),
    );
    expect(JSON.stringify(before)).toBe(text);
  });

  it('takes no real time: no timers, files or sockets', async () => {
    const types: string[] = [];
    const hook = createHook({
      init: (_, type) => {
        if (type !== 'PROMISE' && type !== 'TickObject') types.push(type);
      },
    });
    const world = inProcess();
    world.aws.faults.add({ kind: 'throttle', times: 3 });
    hook.enable();
    for (const call of Object.values(READS)) await outcome(call(world));
    hook.disable();
    expect(types).toEqual([]);
  });

  it('reports a reset connection like Node and the SDK', async () => {
    const { aws, clients } = inProcess();
    aws.faults.add({ kind: 'reset' });
    await expect(clients.ec2Once.send(new DescribeInstancesCommand({}))).rejects.toMatchObject({
      name: 'TimeoutError',
      code: 'ECONNRESET',
      message: 'calling DescribeInstances, read ECONNRESET',
    });
  });

  it('excludes a zone with a zonal shift', async () => {
    expect(await inProcess().clients.shifts?.shifts('arn:aws:eks:us-west-2:123456789012:cluster/test')).toEqual([]);
  });
});

describe('a long poll in process', () => {
  const open = () => {
    const clock = virtualClock();
    const aws = openAws({ ...options, clock });
    const { sqs } = inProcessClients(aws, { clock });
    const receive = (abortSignal = new AbortController().signal) =>
      sqs.send(new ReceiveMessageCommand({ QueueUrl: aws.queue.url, WaitTimeSeconds: 20 }), { abortSignal });
    return { clock, aws, receive };
  };

  it('waits for a message', async () => {
    const { clock, aws, receive } = open();
    let isOver = false;
    const polling = receive().then((answer) => {
      isOver = true;
      return answer;
    });
    await clock.advance(3_600_000);
    expect(isOver).toBe(false);
    aws.queue.send({ hello: 'world' });
    expect((await polling).Messages).toHaveLength(1);
  });

  it('fails with an error that AWS starts to return', async () => {
    const { clock, aws, receive } = open();
    const polling = receive();
    await clock.advance(10_000);
    aws.faults.add({ kind: 'error', action: 'ReceiveMessage', code: 'AccessDenied' });
    const refused = expect(polling).rejects.toMatchObject({ name: 'AccessDenied' });
    await clock.advance(10_000);
    await refused;
  });

  it('ends with a message, or when its caller aborts', async () => {
    const { clock, aws, receive } = open();
    const polling = receive();
    await clock.advance(5_000);
    aws.queue.send({ hello: 'world' });
    expect((await polling).Messages?.map(({ Body }) => Body)).toEqual(['{"hello":"world"}']);

    const stop = new AbortController();
    const abandoned = receive(stop.signal);
    await clock.settle();
    stop.abort();
    await expect(abandoned).rejects.toMatchObject({ name: 'AbortError' });
    expect(clock.waiting).toBe(0);
  });
});

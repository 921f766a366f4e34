import {
  CreateTagsCommand,
  DescribeInstancesCommand,
  DescribeSubnetsCommand,
  EC2Client,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2';
import { DescribeClusterCommand, EKSClient } from '@aws-sdk/client-eks';
import { GetRoleCommand, IAMClient } from '@aws-sdk/client-iam';
import { GetQueueUrlCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { FaultRule } from '../../../../src/local/aws/fault-rules.ts';
import { faultBook } from '../../../../src/local/aws/faults.ts';
import { randomStream } from '../../../../src/local/aws/random.ts';
import { codeOf, type Fixture, instanceIds, startFixture } from './fixture.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await startFixture();
});
afterEach(() => fixture.close());

const describeSubnets = (): Promise<unknown> => fixture.ec2.send(new DescribeSubnetsCommand({}));

describe('a pattern of a fault', () => {
  it.each([
    [{ kind: 'capacity', instanceType: '.*' }, 'instanceType: ".*" matches no known value; patterns are globs'],
    [{ kind: 'never-joins', instanceType: 'm5.lagre' }, 'for example "m5.*"'],
    [{ kind: 'capacity', zone: 'eu-central-1a' }, 'zone: "eu-central-1a" matches no known value'],
  ] as const)('is refused if it matches nothing: %j', (rule, text) => {
    expect(() => fixture.aws.faults.add(rule)).toThrow(text);
    expect(fixture.aws.faults.list()).toEqual([]);
  });

  it('is a glob of instance types and zones', () => {
    fixture.aws.faults.add({ kind: 'capacity', instanceType: 'm5.*', zone: '*a' });
    expect(fixture.aws.faults.list()).toHaveLength(1);
  });
});

describe('a fault of calls', () => {
  it('throttles a number of calls with the error code of each service', async () => {
    fixture.aws.faults.add({ kind: 'throttle', times: 2 });
    expect(await codeOf(describeSubnets())).toBe('RequestLimitExceeded');
    expect(await codeOf(new SQSClient(fixture.config).send(new GetQueueUrlCommand({ QueueName: 'demo' })))).toBe(
      'ThrottlingException',
    );
    await describeSubnets();
    expect(fixture.aws.faults.list()).toEqual([]);
  });

  it('is handled by the retries of the SDK', async () => {
    fixture.aws.faults.add({ kind: 'throttle', action: 'DescribeSubnets', times: 1 });
    fixture.aws.calls.clear();
    const patient = new EC2Client({ ...fixture.config, maxAttempts: 2 });
    expect((await patient.send(new DescribeSubnetsCommand({}))).Subnets).toHaveLength(6);
    expect(fixture.aws.calls.counts()).toEqual({ DescribeSubnets: 2 });
    expect(fixture.aws.calls.recorded('DescribeSubnets').map((call) => call.errorCode)).toEqual([
      'RequestLimitExceeded',
      undefined,
    ]);
  });

  it('returns any code and message until it is removed', async () => {
    const id = fixture.aws.faults.add({
      kind: 'error',
      action: 'Describe*',
      code: 'UnauthorizedOperation',
      message: 'no',
    });
    await expect(describeSubnets()).rejects.toMatchObject({
      Code: 'UnauthorizedOperation',
      message: 'no',
      $metadata: { httpStatusCode: 403 },
    });
    fixture.aws.faults.clear(id);
    await describeSubnets();
  });

  it('delays responses on the clock', async () => {
    fixture.aws.faults.add({ kind: 'latency', action: 'DescribeSubnets', ms: 5_000 });
    let answered = false;
    const call = describeSubnets().then(() => {
      answered = true;
    });
    while (fixture.clock.waiting === 0) await fixture.clock.settle();
    expect(answered).toBe(false);
    await fixture.clock.advance(5_000);
    await call;
  });

  it('occurs at a rate', () => {
    const book = faultBook(randomStream(7));
    book.add({ kind: 'error', action: '*', code: 'InternalError', rate: 0.3 });
    const failed = Array.from({ length: 1000 }, () => book.onCall('ec2', 'X').error).filter(Boolean).length;
    expect(failed).toBeGreaterThan(250);
    expect(failed).toBeLessThan(350);
  });
});

describe('a lost request or response', () => {
  const instances = (): number => fixture.aws.instances.list().length;
  const buy = async (): Promise<unknown> =>
    fixture.fleet({ template: 'karpenter.k8s.aws/1', types: ['m5.large'], more: { ClientToken: 'once' } });
  beforeEach(async () => {
    await fixture.template();
  });

  it.each([
    { rule: { kind: 'reset', lost: 'request' }, noted: 'unheard', bought: 0 },
    { rule: { kind: 'reset' }, noted: 'unanswered', bought: 1 },
    { rule: { kind: 'malformed' }, noted: 'cut', bought: 1 },
  ] as const)('is recorded as $noted after $bought launches', async ({ rule, noted, bought }) => {
    fixture.aws.faults.add({ ...rule, action: 'CreateFleet', times: 1 });
    await expect(buy()).rejects.toThrow();
    expect(instances()).toBe(bought);
    expect(fixture.aws.calls.recorded('CreateFleet').map(({ errorCode }) => errorCode)).toEqual([noted]);
    await buy();
    expect(instances()).toBe(1);
  });
});

describe('the set of expired credentials', () => {
  it('is rejected by each service with its own error', async () => {
    fixture.aws.faults.add({ kind: 'expired-credentials' });
    const { config } = fixture;
    expect(await codeOf(describeSubnets())).toBe('RequestExpired');
    expect(await codeOf(new IAMClient(config).send(new GetRoleCommand({ RoleName: 'a' })))).toBe('ExpiredToken');
    expect(await codeOf(new EKSClient(config).send(new DescribeClusterCommand({ name: 'demo' })))).toBe(
      'ExpiredTokenException',
    );
  });
});

describe('eventual consistency', () => {
  it('hides an instance, then its tags, from reads and changes', async () => {
    fixture.aws.faults.add({ kind: 'invisible', ms: 5_000, times: 1 });
    fixture.aws.faults.add({ kind: 'late-tags', ms: 3_000, times: 1 });
    const TagSpecifications = [{ ResourceType: 'instance' as const, Tags: [{ Key: 'team', Value: 'a' }] }];
    const template = await fixture.template();
    const [id = ''] = instanceIds(await fixture.fleet({ template, types: ['m5.large'], more: { TagSpecifications } }));
    const named = async () => {
      const answer = await fixture.ec2.send(new DescribeInstancesCommand({ InstanceIds: [id] }));
      return answer.Reservations?.[0]?.Instances?.[0]?.Tags?.map(({ Key }) => Key);
    };
    const found = async () => {
      const Filters = [{ Name: 'tag-key', Values: ['team'] }];
      return (await fixture.ec2.send(new DescribeInstancesCommand({ Filters }))).Reservations?.length ?? 0;
    };
    for (const call of [
      new TerminateInstancesCommand({ InstanceIds: [id] }),
      new CreateTagsCommand({ Resources: [id], Tags: [{ Key: 'a', Value: 'b' }] }),
    ])
      expect(await codeOf(fixture.ec2.send(call as TerminateInstancesCommand))).toBe('InvalidInstanceID.NotFound');
    expect(await codeOf(named())).toBe('InvalidInstanceID.NotFound');
    await fixture.clock.advance(5_000);
    expect(await named()).toEqual([]);
    expect(await found()).toBe(0);
    await fixture.clock.advance(3_000);
    expect(await named()).toContain('team');
    expect(await found()).toBe(1);
  });
});

describe('a fault of instances', () => {
  it('delays the boot of some instances and prevents others from joining', async () => {
    fixture.aws.faults.add({ kind: 'slow-boot', instanceType: 'c5.*', ms: 60_000, times: 1 });
    fixture.aws.faults.add({ kind: 'never-joins', capacityType: 'spot' });
    const template = await fixture.template();
    const boot = async (type: string, market: 'spot' | 'on-demand'): Promise<unknown> => {
      const [id] = instanceIds(await fixture.fleet({ template, types: [type], market }));
      const { joins, bootDelayMs } = fixture.aws.instances.get(String(id)) ?? {};
      return { joins, bootDelayMs };
    };
    expect(await boot('c5.large', 'on-demand')).toEqual({ joins: true, bootDelayMs: 60_000 });
    expect(await boot('c5.large', 'on-demand')).toEqual({ joins: true, bootDelayMs: 0 });
    expect(await boot('m5.large', 'spot')).toEqual({ joins: false, bootDelayMs: 0 });
  });
});

describe('a fault rule', () => {
  it.each([
    { rule: { kind: 'flood' }, says: 'of kind "flood": use one of capacity' },
    {
      rule: { kind: 'capacity', remaining: -1 },
      says: 'remaining: Invalid value: -1: remaining in body should be greater than or equal to 0',
    },
    { rule: { kind: 'capacity', type: 'm5.large' }, says: 'unknown field "type" (fields: instanceType' },
    { rule: { kind: 'error', action: 'CreateFleet' }, says: 'code: Required value' },
    {
      rule: { kind: 'throttle', rate: 2 },
      says: 'rate: Invalid value: 2: rate in body should be less than or equal to 1',
    },
    {
      rule: { kind: 'reset', lost: 'both' },
      says: 'lost: Unsupported value: "both": supported values: "request", "answer"',
    },
    { rule: { kind: 'invisible' }, says: 'ms: Required value' },
  ])('is rejected if it is invalid: $says', ({ rule, says }) => {
    expect(() => fixture.aws.faults.add(rule as FaultRule)).toThrow(says);
    expect(fixture.aws.faults.list()).toEqual([]);
  });
});

describe('the admin interface', () => {
  const ask = async (
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; json: Record<string, unknown> }> => {
    const answer = await fetch(`${fixture.aws.url}/_local/${path}`, {
      method,
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return { status: answer.status, json: (await answer.json()) as Record<string, unknown> };
  };

  it('enables and disables faults', async () => {
    expect(await ask('POST', 'faults', { kind: 'throttle', action: 'DescribeSubnets' })).toEqual({
      status: 201,
      json: { id: 'fault-1' },
    });
    expect(await codeOf(describeSubnets())).toBe('RequestLimitExceeded');
    expect((await ask('GET', 'faults')).json).toMatchObject([{ id: 'fault-1' }]);
    await ask('DELETE', 'faults/fault-1');
    await describeSubnets();
  });

  it('returns the state and interrupts an instance', async () => {
    const template = await fixture.template();
    const [id] = instanceIds(await fixture.fleet({ template, types: ['m5.large'], market: 'spot' }));
    await fixture.clock.advance(8_000);
    expect((await ask('GET', 'state')).json).toMatchObject({
      clusterName: 'demo',
      instances: [{ id, type: 'm5.large', state: 'running' }],
      calls: { CreateFleet: 1 },
    });
    expect((await ask('GET', 'calls?action=CreateFleet')).json).toMatchObject([
      { service: 'ec2', input: { Type: 'instant' } },
    ]);
    expect((await ask('POST', `instances/${id}/interrupt`)).status).toBe(200);
    await fixture.clock.advance(120_000);
    expect(fixture.aws.instances.get(String(id))?.state).toBe('shutting-down');
  });

  it.each([
    { method: 'POST', path: 'faults', body: '{', status: 400, says: 'not JSON' },
    { method: 'POST', path: 'faults', body: { kind: 'x' }, status: 400, says: 'kind "x"' },
    { method: 'POST', path: 'instances/i-1/interrupt', status: 400, says: 'the instance does not exist' },
    { method: 'POST', path: 'instances/i-1/paint', status: 400, says: 'Unknown verb "paint"' },
    { method: 'GET', path: 'elephants', status: 404, says: 'GET /_local/elephants does not exist' },
  ])('returns $status for $method $path: $says', async ({ method, path, body, status, says }) => {
    const answer = await ask(method, path, body);
    expect(answer.status).toBe(status);
    expect(answer.json.error).toContain(says);
  });
});

import {
  ChangeMessageVisibilityCommand,
  DeleteMessageBatchCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  type Message,
  PurgeQueueCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { codeOf, type Fixture, instanceIds, startFixture } from './fixture.ts';

let fixture: Fixture;
let sqs: SQSClient;
let QueueUrl: string;
beforeEach(async () => {
  fixture = await startFixture();
  sqs = new SQSClient(fixture.config);
  QueueUrl = String((await sqs.send(new GetQueueUrlCommand({ QueueName: 'demo' }))).QueueUrl);
});
afterEach(async () => {
  sqs.destroy();
  await fixture.close();
});

const send = (body: string): Promise<unknown> => sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: body }));
const receive = async (wait = 0): Promise<Message[]> =>
  (
    await sqs.send(
      new ReceiveMessageCommand({
        QueueUrl,
        MaxNumberOfMessages: 10,
        VisibilityTimeout: 20,
        WaitTimeSeconds: wait,
        MessageSystemAttributeNames: ['All'],
        MessageAttributeNames: ['All'],
      }),
    )
  ).Messages ?? [];
const bodies = async (): Promise<(string | undefined)[]> => (await receive()).map((message) => message.Body);

describe('a queue', () => {
  it('is found by its name, with an address of this server', () => {
    expect(QueueUrl).toBe(`${fixture.aws.url}/123456789012/demo`);
    expect(fixture.aws.queue.url).toBe(QueueUrl);
  });

  it('hides a received message, and returns it again after the visibility timeout', async () => {
    await send('hello');
    expect(await receive()).toMatchObject([{ Body: 'hello', Attributes: { ApproximateReceiveCount: '1' } }]);
    expect(await receive()).toEqual([]);
    await fixture.clock.advance(20_000);
    expect(await receive()).toMatchObject([{ Body: 'hello', Attributes: { ApproximateReceiveCount: '2' } }]);
  });

  it('removes deleted messages, and old messages after five minutes', async () => {
    await send('one');
    const [message] = await receive();
    await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: message?.ReceiptHandle }));
    await fixture.clock.advance(30_000);
    expect(await bodies()).toEqual([]);
    await send('two');
    await fixture.clock.advance(300_000);
    expect(await bodies()).toEqual([]);
  });

  it('supports long polling', async () => {
    const waiting = receive(20);
    // The server must receive the request before the message.
    while (fixture.aws.calls.recorded('ReceiveMessage').length === 0) await fixture.clock.settle();
    await send('late');
    expect(await waiting).toMatchObject([{ Body: 'late' }]);
  });

  it('returns an empty response after the wait time', async () => {
    const waiting = receive(20);
    while (fixture.clock.waiting === 0) await fixture.clock.settle();
    await fixture.clock.advance(20_000);
    expect(await waiting).toEqual([]);
  });

  it('deletes in batches, with an error for invalid handles', async () => {
    await send('one');
    const [message] = await receive();
    const answer = await sqs.send(
      new DeleteMessageBatchCommand({
        QueueUrl,
        Entries: [
          { Id: 'good', ReceiptHandle: message?.ReceiptHandle },
          { Id: 'bad', ReceiptHandle: 'nonsense' },
        ],
      }),
    );
    expect(answer.Successful).toEqual([{ Id: 'good' }]);
    expect(answer.Failed).toMatchObject([{ Id: 'bad', Code: 'ReceiptHandleIsInvalid' }]);
    expect(fixture.aws.queue.size()).toBe(0);
  });

  it('returns a message immediately if its visibility timeout is set to 0, and reports its counts', async () => {
    await send('one');
    const [message] = await receive();
    const counts = async (): Promise<unknown> =>
      (
        await sqs.send(
          new GetQueueAttributesCommand({
            QueueUrl,
            AttributeNames: ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'],
          }),
        )
      ).Attributes;
    expect(await counts()).toEqual({ ApproximateNumberOfMessages: '0', ApproximateNumberOfMessagesNotVisible: '1' });
    await sqs.send(
      new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle: message?.ReceiptHandle, VisibilityTimeout: 0 }),
    );
    expect(await counts()).toEqual({ ApproximateNumberOfMessages: '1', ApproximateNumberOfMessagesNotVisible: '0' });
    await sqs.send(new PurgeQueueCommand({ QueueUrl }));
    expect(await bodies()).toEqual([]);
  });

  it('returns the error of AWS for an unknown name', async () => {
    const missing = sqs.send(new GetQueueUrlCommand({ QueueName: 'nothing' }));
    await expect(missing).rejects.toMatchObject({ name: 'QueueDoesNotExist' });
  });

  it('rejects invalid sizes', async () => {
    expect(await codeOf(sqs.send(new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 11 })))).toBe(
      'InvalidParameterValue',
    );
  });
});

describe('an event', () => {
  interface Event {
    readonly source: string;
    readonly 'detail-type': string;
    readonly detail: Readonly<Record<string, unknown>>;
  }
  const events = async (): Promise<Event[]> =>
    (await receive()).map((message) => JSON.parse(String(message.Body)) as Event);
  const buySpot = async (): Promise<string> => {
    const template = await fixture.template();
    return String(instanceIds(await fixture.fleet({ template, types: ['m5.large'], market: 'spot' }))[0]);
  };

  it('announces a spot interruption two minutes before the termination', async () => {
    const id = await buySpot();
    await fixture.clock.advance(10_000);
    await receive();
    fixture.aws.faults.interrupt(id);
    expect(await events()).toMatchObject([
      {
        version: '0',
        source: 'aws.ec2',
        'detail-type': 'EC2 Spot Instance Interruption Warning',
        region: 'us-west-2',
        detail: { 'instance-id': id, 'instance-action': 'terminate' },
      },
    ]);
    await fixture.clock.advance(119_000);
    expect(fixture.aws.instances.get(id)?.state).toBe('running');
    await fixture.clock.advance(1_000);
    expect(fixture.aws.instances.get(id)?.state).toBe('shutting-down');
    expect((await events()).map((event) => event.detail.state)).toContain('shutting-down');
  });

  it('recommends rebalancing or announces maintenance', async () => {
    const id = await buySpot();
    await receive();
    fixture.aws.faults.recommendRebalance(id);
    fixture.aws.faults.scheduleChange(id);
    const [rebalance, health] = await events();
    expect(rebalance).toMatchObject({
      'detail-type': 'EC2 Instance Rebalance Recommendation',
      detail: { 'instance-id': id },
    });
    expect(health).toMatchObject({
      source: 'aws.health',
      'detail-type': 'AWS Health Event',
      detail: { service: 'EC2', eventTypeCategory: 'scheduledChange', affectedEntities: [{ entityValue: id }] },
    });
  });

  it('reports each state change, unless it is disabled', async () => {
    const id = await buySpot();
    await fixture.clock.advance(8_000);
    expect(await events()).toMatchObject([
      { 'detail-type': 'EC2 Instance State-change Notification', detail: { 'instance-id': id, state: 'pending' } },
      { detail: { 'instance-id': id, state: 'running' } },
    ]);
    const silent = await startFixture({ stateChangeEvents: false });
    try {
      await silent.fleet({ template: await silent.template(), types: ['m5.large'] });
      expect(silent.aws.queue.size()).toBe(0);
    } finally {
      await silent.close();
    }
  });

  it('is only sent for instances that can be interrupted', async () => {
    const template = await fixture.template();
    const [id] = instanceIds(await fixture.fleet({ template, types: ['m5.large'] }));
    expect(() => fixture.aws.faults.interrupt(String(id))).toThrow(/only spot instances/);
    expect(() => fixture.aws.faults.interrupt('i-0123')).toThrow(/the instance does not exist/);
  });
});

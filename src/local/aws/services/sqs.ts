/** SQS: the calls of a consumer, and the administration calls that create a queue. */
import type {
  BatchResultErrorEntry,
  ChangeMessageVisibilityRequest,
  CreateQueueRequest,
  DeleteMessageBatchRequest,
  DeleteMessageBatchResult,
  DeleteMessageRequest,
  GetQueueAttributesRequest,
  GetQueueAttributesResult,
  GetQueueUrlRequest,
  ListQueuesRequest,
  ListQueuesResult,
  Message,
  PurgeQueueRequest,
  ReceiveMessageRequest,
  ReceiveMessageResult,
  SendMessageRequest,
  SendMessageResult,
} from '@aws-sdk/client-sqs';
import { page } from '../filters.ts';
import type { Account } from '../state/account.ts';
import { md5, type Queue, type StoredMessage } from '../state/queues.ts';
import { AwsError } from '../wire/error.ts';
import type { AwsCall, Handlers } from '../wire/service.ts';

const MAX_BATCH = 10;

export const sqsHandlers = (account: Account, urlOf: (name: string) => string): Handlers => ({
  ...queueHandlers(account, urlOf),
  ...messageHandlers(account),
  ...receivedHandlers(account),
});

function queueNamed(account: Account, name: string | undefined): Queue {
  const queue = name ? account.queues.get(name) : undefined;
  if (!queue) throw new AwsError('QueueDoesNotExist', 'The specified queue does not exist.', 400);
  return queue;
}

const queueAt = (account: Account, url: string | undefined): Queue => queueNamed(account, url?.split('/').at(-1));

/** Handlers of queues. */
const queueHandlers = (account: Account, urlOf: (name: string) => string): Handlers => ({
  GetQueueUrl: ({ QueueName: name }: GetQueueUrlRequest) => ({ QueueUrl: urlOf(queueNamed(account, name).name) }),

  CreateQueue: ({ QueueName: name = '', Attributes: attributes, tags }: CreateQueueRequest) => {
    if (!/^[A-Za-z0-9_-]{1,80}$/.test(name)) {
      throw invalidParameter('Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length');
    }
    const queue = account.queues.get(name) ?? account.queues.create(name, attributes);
    queue.tags = { ...queue.tags, ...tags };
    return { QueueUrl: urlOf(name) };
  },

  ListQueues: (input: ListQueuesRequest): ListQueuesResult => {
    const names = account.queues
      .list()
      .map((queue) => queue.name)
      .filter((name) => name.startsWith(input.QueueNamePrefix ?? ''));
    const { items, next } = page(names, input, { max: 1000, fallback: 1000 });
    return { QueueUrls: items.map(urlOf), NextToken: next };
  },

  DeleteQueue: ({ QueueUrl: url }: { QueueUrl?: string }) => {
    account.queues.delete(queueAt(account, url).name);
    return {};
  },

  GetQueueAttributes: ({
    QueueUrl: url,
    AttributeNames: names = [],
  }: GetQueueAttributesRequest): GetQueueAttributesResult => {
    const all = queueAttributes(account, queueAt(account, url));
    const wanted = new Set<string>(names);
    const chosen = Object.entries(all).filter(([name]) => wanted.has('All') || wanted.has(name));
    return chosen.length > 0 ? { Attributes: Object.fromEntries(chosen) } : {};
  },

  PurgeQueue: ({ QueueUrl: url }: PurgeQueueRequest) => {
    queueAt(account, url).purge();
    return {};
  },
});

/** Handlers that send and receive messages. */
const messageHandlers = (account: Account): Handlers => ({
  SendMessage: ({
    QueueUrl: url,
    MessageBody: body,
    DelaySeconds: delay,
    MessageAttributes: attributes,
  }: SendMessageRequest): SendMessageResult => {
    const queue = queueAt(account, url);
    if (!body) throw invalidParameter('The request must contain the parameter MessageBody.');
    const limit = Number(queue.attributes.get('MaximumMessageSize'));
    if (Buffer.byteLength(body) > limit) {
      throw invalidParameter(
        `One or more parameters are invalid. Reason: Message must be shorter than ${limit} bytes.`,
      );
    }
    const message = queue.send(body, attributes, delay === undefined ? undefined : delay * 1000);
    return { MessageId: message.id, MD5OfMessageBody: md5(body) };
  },

  ReceiveMessage: (input: ReceiveMessageRequest, call: AwsCall) =>
    receive(queueAt(account, input.QueueUrl), input, call.signal),
});

/** Handlers of received messages. */
const receivedHandlers = (account: Account): Handlers => ({
  DeleteMessage: ({ QueueUrl: url, ReceiptHandle: handle }: DeleteMessageRequest) => {
    const queue = queueAt(account, url);
    const message = findMessage(queue, handle);
    if (message) queue.remove(message);
    return {};
  },

  DeleteMessageBatch: ({
    QueueUrl: url,
    Entries: entries = [],
  }: DeleteMessageBatchRequest): DeleteMessageBatchResult => {
    const queue = queueAt(account, url);
    checkBatch(entries.map((entry) => entry.Id ?? ''));
    const failed: BatchResultErrorEntry[] = [];
    const successful: { Id: string | undefined }[] = [];
    for (const { Id: id, ReceiptHandle: handle } of entries) {
      try {
        const message = findMessage(queue, handle);
        if (message) queue.remove(message);
        successful.push({ Id: id });
      } catch (error) {
        if (!(error instanceof AwsError)) throw error;
        failed.push({ Id: id, Code: error.code, Message: error.message, SenderFault: true });
      }
    }
    return { Successful: successful, Failed: failed };
  },

  ChangeMessageVisibility: ({
    QueueUrl: url,
    ReceiptHandle: handle,
    VisibilityTimeout: seconds = 0,
  }: ChangeMessageVisibilityRequest) => {
    const queue = queueAt(account, url);
    inRange('VisibilityTimeout', seconds, 0, 43_200);
    const message = findMessage(queue, handle);
    if (!message || message.visibleAt <= account.clock.now()) {
      throw new AwsError('MessageNotInflight', `Value ${handle} for parameter ReceiptHandle is not in flight.`);
    }
    message.visibleAt = account.clock.now() + seconds * 1000;
    queue.wake();
    return {};
  },
});

async function receive(queue: Queue, input: ReceiveMessageRequest, signal: AbortSignal): Promise<ReceiveMessageResult> {
  const setting = (name: string): number => Number(queue.attributes.get(name));
  const max = inRange('MaxNumberOfMessages', input.MaxNumberOfMessages ?? 1, 1, MAX_BATCH);
  const wait = inRange('WaitTimeSeconds', input.WaitTimeSeconds ?? setting('ReceiveMessageWaitTimeSeconds'), 0, 20);
  const hidden = inRange('VisibilityTimeout', input.VisibilityTimeout ?? setting('VisibilityTimeout'), 0, 43_200);
  const messages = await queue.receive({ max, waitMs: wait * 1000, visibilityMs: hidden * 1000 }, signal);
  const system = new Set<string>([...(input.MessageSystemAttributeNames ?? []), ...(input.AttributeNames ?? [])]);
  const custom = new Set(input.MessageAttributeNames ?? []);
  return messages.length > 0 ? { Messages: messages.map((message) => messageView(message, system, custom)) } : {};
}

function messageView(message: StoredMessage, system: ReadonlySet<string>, custom: ReadonlySet<string>): Message {
  const facts = {
    SenderId: 'AIDAIENQZJOLO23YVJ4VO',
    SentTimestamp: String(message.sentAt),
    ApproximateReceiveCount: String(message.receiveCount),
    ApproximateFirstReceiveTimestamp: String(message.firstReceivedAt ?? message.sentAt),
  };
  const attributes = Object.entries(facts).filter(([name]) => system.has('All') || system.has(name));
  const own = Object.entries(message.attributes).filter(
    ([name]) => custom.has('All') || custom.has('.*') || custom.has(name),
  );
  return {
    MessageId: message.id,
    ReceiptHandle: message.receipt,
    Body: message.body,
    MD5OfBody: md5(message.body),
    ...(attributes.length > 0 ? { Attributes: Object.fromEntries(attributes) } : {}),
    ...(own.length > 0 ? { MessageAttributes: Object.fromEntries(own) } : {}),
  };
}

const EVENT_POLICY = JSON.stringify({
  Version: '2012-10-17',
  Statement: [
    { Effect: 'Allow', Principal: { Service: 'events.amazonaws.com' }, Action: 'sqs:SendMessage', Resource: '*' },
  ],
});

function queueAttributes(account: Account, queue: Queue): Record<string, string> {
  const now = account.clock.now();
  const messages = queue.messages();
  const inFlight = messages.filter((message) => message.visibleAt > now && message.receiveCount > 0).length;
  const delayed = messages.filter((message) => message.visibleAt > now && message.receiveCount === 0).length;
  return {
    // EventBridge in the local AWS sends to every queue. A policy that the caller sets replaces this one.
    Policy: EVENT_POLICY,
    ...Object.fromEntries(queue.attributes),
    QueueArn: `arn:aws:sqs:${account.region}:${account.id}:${queue.name}`,
    ApproximateNumberOfMessages: String(messages.length - inFlight - delayed),
    ApproximateNumberOfMessagesNotVisible: String(inFlight),
    ApproximateNumberOfMessagesDelayed: String(delayed),
    CreatedTimestamp: String(Math.floor(queue.createdAt / 1000)),
    LastModifiedTimestamp: String(Math.floor(queue.createdAt / 1000)),
  };
}

/** Accepts the handle of a deleted message, but rejects text that is not a handle. */
function findMessage(queue: Queue, handle: string | undefined): StoredMessage | undefined {
  const isHandle = /^[0-9a-f-]{36}#\d+$/.test(Buffer.from(handle ?? '', 'base64').toString());
  if (!isHandle) throw new AwsError('ReceiptHandleIsInvalid', `The input receipt handle "${handle}" is not valid.`);
  return queue.find(handle ?? '');
}

function checkBatch(ids: readonly string[]): void {
  if (ids.length === 0) throw new AwsError('EmptyBatchRequest', 'There should be at least one entry in the request.');
  if (ids.length > MAX_BATCH) {
    throw new AwsError('TooManyEntriesInBatchRequest', `Maximum number of entries per request are ${MAX_BATCH}.`);
  }
  if (new Set(ids).size < ids.length)
    throw new AwsError('BatchEntryIdsNotDistinct', 'Two or more entries have the same Id.');
}

function inRange(name: string, value: number, min: number, max: number): number {
  if (value >= min && value <= max) return value;
  throw invalidParameter(
    `Value ${value} for parameter ${name} is invalid. Reason: Must be between ${min} and ${max}, if provided.`,
  );
}

const invalidParameter = (message: string): AwsError => new AwsError('InvalidParameterValue', message);

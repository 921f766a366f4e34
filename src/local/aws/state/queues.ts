/** SQS queues: messages with visibility time-outs, receive counts, retention, and waiting receivers. */
import { createHash } from 'node:crypto';
import type { MessageAttributeValue } from '@aws-sdk/client-sqs';
import type { Clock } from '../../../kube/clock.ts';
import type { Random } from '../random.ts';
import type { Tags } from '../types.ts';

export interface StoredMessage {
  readonly id: string;
  readonly body: string;
  readonly attributes: Readonly<Record<string, MessageAttributeValue>>;
  readonly sentAt: number;
  /** Hidden until then: in flight, or sent with a delay. */
  visibleAt: number;
  receiveCount: number;
  firstReceivedAt: number | undefined;
  /** Handle of the latest receipt. */
  receipt: string | undefined;
}

export interface ReceiveRequest {
  readonly max: number;
  readonly waitMs: number;
  readonly visibilityMs: number;
}

export interface Queue {
  readonly name: string;
  readonly createdAt: number;
  readonly attributes: Map<string, string>;
  tags: Tags;
  send(body: string, attributes?: Readonly<Record<string, MessageAttributeValue>>, delayMs?: number): StoredMessage;
  /** Waits for a first message up to `waitMs`; answers early when `signal` aborts. */
  receive(request: ReceiveRequest, signal?: AbortSignal): Promise<readonly StoredMessage[]>;
  /** The message of a receipt handle, also when it is visible again. */
  find(receipt: string): StoredMessage | undefined;
  remove(message: StoredMessage): void;
  purge(): void;
  messages(): readonly StoredMessage[];
  /** Tells waiting receivers that a message may have become visible. */
  wake(): void;
}

export interface Queues {
  create(name: string, attributes?: Readonly<Record<string, string>>): Queue;
  get(name: string): Queue | undefined;
  delete(name: string): void;
  list(): readonly Queue[];
}

const DEFAULTS: Readonly<Record<string, string>> = {
  VisibilityTimeout: '30',
  MaximumMessageSize: '262144',
  MessageRetentionPeriod: '345600',
  DelaySeconds: '0',
  ReceiveMessageWaitTimeSeconds: '0',
  SqsManagedSseEnabled: 'true',
};

export function createQueues(clock: Clock, random: Random): Queues {
  const queues = new Map<string, Queue>();
  return {
    create(name, attributes = {}) {
      const queue = createQueue(name, { ...DEFAULTS, ...attributes }, clock, random);
      queues.set(name, queue);
      return queue;
    },
    get: (name) => queues.get(name),
    delete: (name) => {
      queues.delete(name);
    },
    list: () => [...queues.values()],
  };
}

function createQueue(name: string, defaults: Readonly<Record<string, string>>, clock: Clock, random: Random): Queue {
  const attributes = new Map(Object.entries(defaults));
  let messages: StoredMessage[] = [];
  const waiting = new Set<() => void>();

  const wake = (): void => {
    for (const resume of [...waiting]) resume();
  };
  const expire = (): void => {
    const oldest = clock.now() - Number(attributes.get('MessageRetentionPeriod')) * 1000;
    messages = messages.filter((message) => message.sentAt > oldest);
  };
  const take = ({ max, visibilityMs }: ReceiveRequest): readonly StoredMessage[] => {
    expire();
    const now = clock.now();
    const taken = messages.filter((message) => message.visibleAt <= now).slice(0, max);
    for (const message of taken) {
      message.visibleAt = now + visibilityMs;
      message.receiveCount += 1;
      message.firstReceivedAt ??= now;
      message.receipt = Buffer.from(`${message.id}#${message.receiveCount}`).toString('base64');
    }
    return taken;
  };

  return {
    name,
    createdAt: clock.now(),
    attributes,
    tags: {},
    wake,
    send(body, messageAttributes = {}, delayMs = Number(attributes.get('DelaySeconds')) * 1000) {
      const now = clock.now();
      const message: StoredMessage = {
        id: random.uuid(),
        body,
        attributes: messageAttributes,
        sentAt: now,
        visibleAt: now + delayMs,
        receiveCount: 0,
        firstReceivedAt: undefined,
        receipt: undefined,
      };
      messages.push(message);
      wake();
      return message;
    },
    async receive(request, signal) {
      const deadline = clock.now() + request.waitMs;
      for (;;) {
        const taken = take(request);
        const now = clock.now();
        if (taken.length > 0 || now >= deadline || signal?.aborted) return taken;
        // a hidden message may become visible before the wait is over
        const next = Math.min(deadline, ...messages.map((message) => message.visibleAt));
        await pause(clock, Math.max(1, next - now), waiting, signal);
      }
    },
    find: (receipt) => {
      const id = Buffer.from(receipt, 'base64').toString().split('#')[0];
      return messages.find((message) => message.id === id);
    },
    remove(message) {
      messages = messages.filter((other) => other !== message);
    },
    purge() {
      messages = [];
    },
    messages() {
      expire();
      return messages;
    },
  };
}

/** Resolves when the time is over, when a message arrives, or when the receiver is gone. */
function pause(clock: Clock, ms: number, waiting: Set<() => void>, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      cancel();
      waiting.delete(done);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(ms, done);
    waiting.add(done);
    signal?.addEventListener('abort', done, { once: true });
  });
}

/** SQS proves what it stored with an MD5 of the body. */
export const md5 = (data: string | Uint8Array): string => createHash('md5').update(data).digest('hex');

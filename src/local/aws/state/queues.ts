/** SQS queues: messages with visibility timeouts, receive counts, retention, and long polling. */
import { createHash } from 'node:crypto';
import type { MessageAttributeValue } from '@aws-sdk/client-sqs';
import type { Clock } from '#lib/clock';
import type { RandomStream } from '../random.ts';
import type { Tags } from '../types.ts';

export interface StoredMessage {
  readonly id: string;
  readonly body: string;
  readonly attributes: Readonly<Record<string, MessageAttributeValue>>;
  readonly sentAt: number;
  /** Time until which this message is hidden, because it is in flight or delayed. */
  visibleAt: number;
  receiveCount: number;
  firstReceivedAt: number | undefined;
  /** Handle of the latest receive. */
  receipt: string | undefined;
}

interface ReceiveRequest {
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
  /** Waits for a message for up to `waitMs`. Returns early if `signal` aborts. */
  receive(request: ReceiveRequest, signal?: AbortSignal): Promise<readonly StoredMessage[]>;
  /** Returns the message of a receipt handle, even if the message is visible again. */
  find(receipt: string): StoredMessage | undefined;
  remove(message: StoredMessage): void;
  purge(): void;
  messages(): readonly StoredMessage[];
  /** Wakes waiting receivers, because a message may have become visible. */
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

export function createQueues(clock: Clock, random: RandomStream): Queues {
  const queues = new Map<string, Queue>();
  return {
    create(name, attributes = {}) {
      const queue = new MessageQueue(name, { ...DEFAULTS, ...attributes }, clock, random);
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

class MessageQueue implements Queue {
  readonly name: string;
  readonly createdAt: number;
  readonly attributes: Map<string, string>;
  tags: Tags = {};
  readonly #clock: Clock;
  readonly #random: RandomStream;
  #messages: StoredMessage[] = [];
  /** Wake functions of waiting receivers. */
  readonly #waiting = new Set<() => void>();

  constructor(name: string, attributes: Readonly<Record<string, string>>, clock: Clock, random: RandomStream) {
    this.name = name;
    this.createdAt = clock.now();
    this.attributes = new Map(Object.entries(attributes));
    this.#clock = clock;
    this.#random = random;
  }

  wake(): void {
    for (const resume of [...this.#waiting]) resume();
  }

  send(
    body: string,
    attributes: Readonly<Record<string, MessageAttributeValue>> = {},
    delayMs = Number(this.attributes.get('DelaySeconds')) * 1000,
  ): StoredMessage {
    const now = this.#clock.now();
    const message: StoredMessage = {
      id: this.#random.uuid(),
      body,
      attributes,
      sentAt: now,
      visibleAt: now + delayMs,
      receiveCount: 0,
      firstReceivedAt: undefined,
      receipt: undefined,
    };
    this.#messages.push(message);
    this.wake();
    return message;
  }

  async receive(request: ReceiveRequest, signal?: AbortSignal): Promise<readonly StoredMessage[]> {
    const deadline = this.#clock.now() + request.waitMs;
    for (;;) {
      const taken = this.#take(request);
      const now = this.#clock.now();
      if (taken.length > 0 || now >= deadline || signal?.aborted) return taken;
      // A hidden message may become visible before the end of the wait.
      const next = Math.min(deadline, ...this.#messages.map((message) => message.visibleAt));
      await pause(this.#clock, Math.max(1, next - now), this.#waiting, signal);
    }
  }

  find(receipt: string): StoredMessage | undefined {
    const id = Buffer.from(receipt, 'base64').toString().split('#')[0];
    return this.#messages.find((message) => message.id === id);
  }

  remove(message: StoredMessage): void {
    this.#messages = this.#messages.filter((other) => other !== message);
  }

  purge(): void {
    this.#messages = [];
  }

  messages(): readonly StoredMessage[] {
    this.#expire();
    return this.#messages;
  }

  #expire(): void {
    const oldest = this.#clock.now() - Number(this.attributes.get('MessageRetentionPeriod')) * 1000;
    this.#messages = this.#messages.filter((message) => message.sentAt > oldest);
  }

  #take({ max, visibilityMs }: ReceiveRequest): readonly StoredMessage[] {
    this.#expire();
    const now = this.#clock.now();
    const taken = this.#messages.filter((message) => message.visibleAt <= now).slice(0, max);
    for (const message of taken) {
      message.visibleAt = now + visibilityMs;
      message.receiveCount += 1;
      message.firstReceivedAt ??= now;
      message.receipt = Buffer.from(`${message.id}#${message.receiveCount}`).toString('base64');
    }
    return taken;
  }
}

/** Resolves when the time is over, when a message arrives, or when the client disconnects. */
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

/** SQS confirms a stored message with the MD5 of its body. */
export const md5 = (data: string | Uint8Array): string => createHash('md5').update(data).digest('hex');

/** Reads the interruption queue and handles its messages. */
import {
  DeleteMessageCommand,
  GetQueueUrlCommand,
  ReceiveMessageCommand,
  type SQSClient,
  type Message as SqsMessage,
} from '@aws-sdk/client-sqs';
import { type Outcome, type ReconcileContext, type Singleton, settled } from '#kube/reconcilers';
import { rejections } from '#lib';
import type { Logger } from '#observe/logger';
import { combineErrors } from '../errors.ts';
import { type ActOptions, act } from './act.ts';
import { type Message, parseMessage } from './messages.ts';

interface InterruptionOptions extends ActOptions {
  readonly sqs: SQSClient;
  readonly queueName: string;
}

/** Visibility timeout of received messages, and wait time for an empty queue. */
const WAIT_SECONDS = 20;
/**
 * Short, because a spot instance terminates two minutes after its warning. The queue must be read soon after SQS
 * recovers.
 */
const BACK_OFF = { baseMs: 100, maxMs: 10_000 };

export function interruption(options: InterruptionOptions): Singleton {
  const queue = new InterruptionQueue(options);
  return {
    name: 'interruption',
    singleton: true,
    backOff: BACK_OFF,
    reconcile: (context) => queue.reconcile(context),
  };
}

class InterruptionQueue {
  readonly #options: InterruptionOptions;
  #url: string | undefined;

  constructor(options: InterruptionOptions) {
    this.#options = options;
  }

  async reconcile({ log, signal }: ReconcileContext): Promise<Outcome> {
    const url = await this.#findUrl(log);
    let messages: readonly SqsMessage[];
    try {
      messages = await this.#receive(url, signal);
    } catch (error) {
      if (signal.aborted) return settled;
      // The queue may have been created again with another URL.
      this.#url = undefined;
      throw error;
    }
    const results = await Promise.allSettled(messages.map((message) => this.#handle(message, log)));
    const failed = rejections(results);
    if (failed.length > 0) throw combineErrors('handling interruption messages', failed);
    return settled;
  }

  async #findUrl(log: Logger): Promise<string> {
    if (this.#url !== undefined) return this.#url;
    const { sqs, queueName } = this.#options;
    try {
      const answer = await sqs.send(new GetQueueUrlCommand({ QueueName: queueName }));
      this.#url = answer.QueueUrl ?? '';
    } catch (error) {
      log.error('failed to create valid sqs provider', { queue: queueName, error });
      throw error;
    }
    log.debug('watching interruption queue', { queue: queueName });
    return this.#url;
  }

  async #receive(url: string, signal: AbortSignal): Promise<readonly SqsMessage[]> {
    const command = new ReceiveMessageCommand({
      QueueUrl: url,
      MaxNumberOfMessages: 10,
      WaitTimeSeconds: WAIT_SECONDS,
      VisibilityTimeout: WAIT_SECONDS,
      MessageSystemAttributeNames: ['SentTimestamp'],
      MessageAttributeNames: ['All'],
    });
    const answer = await this.#options.sqs.send(command, { abortSignal: signal });
    return answer.Messages ?? [];
  }

  /**
   * Handles and deletes a message. A message stays in this queue if its handling fails, and is deleted if it cannot be
   * parsed.
   */
  async #handle(message: SqsMessage, log: Logger): Promise<void> {
    const { queueName, metrics, clock, plansEvents } = this.#options;
    let parsed: Message;
    try {
      parsed = parseMessage(message.Body);
    } catch (error) {
      log.error('failed parsing interruption message', { queue: queueName, messageId: message.MessageId, error });
      await this.#remove(message);
      return;
    }
    metrics.interruptionReceived.inc({ message_type: parsed.kind });
    const { kind, instanceIds, notBeforeMs, isClosed } = parsed;
    if (!(isClosed && plansEvents))
      await act(kind, instanceIds, this.#options, log.with({ queue: queueName }), notBeforeMs);
    if (parsed.timeMs !== undefined)
      metrics.interruptionSeconds.observe(Math.max(0, clock.now() - parsed.timeMs) / 1000);
    await this.#remove(message);
  }

  async #remove(message: SqsMessage): Promise<void> {
    const { sqs, metrics } = this.#options;
    await sqs.send(new DeleteMessageCommand({ QueueUrl: this.#url, ReceiptHandle: message.ReceiptHandle }));
    metrics.interruptionDeleted.inc();
  }
}

/** Reads the interruption queue and acts on what it says. */
import {
  DeleteMessageCommand,
  GetQueueUrlCommand,
  ReceiveMessageCommand,
  type SQSClient,
  type Message as SqsMessage,
} from '@aws-sdk/client-sqs';
import { type Singleton, settled } from '../../kube/reconciler.ts';
import { rejections } from '../../kube/rejections.ts';
import type { Logger } from '../../observe/logger.ts';
import { combined } from '../errors.ts';
import { type ActOptions, act } from './act.ts';
import { type Message, parseMessage } from './messages.ts';

export interface InterruptionOptions extends ActOptions {
  readonly sqs: SQSClient;
  readonly queueName: string;
}

/** Time for which a message that is being handled is hidden, and for which an empty queue is waited on. */
const WAIT_SECONDS = 20;
/** A spot instance ends two minutes after its warning: once SQS answers again, the queue must be read soon. */
const BACK_OFF = { baseMs: 100, maxMs: 10_000 };

export function interruption(options: InterruptionOptions): Singleton {
  const { sqs, queueName, clock, metrics } = options;
  let url: string | undefined;

  async function queueUrl(log: Logger): Promise<string> {
    if (url !== undefined) return url;
    try {
      const answer = await sqs.send(new GetQueueUrlCommand({ QueueName: queueName }));
      url = answer.QueueUrl ?? '';
    } catch (error) {
      log.error('failed to create valid sqs provider', { queue: queueName, error });
      throw error;
    }
    log.debug('watching interruption queue', { queue: queueName });
    return url;
  }

  async function remove(message: SqsMessage): Promise<void> {
    await sqs.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle: message.ReceiptHandle }));
    metrics.interruptionDeleted.inc();
  }

  /** A message that fails stays in the queue and comes back; one that cannot be read is thrown away. */
  async function handle(message: SqsMessage, log: Logger): Promise<void> {
    let parsed: Message;
    try {
      parsed = parseMessage(message.Body);
    } catch (error) {
      log.error('failed parsing interruption message', { queue: queueName, messageId: message.MessageId, error });
      await remove(message);
      return;
    }
    metrics.interruptionReceived.inc({ message_type: parsed.kind });
    await act(parsed.kind, parsed.instanceIds, options, log.with({ queue: queueName }));
    if (parsed.timeMs !== undefined)
      metrics.interruptionSeconds.observe(Math.max(0, clock.now() - parsed.timeMs) / 1000);
    await remove(message);
  }

  return {
    name: 'interruption',
    singleton: true,
    backOff: BACK_OFF,
    async reconcile({ log, signal }) {
      const QueueUrl = await queueUrl(log);
      let messages: readonly SqsMessage[];
      try {
        const answer = await sqs.send(
          new ReceiveMessageCommand({
            QueueUrl,
            MaxNumberOfMessages: 10,
            WaitTimeSeconds: WAIT_SECONDS,
            VisibilityTimeout: WAIT_SECONDS,
            MessageSystemAttributeNames: ['SentTimestamp'],
            MessageAttributeNames: ['All'],
          }),
          { abortSignal: signal },
        );
        messages = answer.Messages ?? [];
      } catch (error) {
        if (signal.aborted) return settled;
        // The queue may have been made anew under another address.
        url = undefined;
        throw error;
      }
      const results = await Promise.allSettled(messages.map((message) => handle(message, log)));
      const failed = rejections(results);
      if (failed.length > 0) throw combined('handling interruption messages', failed);
      return settled;
    },
  };
}

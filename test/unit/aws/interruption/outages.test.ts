/** Time between the end of an AWS outage and the next successful pass of the interruption controllers. */
import { EC2Client } from '@aws-sdk/client-ec2';
import type { SQSClient } from '@aws-sdk/client-sqs';
import { describe, expect, it } from '@jest/globals';
import { runControllers, type Singleton } from '#kube/reconcilers';
import { silent } from '#observe/logger';
import { createMetrics } from '#observe/setup';
import type { ActOptions } from '../../../../src/aws/interruption/act.ts';
import { interruption } from '../../../../src/aws/interruption/controller.ts';
import { instanceStatus } from '../../../../src/aws/interruption/instance-status.ts';
import { awsMetrics } from '../../../../src/aws/metrics.ts';
import { handFed } from '../../kube/fakes.ts';
import { virtualClock } from '../../virtualclock.ts';

interface Outage {
  readonly options: ActOptions;
  /** Fails during the outage; takes `ms` after it. */
  readonly answer: (ms: number) => Promise<void>;
}

/** Returns the seconds from the end of the outage to the first successful call. */
async function deafFor(outageSeconds: number, controllerOf: (outage: Outage) => Singleton): Promise<number> {
  const clock = virtualClock();
  const endsMs = clock.now() + outageSeconds * 1000;
  const metrics = createMetrics();
  const { informers } = handFed();
  const answered: number[] = [];
  const answer = async (ms: number): Promise<void> => {
    if (clock.now() < endsMs) throw new Error('AWS is away');
    answered.push(clock.now());
    await clock.sleep(ms);
  };
  const options = { informers, clock, metrics: awsMetrics(metrics) } as unknown as ActOptions;
  const stop = new AbortController();
  const controllers = [controllerOf({ options, answer })];
  const { done } = runControllers({ controllers, informers, clock, log: silent, metrics, signal: stop.signal });
  await clock.advance(2 * outageSeconds * 1000);
  stop.abort();
  await clock.advance(60_000);
  await done;
  return ((answered[0] ?? Number.POSITIVE_INFINITY) - endsMs) / 1000;
}

const queue = ({ options, answer }: Outage): Singleton => {
  const send = async () => {
    await answer(20_000);
    return { QueueUrl: 'url', Messages: [] };
  };
  return interruption({ ...options, sqs: { send } as unknown as SQSClient, queueName: 'queue' });
};

const status = ({ options, answer }: Outage): Singleton => {
  const ec2 = new EC2Client({ region: 'us-west-2' });
  const send = async () => {
    await answer(1);
    return { InstanceStatuses: [] };
  };
  return instanceStatus({ ...options, ec2: Object.assign(ec2, { send }) });
};

describe('the operator after an outage', () => {
  it.each([
    10, 360, 720, 3600,
  ])('reads the interruption queue again within eleven seconds after %d s', async (seconds) => {
    expect(await deafFor(seconds, queue)).toBeLessThanOrEqual(11);
  });

  it('repeats status checks after at most one regular interval', async () => {
    expect(await deafFor(3600, status)).toBeLessThanOrEqual(66);
  });
});

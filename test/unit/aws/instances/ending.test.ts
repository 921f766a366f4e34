/** State that is kept of new and terminating instances, and its lifetime. */
import { DescribeInstancesCommand, type EC2Client, type Instance } from '@aws-sdk/client-ec2';
import { describe, expect, it } from '@jest/globals';
import { createMetrics } from '#observe/setup';
import { Instances } from '../../../../src/aws/instances/instances.ts';
import { awsMetrics } from '../../../../src/aws/metrics.ts';
import { noShifts } from '../../../../src/aws/zonalshift/zonalshift.ts';
import { settableClock } from '../../virtualclock.ts';

const ID = 'i-1';
const HOUR = 3_600_000;

/** Instances of an EC2 client that returns or throws the configured result. */
function reading(answer: () => Instance | Error | undefined) {
  const clock = settableClock();
  let calls = 0;
  const send = async (command: object): Promise<object> => {
    if (!(command instanceof DescribeInstancesCommand)) throw new Error(`unexpected ${command.constructor.name}`);
    calls += 1;
    const found = answer();
    if (found instanceof Error) throw found;
    return { Reservations: found === undefined ? [] : [{ Instances: [found] }] };
  };
  const instances = new Instances({
    ec2: { send } as unknown as EC2Client,
    clusterName: 'test',
    reservedCapacity: true,
    shifts: noShifts,
    clock,
    metrics: awsMetrics(createMetrics()),
  });
  const get = async (): Promise<string> => {
    const asked = instances.get(ID, { skipCache: true }).then(
      ({ state }) => state,
      (error: Error) => error.name,
    );
    await clock.advance(100);
    return asked;
  };
  return { clock, get, calls: () => calls };
}

const described = (state: 'running' | 'shutting-down' | 'terminated', launched: number): Instance => ({
  InstanceId: ID,
  State: { Name: state },
  LaunchTime: new Date(launched),
});
const unknown = (): Error =>
  Object.assign(new Error('it does not exist'), {
    name: 'InvalidInstanceID.NotFound',
    $fault: 'client',
    $metadata: {},
  });

describe('a terminating instance', () => {
  it.each([0, -HOUR])('is requested again after a second if the clock jumps by %d ms', async (ms) => {
    const { clock, get, calls } = reading(() => described('shutting-down', 0));
    expect(await get()).toBe('shutting-down');
    clock.put(ms);
    expect(await get()).toBe('shutting-down');
    expect(calls()).toBe(1);
    await clock.advance(1_000);
    expect(await get()).toBe('shutting-down');
    expect(calls()).toBe(2);
  });
});

describe('a new instance', () => {
  it.each([
    0,
    -HOUR,
    HOUR,
  ])('may be missing for a minute before it counts as terminated, if the clock jumps by %d ms', async (ms) => {
    let answer: Instance | Error = unknown();
    const { clock, get } = reading(() => answer);
    answer = described('running', clock.now());
    expect(await get()).toBe('running');
    answer = unknown();
    clock.put(ms);
    await clock.advance(58_000);
    expect(await get()).toBe('Error');
    await clock.advance(2_000);
    expect(await get()).toBe('NodeClaimNotFound');
  });
});

describe('an instance', () => {
  it('counts as terminated if EC2 reports it, and not if the response is empty', async () => {
    let answer: Instance | undefined;
    const { get, calls } = reading(() => answer);
    expect(await get()).toBe('Error');
    answer = described('running', -HOUR);
    expect(await get()).toBe('running');
    answer = undefined;
    expect(await get()).toBe('Error');
    answer = described('terminated', -HOUR);
    expect(await get()).toBe('NodeClaimNotFound');
    const before = calls();
    expect(await get()).toBe('NodeClaimNotFound');
    expect(calls()).toBe(before);
  });
});

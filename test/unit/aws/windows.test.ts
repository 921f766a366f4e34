/** Batching windows of concurrent calls in virtual time, and their metrics. */
import { CreateFleetCommand, DescribeInstancesCommand, type EC2Client } from '@aws-sdk/client-ec2';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { silent } from '#observe/logger';
import { createMetrics } from '#observe/setup';
import { Fleets, fleetRequest } from '../../../src/aws/fleet/create-fleet.ts';
import { Instances } from '../../../src/aws/instances/instances.ts';
import { awsMetrics } from '../../../src/aws/metrics.ts';
import { RequestBatcher } from '../../../src/aws/request-batcher.ts';
import { noShifts } from '../../../src/aws/zonalshift/zonalshift.ts';
import { type SettableClock, settableClock } from '../virtualclock.ts';

interface Sent {
  readonly atMs: number;
  readonly items: number;
}

let clock: SettableClock;
let sent: Sent[];
let metrics: ReturnType<typeof createMetrics>;

/** Responds to every call without a delay, and records its time and the number of its items. */
function answering(): EC2Client {
  const started = clock.now();
  const note = (items: number): void => void sent.push({ atMs: clock.now() - started, items });
  const send = async (command: object): Promise<object> => {
    if (command instanceof CreateFleetCommand) {
      const count = command.input.TargetCapacitySpecification?.TotalTargetCapacity ?? 0;
      note(count);
      return { FleetId: 'fleet-1', Instances: [{ InstanceIds: Array.from({ length: count }, (_, n) => `i-${n}`) }] };
    }
    if (command instanceof DescribeInstancesCommand) {
      const ids = command.input.InstanceIds ?? [];
      note(ids.length);
      return { Reservations: [{ Instances: ids.map((InstanceId) => ({ InstanceId, State: { Name: 'running' } })) }] };
    }
    throw new Error(`unexpected ${command.constructor.name}`);
  };
  return { send } as unknown as EC2Client;
}

beforeEach(() => {
  clock = settableClock();
  sent = [];
  metrics = createMetrics();
});

const shared = () => ({ ec2: answering(), clock, metrics: awsMetrics(metrics) });

/** One of many calls that may share a request. */
type Ask = (n: number) => Promise<unknown>;

function buyer(): Ask {
  const fleets = new Fleets({ ...shared(), log: silent });
  const wish = { configs: [], capacityType: 'spot', reservation: undefined, prioritized: false, tags: {} };
  const request = fleetRequest({ ...wish, context: undefined });
  return (n) => fleets.create({ request, claimUid: `claim-${n}`, capacityType: 'spot', configs: [] });
}

function reader(): Ask {
  const instances = new Instances({ ...shared(), clusterName: 'test', reservedCapacity: true, shifts: noShifts });
  return (n) => instances.get(`i-${n}`);
}

describe.each([
  { what: 'CreateFleet', open: buyer, idleMs: 35, most: 1000 },
  { what: 'DescribeInstances', open: reader, idleMs: 100, most: 500 },
])('the window of $what', ({ open, idleMs, most }) => {
  it(`closes after ${idleMs} ms of silence`, async () => {
    const ask = open();
    const calls = [ask(1)];
    await clock.advance(idleMs - 1);
    calls.push(ask(2));
    await clock.advance(idleMs - 1);
    expect(sent).toEqual([]);
    await clock.advance(1);
    await Promise.all(calls);
    expect(sent).toEqual([{ atMs: 2 * idleMs - 1, items: 2 }]);
  });

  it('closes after a second although more calls arrive', async () => {
    const ask = open();
    const calls: Promise<unknown>[] = [];
    for (let atMs = 0; atMs < 1_000; atMs += 25) {
      calls.push(ask(atMs));
      await clock.advance(25);
    }
    await Promise.all(calls);
    expect(sent).toEqual([{ atMs: 1_000, items: 40 }]);
  });

  it(`closes at ${most} requests`, async () => {
    const ask = open();
    await Promise.all(Array.from({ length: most }, (_, n) => ask(n)));
    expect(sent).toEqual([{ atMs: 0, items: most }]);
    expect(await metrics.text()).toMatch(new RegExp(`batcher_batch_size_sum\\{.*\\} ${most}\\n`));
  });
});

describe('a call of one window', () => {
  it('runs with at most a hundred at a time', async () => {
    let running = 0;
    let most = 0;
    const batcher = new RequestBatcher<number, number>({
      name: 'test',
      clock,
      idleMs: 10,
      maxMs: 100,
      maxItems: 1000,
      bucket: String,
      run: async (inputs) => {
        most = Math.max(most, ++running);
        await clock.sleep(50);
        running--;
        return inputs.map((value) => ({ status: 'fulfilled', value }));
      },
    });
    const all = Array.from({ length: 250 }, (_, n) => batcher.add(n));
    await clock.advance(10);
    expect(running).toBe(100);
    await clock.advance(150);
    expect(await Promise.all(all)).toHaveLength(250);
    expect(most).toBe(100);
  });
});
